// Splits the blocks of a log file into lines.
// Invariant: at most a block and one line are in memory. A line that is too long is no log line and is skipped, except for the text after
// NUL bytes in it: after a power loss these fill the unwritten part of the file.

/** A line that is longer is no line of a log. */
const lineBytesMax = 1024 * 1024;
const newline = 0x0a;
const nul = 0x00;
const emptyBuffer: Buffer = Buffer.alloc(0);

export class LineSplitter {
  /** The beginning of an incomplete line. */
  private rest: Buffer = emptyBuffer;
  private tooLong = false;

  /** The lines that end in the block, each with its newline. */
  split(block: Buffer): Buffer[] {
    const lines: Buffer[] = [];
    let start = 0;
    for (let at = block.indexOf(newline); at >= 0; at = block.indexOf(newline, start)) {
      this.keep(block.subarray(start, at + 1));
      if (!this.tooLong) lines.push(this.rest);
      this.forget();
      start = at + 1;
    }
    if (start < block.length) this.keep(block.subarray(start));
    return lines;
  }

  /** The incomplete last line; may be empty. */
  takeRest(): Buffer {
    const { rest } = this;
    this.forget();
    return rest;
  }

  forget(): void {
    this.rest = emptyBuffer;
    this.tooLong = false;
  }

  private keep(part: Buffer): void {
    if (!this.tooLong && this.rest.length + part.length <= lineBytesMax) {
      this.rest = this.rest.length === 0 ? part : Buffer.concat([this.rest, part]);
      return;
    }
    const afterNul = part.lastIndexOf(nul) + 1;
    this.tooLong = afterNul === 0;
    this.rest = this.tooLong ? emptyBuffer : part.subarray(afterNul);
  }
}
