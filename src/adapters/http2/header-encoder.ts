// Header blocks as we send them (HPACK, RFC 7541): literals that enter no table, so that a block is the same bytes each time and can be kept.
const literalWithoutIndexing = 0x00;
const lengthPrefixMax = 0x7f;

/** The block of some headers; names must be in lower case, pseudo headers first. Blocks may be joined. */
export function headerBlock(headers: Readonly<Record<string, string>>): Buffer {
  const parts: Buffer[] = [];
  for (const [name, value] of Object.entries(headers)) parts.push(Buffer.from([literalWithoutIndexing]), lengthed(name), lengthed(value));
  return Buffer.concat(parts);
}

function lengthed(text: string): Buffer {
  const bytes = Buffer.from(text, 'latin1');
  return Buffer.concat([integer(bytes.length), bytes]);
}

/** With a prefix of seven bits. */
function integer(value: number): Buffer {
  if (value < lengthPrefixMax) return Buffer.from([value]);
  const bytes = [lengthPrefixMax];
  let rest = value - lengthPrefixMax;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
  bytes.push(rest);
  return Buffer.from(bytes);
}
