// Finds the beginning of a log's last whole lines by reading the file backwards in blocks. A line may be in several parts, with parts of
// the other stream's lines between them: then the text from there on holds parts of lines that are not in the tail, and the answer
// says how many of each stream to skip.
//
// Invariants: at most one block more than needed is read, and a bounded number beyond the end of the oldest line that counts, for its beginning;
// lines are counted by their ends; an unfinished line at the end of the file counts.
import { type LogLineParser, logLineParserOf, recordsOfLine } from './container-log-line.js';
import type { LogStream } from './log-read-options.js';

const blockBytes = 64 * 1024;
/** A line of the file that is longer is no line of a log. */
const lineBytesMax = 1024 * 1024;
/** Maximum distance between the parts of one line; beyond it, the line's beginning is given up. */
const beginningBytesMax = 4 * 1024 * 1024;
const newline = 0x0a;

/** A stream, seen from the end: no line yet; within a line that counts; within one that doesn't. */
type StreamState = 'unseen' | 'counted' | 'passed';

export interface WholeLineTail {
  linesLeft: number;
  /** The beginning of the searched part. */
  from: number;
  /** The line that reaches into the next block, without NULs at its beginning once it is long; and where it ends. */
  rest: Uint8Array;
  restEnd: number;
  parse: LogLineParser | null;
  readonly streams: { stdout: StreamState; stderr: StreamState };
  /** The start of the tail, as far as known. */
  start: number;
  /** Ends of lines that don't count, and lie behind where the tail may begin. */
  readonly passedEnds: { readonly stream: LogStream; readonly at: number }[];
  /** The position of the last line that counts. */
  fullAt: number | null;
}

export type WholeLineTailStep =
  | { readonly kind: 'read'; readonly offset: number; readonly length: number }
  | { readonly kind: 'found'; readonly offset: number; readonly skip: Readonly<Record<LogStream, number>> };

/** @param size of the file in bytes */
export function startWholeLineTail(lines: number, size: number): WholeLineTail {
  return {
    linesLeft: lines,
    from: size,
    rest: new Uint8Array(),
    restEnd: size,
    parse: null,
    streams: { stdout: 'unseen', stderr: 'unseen' },
    start: size,
    passedEnds: [],
    fullAt: lines > 0 ? null : size,
  };
}

/** What to do next; after `read`, `searchWholeLineTail` with the block. */
export function nextTailBlock(tail: WholeLineTail): WholeLineTailStep {
  if (tail.from === 0 || isOver(tail)) return found(tail);
  const length = Math.min(blockBytes, tail.from);
  return { kind: 'read', offset: tail.from - length, length };
}

/** Takes the requested block. */
export function searchWholeLineTail(tail: WholeLineTail, block: Uint8Array): WholeLineTailStep {
  tail.from -= block.length;
  const bytes = tail.rest.length === 0 ? block : joined(block, tail.rest);
  let end = bytes.length;
  let endAt = tail.rest.length === 0 ? tail.from + block.length : tail.restEnd;
  // The newline at `end - 1` ends the line itself.
  for (let at = end - 2; at >= 0 && !isOver(tail); at--) {
    if (bytes[at] !== newline) continue;
    lineMet(tail, bytes.subarray(at + 1, end), endAt);
    end = at + 1;
    endAt = tail.from + end;
  }
  tail.rest = held(bytes.subarray(0, end));
  tail.restEnd = endAt;
  if (tail.from === 0 && !isOver(tail) && tail.rest.length > 0) lineMet(tail, tail.rest, endAt);
  return nextTailBlock(tail);
}

/** Unwritten bytes from a power loss are not part of a line; a line that is too long keeps its end. */
function held(rest: Uint8Array): Uint8Array {
  if (rest.length <= lineBytesMax) return rest;
  let start = 0;
  while (start < rest.length && rest[start] === 0) start++;
  return rest.length - start > lineBytesMax ? rest.subarray(rest.length - 1) : rest.subarray(start);
}

/** @param endAt where in the file the line ends */
function lineMet(tail: WholeLineTail, line: Uint8Array, endAt: number): void {
  tail.parse ??= logLineParserOf(line);
  if (tail.parse === null) return;
  const records = recordsOfLine(line, tail.parse);
  for (let i = records.length - 1; i >= 0; i--) {
    const { at, record } = records[i] as (typeof records)[number];
    const { stream, content } = record;
    const start = endAt - line.length + at;
    const isEnd = content.length > 0 && content[content.length - 1] === newline;
    if (isEnd || tail.streams[stream] === 'unseen') lineEndMet(tail, stream, start);
    if (tail.streams[stream] === 'counted') tail.start = start;
  }
}

function lineEndMet(tail: WholeLineTail, stream: LogStream, at: number): void {
  tail.streams[stream] = tail.linesLeft > 0 ? 'counted' : 'passed';
  if (tail.linesLeft === 0) {
    tail.passedEnds.push({ stream, at });
    return;
  }
  tail.linesLeft--;
  if (tail.linesLeft === 0) tail.fullAt = at;
}

/** All lines that count have been met, and the beginnings of all of them. */
function isOver({ linesLeft, fullAt, from, streams }: WholeLineTail): boolean {
  if (linesLeft > 0 || fullAt === null) return false;
  return (streams.stdout !== 'counted' && streams.stderr !== 'counted') || fullAt - from > beginningBytesMax;
}

function found({ start, passedEnds, parse, from }: WholeLineTail): WholeLineTailStep {
  // No valid line: reading from the beginning reports it.
  if (parse === null && from === 0) return { kind: 'found', offset: 0, skip: { stdout: 0, stderr: 0 } };
  const count = (stream: LogStream) => passedEnds.filter((end) => end.stream === stream && end.at >= start).length;
  return { kind: 'found', offset: start, skip: { stdout: count('stdout'), stderr: count('stderr') } };
}

function joined(a: Uint8Array, b: Uint8Array): Uint8Array {
  const all = new Uint8Array(a.length + b.length);
  all.set(a);
  all.set(b, a.length);
  return all;
}
