// One line of a container's log file: the CRI format (`<time> <stream> <tags> <content>`) and Docker's JSON format.
// Invariant: content is cut out of the line's bytes, never re-encoded; only the JSON format is converted to text and back.
import { parseRfc3339 } from './time.js';
import { utf8Decode, utf8Encode } from './utf8.js';

export interface ContainerLogLine {
  /** As written, with its digits and its zone. */
  readonly time: string;
  readonly stream: 'stdout' | 'stderr';
  /** With its line end; a partial line has none, and continues in the next one. */
  readonly content: Uint8Array;
}

/** null: not a line of that format. The line includes its newline, if any. */
export type LogLineParser = (line: Uint8Array) => ContainerLogLine | null;

/** A record of a line of the file, and where in the line it begins. */
export interface PlacedRecord {
  readonly at: number;
  readonly record: ContainerLogLine;
}

const space = 0x20;
const newline = 0x0a;
const colon = 0x3a;
const partialTag = 0x50;
const nul = 0x00;
const carriageReturn = 0x0d;
const openBrace = 0x7b;
const digitZero = 0x30;
const digitNine = 0x39;
/** RFC 3339 with more digits of a second than any writer has. */
const timeBytesMax = 64;

/** The parser for a file, chosen by its first line; null when neither format fits. */
export function logLineParserFor(firstLine: Uint8Array): LogLineParser | null {
  if (parseCriLogLine(firstLine) !== null) return parseCriLogLine;
  return parseDockerLogLine(firstLine) === null ? null : parseDockerLogLine;
}

/**
 * The records of a line of the file, usually one. A power loss on the host leaves NUL bytes for data not yet written: the line then has the data before the NULs
 * and the record appended after them. A record cut off by NULs is a line by itself.
 */
export function recordsOfLine(line: Uint8Array, parse: LogLineParser): readonly PlacedRecord[] {
  if (line.indexOf(nul) < 0) {
    const record = parse(line);
    return record === null ? [] : [{ at: 0, record }];
  }
  const records: PlacedRecord[] = [];
  let begin = 0;
  for (let from = line.indexOf(nul); from >= 0; ) {
    let next = from;
    while (line[next] === nul) next++;
    if (mayBeRecord(line, next) && parse(line.subarray(next)) !== null) {
      const torn = parse(line.subarray(begin, from));
      if (torn !== null) records.push({ at: begin, record: ended(torn) });
      begin = next;
    }
    from = line.indexOf(nul, next);
  }
  const last = parse(line.subarray(begin));
  return last === null ? records : [...records, { at: begin, record: last }];
}

/** The format of a file is that of its first record; null when neither has one in this line. */
export function logLineParserOf(line: Uint8Array): LogLineParser | null {
  return [parseCriLogLine, parseDockerLogLine].find((parse) => recordsOfLine(line, parse).length > 0) ?? null;
}

/** Whether the line is empty: blanks, or NULs of unwritten data. */
export function isVoidLine(line: Uint8Array): boolean {
  return line.every((byte) => byte === nul || byte === newline || byte === carriageReturn || byte === space);
}

/** A record begins with its time, which is soon followed by a space, or with a brace. */
function mayBeRecord(line: Uint8Array, at: number): boolean {
  const first = line[at] ?? nul;
  return first === openBrace || (first >= digitZero && first <= digitNine && line.subarray(at, at + timeBytesMax).includes(space));
}

function ended(record: ContainerLogLine): ContainerLogLine {
  if (record.content.at(-1) === newline) return record;
  const content = new Uint8Array(record.content.length + 1);
  content.set(record.content);
  content[record.content.length] = newline;
  return { ...record, content };
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

/** Tags are separated by colons; the first one marks a partial line. */
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
