// One line of a container's log file: the CRI format (`<time> <stream> <tags> <content>`) and Docker's JSON format.
// Invariant: content is cut out of the line's bytes, never re-encoded; the JSON format alone goes through text, since it is text.
import { parseRfc3339 } from './time.js';
import { utf8Decode, utf8Encode } from './utf8.js';

export interface ContainerLogLine {
  /** As written, with its own number of digits and its zone. */
  readonly time: string;
  readonly stream: 'stdout' | 'stderr';
  /** With its line end; a partial line has none, the next one continues it. */
  readonly content: Uint8Array;
}

/** null: not a line of that format. The line comes with its newline, where it has one. */
export type LogLineParser = (line: Uint8Array) => ContainerLogLine | null;

const space = 0x20;
const newline = 0x0a;
const colon = 0x3a;
const partialTag = 0x50;

/** The parser for a file, chosen by its first line; null when neither format fits. */
export function logLineParserFor(firstLine: Uint8Array): LogLineParser | null {
  if (parseCriLogLine(firstLine) !== null) return parseCriLogLine;
  return parseDockerLogLine(firstLine) === null ? null : parseDockerLogLine;
}

export function parseCriLogLine(line: Uint8Array): ContainerLogLine | null {
  const afterTime = line.indexOf(space);
  if (afterTime < 0) return null;
  const time = utf8Decode(line.subarray(0, afterTime));
  if (parseRfc3339(time) === null) return null;
  const afterStream = line.indexOf(space, afterTime + 1);
  if (afterStream < 0) return null;
  const stream = streamOf(utf8Decode(line.subarray(afterTime + 1, afterStream)));
  const afterTags = line.indexOf(space, afterStream + 1);
  if (stream === null || afterTags < 0) return null;
  let end = line.length;
  if (isPartial(line, afterStream + 1, afterTags) && end > afterTags + 1 && line[end - 1] === newline) end--;
  return { time, stream, content: line.subarray(afterTags + 1, end) };
}

/** Tags are separated by colons; the first one says whether the line goes on. */
function isPartial(line: Uint8Array, start: number, end: number): boolean {
  return line[start] === partialTag && (end === start + 1 || line[start + 1] === colon);
}

export function parseDockerLogLine(line: Uint8Array): ContainerLogLine | null {
  const record = dockerRecord(line);
  const stream = streamOf(record?.stream);
  return record === null || stream === null ? null : { time: record.time, stream, content: utf8Encode(record.log) };
}

/** The stream of a line in Docker's format that is neither stdout nor stderr; null for every other line. */
export function unexpectedStream(line: Uint8Array): string | null {
  const stream = dockerRecord(line)?.stream ?? null;
  return streamOf(stream) === null ? stream : null;
}

function dockerRecord(line: Uint8Array): { readonly log: string; readonly stream: string; readonly time: string } | null {
  let record: unknown;
  try {
    record = JSON.parse(utf8Decode(line));
  } catch {
    return null;
  }
  if (typeof record !== 'object' || record === null) return null;
  const { log, stream, time } = record as { readonly log?: unknown; readonly stream?: unknown; readonly time?: unknown };
  return typeof log !== 'string' || typeof stream !== 'string' || typeof time !== 'string' || parseRfc3339(time) === null ? null : { log, stream, time };
}

function streamOf(text: unknown): 'stdout' | 'stderr' | null {
  return text === 'stdout' || text === 'stderr' ? text : null;
}
