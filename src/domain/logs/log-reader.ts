// Reads a container's log as the Go kubelet does: line by line as the runtime wrote them, so that a part of a long line counts as a line,
// from the beginning of the tail, with timestamps, since, byte limit and streams. (The daemon reads whole lines: `values/whole-log-lines`.)
// Invariant: a machine of plain data. It never writes more bytes than the limit, and output from before a failure stays.
import { type LogLineParser, logLineParserFor, parseDockerLogLine, unexpectedStream } from '../values/container-log-line.js';
import { goQuote } from '../values/go-text.js';
import { isBefore, type LogChunk, type LogReadOptions, type LogTime, logTime, timestampText } from '../values/log-read-options.js';
import { utf8Decode, utf8Encode } from '../values/utf8.js';

export interface LogReading {
  readonly options: LogReadOptions;
  readonly since: LogTime | null;
  /** Chosen by the first line of the file. */
  readonly parse: LogLineParser | null;
  /** Whether the next line begins a new one for the reader, or continues a partial one. */
  readonly atLineStart: boolean;
  /** Parsable lines still to come; null without end. */
  readonly linesLeft: number | null;
  readonly bytesLeft: number;
}

export type LogStep =
  | { readonly kind: 'next'; readonly reading: LogReading; readonly chunk: LogChunk | null }
  /** Nothing more is to be read. */
  | { readonly kind: 'done'; readonly chunk: LogChunk | null }
  | { readonly kind: 'failed'; readonly message: string };

const newline = 0x0a;

export function startLogReading(options: LogReadOptions): LogReading {
  return {
    options,
    since: options.since === null ? null : logTime(options.since),
    parse: null,
    atLineStart: true,
    linesLeft: options.follow ? null : options.tailLines,
    bytesLeft: options.limitBytes ?? Number.POSITIVE_INFINITY,
  };
}

/** Whether another line is needed; called before each. */
export function wantsLine(reading: LogReading): boolean {
  return reading.linesLeft === null || reading.linesLeft > 0;
}

/** @param line with its newline; without one it is the unfinished end of the file */
export function readLogLine(reading: LogReading, line: Uint8Array): LogStep {
  const { options } = reading;
  if (reading.parse === null || reading.parse === parseDockerLogLine) {
    const stream = unexpectedStream(line);
    if (stream !== null) return { kind: 'failed', message: `unexpected stream type ${goQuote(stream)}` };
  }
  const parse = reading.parse ?? logLineParserFor(line);
  if (parse === null) return { kind: 'failed', message: `failed to get parse function: unsupported log format: ${goQuote(utf8Decode(line))}` };
  const parsed = parse(line);
  // A line that isn't one, e.g. cut off when the disk was full, hides nothing but itself.
  if (parsed === null) return { kind: 'next', reading: { ...reading, parse }, chunk: null };
  const time = logTime(parsed.time);
  const { content } = parsed;
  const next: LogReading = {
    ...reading,
    parse,
    atLineStart: content.length === 0 || content[content.length - 1] === newline,
    linesLeft: reading.linesLeft === null ? null : reading.linesLeft - 1,
  };
  const isOld = reading.since !== null && isBefore(time, reading.since);
  if (isOld || !options.streams.includes(parsed.stream)) return { kind: 'next', reading: next, chunk: null };
  const prefixed = options.timestamps && reading.atLineStart ? concatenated(utf8Encode(`${timestampText(parsed.time)} `), content) : content;
  const bytes = prefixed.length > reading.bytesLeft ? prefixed.subarray(0, reading.bytesLeft) : prefixed;
  const chunk = { stream: parsed.stream, bytes };
  const bytesLeft = reading.bytesLeft - bytes.length;
  return bytesLeft <= 0 ? { kind: 'done', chunk } : { kind: 'next', reading: { ...next, bytesLeft }, chunk };
}

function concatenated(a: Uint8Array, b: Uint8Array): Uint8Array {
  const all = new Uint8Array(a.length + b.length);
  all.set(a);
  all.set(b, a.length);
  return all;
}
