// Lines of an incoming stream. Invariant: an incomplete line is bounded, and scanned only once.

const newline = 0x0a;

export class JsonLines {
  private parts: Buffer[] = [];
  private bytes = 0;

  constructor(private readonly lineBytesMax: number) {}

  /** The lines that this chunk ends. Throws RangeError on one that is too long. */
  take(chunk: Buffer): string[] {
    const lines: string[] = [];
    let from = 0;
    for (let at = chunk.indexOf(newline); at >= 0; at = chunk.indexOf(newline, from)) {
      const line = chunk.subarray(from, at);
      lines.push(this.parts.length === 0 ? line.toString('utf8') : Buffer.concat([...this.parts, line]).toString('utf8'));
      this.parts = [];
      this.bytes = 0;
      from = at + 1;
    }
    if (from < chunk.length) {
      this.parts.push(chunk.subarray(from));
      this.bytes += chunk.length - from;
    }
    if (this.bytes > this.lineBytesMax) throw new RangeError(`a line has more than ${this.lineBytesMax} bytes`);
    return lines;
  }
}
