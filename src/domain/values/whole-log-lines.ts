// A container's log as it was written: rejoins the parts into which the runtime splits a long line, with one timestamp,
// the time of the first part; lines of the two streams never mix. (`logs/log-reader` reads it
// part by part.)
//
// Invariants: a machine of plain data, changed in place. A line is emitted when it is complete, at the end of the file as it is, and part by part
// once it exceeds the buffer. Never more bytes are written than the limit.
import { type ContainerLogLine, isVoidLine, type LogLineParser, logLineParserOf, recordsOfLine } from './container-log-line.js';
import { goQuote } from './go-text.js';
import { isBefore, type LogChunk, type LogReadOptions, type LogStream, type LogTime, logTime, timestampText } from './log-read-options.js';
import { utf8Decode, utf8Encode } from './utf8.js';

/** The buffer of an incomplete line, for each stream. */
const heldBytesMax = 1024 * 1024;
const newline = 0x0a;

interface OpenLine {
  /** It is not emitted: it is too old, before the tail, or of an unrequested stream. */
  readonly isPassedOver: boolean;
  parts: Uint8Array[];
  heldBytes: number;
}

export interface WholeLineReading {
  readonly options: LogReadOptions;
  readonly since: LogTime | null;
  /** Chosen by the first record. */
  parse: LogLineParser | null;
  /** The first malformed line before any record; null if none. */
  strange: Uint8Array | null;
  /** Of the last record; null: none yet. */
  lastTime: string | null;
  readonly open: Map<LogStream, OpenLine>;
  /** Lines that end before the tail although some of them reach into the bytes read. */
  readonly skip: { stdout: number; stderr: number };
  /** null without end. */
  linesLeft: number | null;
  bytesLeft: number;
}

export interface WholeLineStep {
  readonly chunks: readonly LogChunk[];
  /** Nothing more is to be read. */
  readonly isDone: boolean;
}

const nothing: WholeLineStep = { chunks: [], isDone: false };
/** Bytes of an invalid line in an error. */
const shownBytesMax = 200;

export function startWholeLines(options: LogReadOptions, skip: Readonly<Record<LogStream, number>> = { stdout: 0, stderr: 0 }): WholeLineReading {
  return {
    options,
    since: options.since === null ? null : logTime(options.since),
    parse: null,
    strange: null,
    lastTime: null,
    open: new Map(),
    skip: { ...skip },
    linesLeft: options.follow ? null : options.tailLines,
    bytesLeft: options.limitBytes ?? Number.POSITIVE_INFINITY,
  };
}

/** Whether to read another line; called before each. */
export function wantsWholeLine({ linesLeft }: WholeLineReading): boolean {
  return linesLeft === null || linesLeft > 0;
}

/** @param line a line of the file with its newline; without one it is the unfinished end of the file */
export function readWholeLine(reading: WholeLineReading, line: Uint8Array): WholeLineStep {
  reading.parse ??= logLineParserOf(line);
  if (reading.parse === null) {
    if (!isVoidLine(line)) reading.strange ??= line.slice(0, shownBytesMax);
    return nothing;
  }
  // What isn't a record, e.g. cut off when the disk was full, hides nothing but itself.
  const records = recordsOfLine(line, reading.parse);
  const [only] = records;
  if (records.length <= 1) return only === undefined ? nothing : readRecord(reading, only.record);
  const chunks: LogChunk[] = [];
  for (const { record } of records) {
    if (!wantsWholeLine(reading)) return { chunks, isDone: true };
    const step = readRecord(reading, record);
    chunks.push(...step.chunks);
    if (step.isDone) return { chunks, isDone: true };
  }
  return { chunks, isDone: false };
}

/** Why the content so far is not a log; null: it is one, or there is no content. */
export function unsupportedLog({ parse, strange }: WholeLineReading): string | null {
  if (parse !== null || strange === null) return null;
  return `failed to get parse function: unsupported log format: ${goQuote(utf8Decode(strange))}`;
}

/** A line of the reader's own, in the place of something that is missing. */
export function remark(reading: WholeLineReading, text: string): readonly LogChunk[] {
  const { options, lastTime } = reading;
  const stream = options.streams.includes('stderr') ? 'stderr' : (options.streams[0] ?? 'stderr');
  const time = options.timestamps && lastTime !== null ? `${timestampText(lastTime)} ` : '';
  return limited(reading, stream, utf8Encode(time + text));
}

function readRecord(reading: WholeLineReading, { stream, content, time }: ContainerLogLine): WholeLineStep {
  reading.lastTime = time;
  const open = reading.open.get(stream) ?? opened(reading, stream, time);
  const isWhole = content.length > 0 && content[content.length - 1] === newline;
  if (!open.isPassedOver) {
    open.parts.push(content);
    open.heldBytes += content.length;
  }
  if (!isWhole && open.heldBytes <= heldBytesMax) return nothing;
  const chunks = taken(reading, stream, open);
  if (isWhole) ended(reading, stream);
  return { chunks, isDone: reading.bytesLeft <= 0 };
}

/** The end of the log: emits incomplete lines as they are. */
export function endWholeLines(reading: WholeLineReading): readonly LogChunk[] {
  const chunks = [...reading.open].flatMap(([stream, open]) => (wantsWholeLine(reading) ? taken(reading, stream, open) : []));
  reading.open.clear();
  return chunks;
}

/** The file was truncated: drops the incomplete lines. */
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

/** The buffered parts. */
function taken(reading: WholeLineReading, stream: LogStream, open: OpenLine): readonly LogChunk[] {
  const [first] = open.parts;
  if (first === undefined) return [];
  const whole = open.parts.length === 1 ? first : concatenated(open.parts);
  open.parts = [];
  open.heldBytes = 0;
  return limited(reading, stream, whole);
}

function limited(reading: WholeLineReading, stream: LogStream, all: Uint8Array): readonly LogChunk[] {
  const bytes = all.length > reading.bytesLeft ? all.subarray(0, reading.bytesLeft) : all;
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
