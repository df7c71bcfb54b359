// Encodes header blocks (HPACK, RFC 7541): literals that enter no table, so that a block always has the same bytes, and parts of one can
// be cached.
// Invariant: credentials are marked as never-indexed, also for intermediaries.

const literal = { withoutIndexing: 0x00, neverIndexed: 0x10 } as const;
const secretNames: ReadonlySet<string> = new Set(['authorization', 'cookie']);
const prefixMax = 0x7f;
/** Bytes of the longest length that a text may have: a prefix and three of seven bits. */
const lengthBytesMax = 4;

/** The block of some headers; names must be in lower case, values of latin1, pseudo headers first. Blocks may be joined. */
export function headerBlock(headers: Readonly<Record<string, string>>): Buffer {
  let size = 0;
  for (const name in headers) size += 1 + 2 * lengthBytesMax + name.length + (headers[name] as string).length;
  const block = Buffer.allocUnsafe(size);
  let at = 0;
  for (const name in headers) {
    block[at++] = secretNames.has(name) ? literal.neverIndexed : literal.withoutIndexing;
    at = writeText(block, at, name);
    at = writeText(block, at, headers[name] as string);
  }
  return block.subarray(0, at);
}

function writeText(block: Buffer, from: number, text: string): number {
  let at = from;
  if (text.length < prefixMax) block[at++] = text.length;
  else {
    block[at++] = prefixMax;
    let rest = text.length - prefixMax;
    for (; rest >= 0x80; rest >>= 7) block[at++] = (rest & 0x7f) | 0x80;
    block[at++] = rest;
  }
  return at + block.write(text, at, 'latin1');
}
