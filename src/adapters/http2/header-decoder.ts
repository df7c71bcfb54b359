// Decodes the header blocks of one connection (HPACK, RFC 7541). Blocks must be decoded in the order of arrival, even for closed
// streams: each may change the table that later ones refer to.
//
// Invariant: a peer's input is bounded by the size of a block (see connection.ts) and of the table; a malformed block throws, and
// the connection can't be used any more.
import { huffmanText } from './huffman.js';

/** RFC 7541, appendix A: names, with values if any. */
const staticTable: readonly Entry[] = (
  ':authority|:method=GET|:method=POST|:path=/|:path=/index.html|:scheme=http|:scheme=https|:status=200|:status=204|:status=206|:status=304|:status=400|:status=404|:status=500|' +
  'accept-charset|accept-encoding=gzip, deflate|accept-language|accept-ranges|accept|access-control-allow-origin|age|allow|authorization|cache-control|content-disposition|' +
  'content-encoding|content-language|content-length|content-location|content-range|content-type|cookie|date|etag|expect|expires|from|host|if-match|if-modified-since|' +
  'if-none-match|if-range|if-unmodified-since|last-modified|link|location|max-forwards|proxy-authenticate|proxy-authorization|range|referer|refresh|retry-after|server|' +
  'set-cookie|strict-transport-security|transfer-encoding|user-agent|vary|via|www-authenticate'
)
  .split('|')
  .map((text) => ({ name: text.split('=')[0] as string, value: text.split('=')[1] ?? '' }));
/** The size of an entry besides its text. */
const entryOverhead = 32;
/** Size of the table as we let the peer have it: that of the beginning (SETTINGS_HEADER_TABLE_SIZE). Bytes. */
const tableBytesMax = 4096;
const integerMax = 2 ** 28;

interface Entry {
  readonly name: string;
  readonly value: string;
}

/** A block that breaks the rules: COMPRESSION_ERROR. */
export class HeaderBlockError extends Error {}

export class HeaderDecoder {
  /** Newest first. */
  private readonly table: Entry[] = [];
  private tableBytes = 0;
  private limit = tableBytesMax;
  private block: Buffer = Buffer.alloc(0);
  private at = 0;

  /** The headers of a block; of several of one name the last. Throws HeaderBlockError. */
  decode(block: Buffer): Map<string, string> {
    this.block = block;
    this.at = 0;
    const headers = new Map<string, string>();
    while (this.at < block.length) {
      const first = block[this.at] as number;
      if (first >= 0x80) {
        const { name, value } = this.entry(this.integer(7));
        headers.set(name, value);
      } else if (first >= 0x40) {
        const entry = this.literal(6);
        this.add(entry);
        headers.set(entry.name, entry.value);
      } else if (first >= 0x20) {
        if (headers.size > 0) throw new HeaderBlockError('a new size of the table stands after headers');
        this.resize(this.integer(5));
      } else {
        const { name, value } = this.literal(4);
        headers.set(name, value);
      }
    }
    return headers;
  }

  private literal(prefixBits: number): Entry {
    const index = this.integer(prefixBits);
    const name = index === 0 ? this.text() : this.entry(index).name;
    return { name, value: this.text() };
  }

  private entry(index: number): Entry {
    const entry = index <= staticTable.length ? staticTable[index - 1] : this.table[index - staticTable.length - 1];
    if (entry === undefined) throw new HeaderBlockError(`the table has no entry ${index}`);
    return entry;
  }

  private text(): string {
    const isHuffman = ((this.block[this.at] ?? 0) & 0x80) !== 0;
    const length = this.integer(7);
    const end = this.at + length;
    if (end > this.block.length) throw new HeaderBlockError('a text is longer than its block');
    const bytes = this.block.subarray(this.at, end);
    this.at = end;
    if (!isHuffman) return bytes.toString('latin1');
    const text = huffmanText(bytes);
    if (text === null) throw new HeaderBlockError('a text is not of the Huffman code');
    return text;
  }

  private integer(prefixBits: number): number {
    const mask = (1 << prefixBits) - 1;
    let value = this.byte() & mask;
    if (value < mask) return value;
    for (let scale = 1; ; scale *= 128) {
      const byte = this.byte();
      value += (byte & 0x7f) * scale;
      if (value > integerMax) throw new HeaderBlockError('a number is too large');
      if (byte < 0x80) return value;
      if (scale > integerMax) throw new HeaderBlockError('a number has too many digits');
    }
  }

  private byte(): number {
    const byte = this.block[this.at++];
    if (byte === undefined) throw new HeaderBlockError('the block ends early');
    return byte;
  }

  private add(entry: Entry): void {
    this.table.unshift(entry);
    this.tableBytes += bytesOf(entry);
    this.evict();
  }

  private resize(bytes: number): void {
    if (bytes > tableBytesMax) throw new HeaderBlockError(`a table of ${bytes} bytes is larger than allowed`);
    this.limit = bytes;
    this.evict();
  }

  private evict(): void {
    while (this.tableBytes > this.limit) this.tableBytes -= bytesOf(this.table.pop() as Entry);
  }
}

function bytesOf({ name, value }: Entry): number {
  return name.length + value.length + entryOverhead;
}
