// A large list as it arrives: cuts each element of its `items` out of the bytes and parses it separately; parses the rest at the end.
// Invariants: work and memory follow the received bytes; the result for anything but a JSON object with a list `items` is null, never half a list.

const quote = 0x22;
const backslash = 0x5c;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;
/** Comma, space, tab, line ends. */
const between: ReadonlySet<number> = new Set([0x2c, 0x20, 0x09, 0x0a, 0x0d]);

export class ListScanner {
  private readonly items: unknown[] = [];
  /** Everything but the elements of `items`. */
  private readonly envelope: Buffer[] = [];
  /** The bytes of the current element. */
  private element: Buffer[] = [];
  private depth = 0;
  private inString = false;
  private isEscaped = false;
  /** The key that was read last at the top level; only while it is read or its value is expected. */
  private key: number[] | null = null;
  private lastKey = '';
  private inItems = false;
  private isBroken = false;

  take(chunk: Buffer): void {
    // The beginning of the part to keep: an element, or envelope.
    let from = 0;
    for (let at = 0; at < chunk.length && !this.isBroken; at++) {
      const byte = chunk[at] as number;
      if (this.inString) at = this.skipString(chunk, at);
      else if (byte === quote) this.beginString();
      else if (byte === openBrace || byte === openBracket) {
        if (this.inItems && this.depth === 2) from = at;
        this.depth++;
        if (this.depth === 2 && byte === openBracket && this.lastKey === 'items') {
          this.inItems = true;
          this.envelope.push(chunk.subarray(from, at + 1));
        }
      } else if (byte === closeBrace || byte === closeBracket) {
        this.depth--;
        if (!this.inItems || this.depth > 2) continue;
        if (this.depth === 2) this.endElement(chunk.subarray(from, at + 1));
        else this.inItems = false;
        from = at;
      } else if (this.inItems && this.depth === 2 && !between.has(byte)) this.isBroken = true;
    }
    if (!this.inItems) this.envelope.push(chunk.subarray(from));
    else if (this.depth > 2) this.element.push(chunk.subarray(from));
  }

  /** The whole; null: it was no list. */
  end(): unknown {
    if (this.isBroken || this.depth !== 0 || this.inString) return null;
    try {
      const whole = JSON.parse(Buffer.concat(this.envelope).toString('utf8')) as Record<string, unknown>;
      if (!Array.isArray(whole.items)) return null;
      whole.items = this.items;
      return whole;
    } catch {
      return null;
    }
  }

  private endElement(part: Buffer): void {
    this.element.push(part);
    const bytes = this.element.length === 1 ? part : Buffer.concat(this.element);
    this.element = [];
    try {
      this.items.push(JSON.parse(bytes.toString('utf8')));
    } catch {
      this.isBroken = true;
    }
  }

  private beginString(): void {
    // Elements are objects.
    if (this.inItems && this.depth === 2) this.isBroken = true;
    this.inString = true;
    this.key = this.depth === 1 ? [] : null;
  }

  /** Scans a string up to its closing quote or the end of the chunk; returns the index of the last byte scanned. */
  private skipString(chunk: Buffer, from: number): number {
    for (let at = from; at < chunk.length; at++) {
      const byte = chunk[at] as number;
      if (this.isEscaped) this.isEscaped = false;
      else if (byte === backslash) this.isEscaped = true;
      else if (byte === quote) {
        this.inString = false;
        if (this.key !== null) this.lastKey = String.fromCharCode(...this.key);
        this.key = null;
        return at;
      }
      if (this.key !== null && this.key.length < 16) this.key.push(byte);
    }
    return chunk.length - 1;
  }
}
