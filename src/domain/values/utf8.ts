// UTF-8 without a TextEncoder, which some environments of the domain lack.
// Invariant: `utf8Decode` reads the output of `utf8Encode` back; lone surrogates and bad bytes become U+FFFD, as in the WHATWG encoding standard.

const replacement = 0xfffd;

export function utf8Encode(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length * 3);
  let length = 0;
  for (let i = 0; i < text.length; i++) {
    const code = codePointAt(text, i);
    if (code > 0xffff) i++;
    length = writeCodePoint(bytes, length, code);
  }
  return bytes.slice(0, length);
}

/** The length of `utf8Encode`'s result, without encoding. */
export function utf8Length(text: string): number {
  let length = 0;
  for (let i = 0; i < text.length; i++) {
    const code = codePointAt(text, i);
    if (code > 0xffff) i++;
    length += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  }
  return length;
}

/** Each maximal invalid part becomes one U+FFFD; a byte order mark is kept. */
export function utf8Decode(bytes: Uint8Array): string {
  let text = '';
  for (let at = 0; at < bytes.length; ) {
    const { code, next } = readCodePoint(bytes, at);
    text += String.fromCodePoint(code ?? replacement);
    at = next;
  }
  return text;
}

export function isValidUtf8(bytes: Uint8Array): boolean {
  for (let at = 0; at < bytes.length; ) {
    const { code, next } = readCodePoint(bytes, at);
    if (code === null) return false;
    at = next;
  }
  return true;
}

function codePointAt(text: string, index: number): number {
  const code = text.codePointAt(index) as number;
  return code >= 0xd800 && code <= 0xdfff ? replacement : code;
}

function writeCodePoint(bytes: Uint8Array, at: number, code: number): number {
  if (code < 0x80) {
    bytes[at] = code;
    return at + 1;
  }
  const following = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  const lead = following === 1 ? 0xc0 : following === 2 ? 0xe0 : 0xf0;
  bytes[at] = lead | (code >> (6 * following));
  for (let i = 1; i <= following; i++) bytes[at + i] = 0x80 | ((code >> (6 * (following - i))) & 0x3f);
  return at + following + 1;
}

/** `code` is null for an invalid part, which ends before the byte that made it invalid. */
function readCodePoint(bytes: Uint8Array, at: number): { code: number | null; next: number } {
  const lead = bytes[at] as number;
  if (lead < 0x80) return { code: lead, next: at + 1 };
  const following = lead >= 0xc2 && lead <= 0xdf ? 1 : lead >= 0xe0 && lead <= 0xef ? 2 : lead >= 0xf0 && lead <= 0xf4 ? 3 : 0;
  if (following === 0) return { code: null, next: at + 1 };
  let code = lead & (0x3f >> following);
  for (let i = 1; i <= following; i++) {
    const byte = bytes[at + i];
    // The second byte has a narrower range after some leads: no overlong forms, no surrogates, nothing past U+10FFFF.
    const low = i > 1 ? 0x80 : lead === 0xe0 ? 0xa0 : lead === 0xf0 ? 0x90 : 0x80;
    const high = i > 1 ? 0xbf : lead === 0xed ? 0x9f : lead === 0xf4 ? 0x8f : 0xbf;
    if (byte === undefined || byte < low || byte > high) return { code: null, next: at + i };
    code = (code << 6) | (byte & 0x3f);
  }
  return { code, next: at + following + 1 };
}
