// Finds the beginning of a log's last lines by reading the file backwards in blocks.
// Invariant: a line counts by its newline, so an unfinished last line doesn't count; at most one block more than needed is read.

const blockBytes = 1024;
const newline = 0x0a;

export interface LogTailSearch {
  /** Ended lines still to be passed. */
  readonly linesLeft: number;
  /** The beginning of the searched part. */
  readonly from: number;
}

export type LogTailStep =
  | { readonly kind: 'read'; readonly search: LogTailSearch; readonly offset: number; readonly length: number }
  | { readonly kind: 'found'; readonly offset: number };

/** @param lines how many ended lines the tail has; @param size of the file in bytes */
export function startLogTailSearch(lines: number, size: number): LogTailStep {
  return nextBlock({ linesLeft: lines, from: size });
}

/** @param block the block that the previous step requested */
export function searchLogTail(search: LogTailSearch, block: Uint8Array): LogTailStep {
  let { linesLeft } = search;
  for (let at = block.length - 1; at >= 0; at--) {
    if (block[at] !== newline) continue;
    // The newline before the tail's first line ends a line that isn't part of it.
    if (linesLeft === 0) return { kind: 'found', offset: search.from + at + 1 };
    linesLeft--;
  }
  return nextBlock({ linesLeft, from: search.from });
}

function nextBlock({ linesLeft, from }: LogTailSearch): LogTailStep {
  if (from === 0) return { kind: 'found', offset: 0 };
  const length = Math.min(blockBytes, from);
  return { kind: 'read', search: { linesLeft, from: from - length }, offset: from - length, length };
}
