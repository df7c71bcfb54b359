// A container's log as its writer meant it: the parts into which the runtime splits a long line are one line again, with one timestamp,
// the time of its first part; lines of the two streams never run into each other. (Read as it is written, part by part, is
// `logs/log-reader`.)
//
// Invariants: a machine of plain data, changed in place. A line leaves when it is whole, at the end of the file as it is, and part by part
// once it is larger than is held. Never more bytes are written than the limit.
import { type LogLineParser, logLineParserFor } from './container-log-line.js';
import { goQuote } from './go-text.js';
import { isBefore, type LogChunk, type LogReadOptions, type LogStream, type LogTime, logTime, timestampText } from './log-read-options.js';
import { utf8Decode, utf8Encode } from './utf8.js';

/** What is held of a line that is not whole, of each stream. */
const heldBytesMax = 1024 * 1024;
const newline = 0x0a;

interface OpenLine {
  /** Nothing of it is written: it is too old, before the tail, or of a stream that nobody asked for. */
  readonly isPassedOver: boolean;
  parts: Uint8Array[];
  heldBytes: number;
}

export interface WholeLineReading {
  readonly options: LogReadOptions;
  readonly since: LogTime | null;
  /** Chosen by the first line. */
  parse: LogLineParser | null;
  readonly open: Map<LogStream, OpenLine>;
  /** Lines that end before the tail begins although some of them reach into what is read. */
  readonly skip: { stdout: number; stderr: number };
  /** null without end. */
  linesLeft: number | null;
  bytesLeft: number;
}

export type WholeLineStep =
  | { readonly kind: 'next'; readonly chunks: readonly LogChunk[] }
  /** Nothing more is to be read. */
  | { readonly kind: 'done'; readonly chunks: readonly LogChunk[] }
  | { readonly kind: 'failed'; readonly message: string };

const nothing: WholeLineStep = { kind: 'next', chunks: [] };

export function startWholeLines(options: LogReadOptions, skip: Readonly<Record<LogStream, number>> = { stdout: 0, stderr: 0 }): WholeLineReading {
  return {
    options,
    since: options.since === null ? null : logTime(options.since),
    parse: null,
    open: new Map(),
    skip: { ...skip },
    linesLeft: options.follow ? null : options.tailLines,
    bytesLeft: options.limitBytes ?? Number.POSITIVE_INFINITY,
  };
}

/** Whether another line is wanted; asked before each. */
export function wantsWholeLine({ linesLeft }: WholeLineReading): boolean {
  return linesLeft === null || linesLeft > 0;
}

/** @param line a line of the file with its newline; without one it is the unfinished end of the file */
export function readWholeLine(reading: WholeLineReading, line: Uint8Array): WholeLineStep {
  reading.parse ??= logLineParserFor(line);
  if (reading.parse === null) return { kind: 'failed', message: `failed to get parse function: unsupported log format: ${goQuote(utf8Decode(line))}` };
  const parsed = reading.parse(line);
  // What isn't a line, e.g. cut off when the disk was full, hides nothing but itself.
  if (parsed === null) return nothing;
  const { stream, content, time } = parsed;
  const open = reading.open.get(stream) ?? opened(reading, stream, time);
  const isWhole = content.length > 0 && content[content.length - 1] === newline;
  if (!open.isPassedOver) {
    open.parts.push(content);
    open.heldBytes += content.length;
  }
  if (!isWhole && open.heldBytes <= heldBytesMax) return nothing;
  const chunks = taken(reading, stream, open);
  if (isWhole) ended(reading, stream);
  return reading.bytesLeft <= 0 ? { kind: 'done', chunks } : { kind: 'next', chunks };
}

/** There is no more: what is not whole is given as it is. */
export function endWholeLines(reading: WholeLineReading): readonly LogChunk[] {
  const chunks = [...reading.open].flatMap(([stream, open]) => (wantsWholeLine(reading) ? taken(reading, stream, open) : []));
  reading.open.clear();
  return chunks;
}

/** The file was emptied: what was held of it is nobody's line. */
export function forgetOpenLines(reading: WholeLineReading): void {
  reading.open.clear();
}

function opened(reading: WholeLineReading, stream: LogStream, time: string): OpenLine {
  const { options, since, skip } = reading;
  const isPassedOver = skip[stream] > 0 || !options.streams.includes(stream) || (since !== null && isBefore(logTime(time), since));
  const parts = options.timestamps && !isPassedOver ? [utf8Encode(`${timestampText(time)} `)] : [];
  const open: OpenLine = { isPassedOver, parts, heldBytes: 0 };
  reading.open.set(stream, open);
  return open;
}

function ended(reading: WholeLineReading, stream: LogStream): void {
  reading.open.delete(stream);
  if (reading.skip[stream] > 0) reading.skip[stream]--;
  else if (reading.linesLeft !== null) reading.linesLeft--;
}

/** What is held, cut to the limit. */
function taken(reading: WholeLineReading, stream: LogStream, open: OpenLine): readonly LogChunk[] {
  const [first] = open.parts;
  if (first === undefined) return [];
  const whole = open.parts.length === 1 ? first : concatenated(open.parts);
  open.parts = [];
  open.heldBytes = 0;
  const bytes = whole.length > reading.bytesLeft ? whole.subarray(0, reading.bytesLeft) : whole;
  reading.bytesLeft -= bytes.length;
  return bytes.length === 0 ? [] : [{ stream, bytes }];
}

function concatenated(parts: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
