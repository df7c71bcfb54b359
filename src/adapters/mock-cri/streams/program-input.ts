// The input of a mock container's programs: chunks or lines of a stream, one reader after the other.
// Invariant: the next program reads what the previous one left, as with a process's standard input; a broken stream ends.
import type { Readable } from 'node:stream';

const newline = 0x0a;

export class ProgramInput {
  private readonly iterator: AsyncIterator<Buffer> | null;
  private kept: Buffer = Buffer.alloc(0);
  private ended: boolean;

  /** @param stream null: no input */
  constructor(stream: Readable | null) {
    this.iterator = stream === null ? null : (stream[Symbol.asyncIterator]() as AsyncIterator<Buffer>);
    this.ended = stream === null;
  }

  /** null: the end. */
  async chunk(): Promise<Buffer | null> {
    if (this.kept.length === 0) await this.more();
    if (this.kept.length === 0) return null;
    const { kept } = this;
    this.kept = Buffer.alloc(0);
    return kept;
  }

  /** Without its line end; null: end of input. @param bytesMax splits longer lines */
  async line(bytesMax = 64 * 1024): Promise<string | null> {
    for (;;) {
      const at = this.kept.indexOf(newline);
      const length = at >= 0 ? at : this.ended || this.kept.length >= bytesMax ? this.kept.length : -1;
      if (length >= 0) {
        if (length === 0 && at < 0) return null;
        const text = this.kept.toString('utf8', 0, length);
        this.kept = this.kept.subarray(at >= 0 ? length + 1 : length);
        return text;
      }
      await this.more();
    }
  }

  private async more(): Promise<void> {
    if (this.ended || this.iterator === null) return;
    // A broken stream has ended.
    const { done, value } = await this.iterator.next().catch(() => ({ done: true as const, value: undefined }));
    if (done === true || value === undefined) this.ended = true;
    else this.kept = this.kept.length === 0 ? value : Buffer.concat([this.kept, value]);
  }
}
