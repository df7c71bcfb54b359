// Values of environment variables as text, though a secret may hold any bytes: bytes that aren't UTF-8 are encoded in the text and decode to
// the same bytes, also within a longer value.
// Invariant: `envValueBytes(envValueOf(bytes))` is `bytes`; text from the API passes unchanged, a lone surrogate in it becoming U+FFFD.
import { isValidUtf8, utf8Decode, utf8Encode } from '../values/utf8.js';

/** A byte that isn't part of UTF-8 text is carried as a lone low surrogate, U+DC80 for 0x80. Texts never hold one of their own. */
const carrier = 0xdc00;
const carried = /[\udc80-\udcff]/u;

export function envValueOf(bytes: Uint8Array): string {
  if (isValidUtf8(bytes)) return utf8Decode(bytes);
  let text = '';
  for (let at = 0; at < bytes.length; ) {
    const length = characterLength(bytes, at);
    text += length === 0 ? String.fromCharCode(carrier + bytes[at]!) : utf8Decode(bytes.subarray(at, at + length));
    at += Math.max(length, 1);
  }
  return text;
}

/** Text of the API, which JSON lets hold half a surrogate pair. */
export function envValueOfText(text: string): string {
  return text.replace(/\p{Surrogate}/gu, '\ufffd');
}

/** The value for the runtime: text, or bytes if it isn't text. */
export function runtimeEnvValue(value: string): string | Uint8Array {
  return carried.test(value) ? envValueBytes(value) : value;
}

export function envValueBytes(value: string): Uint8Array {
  const bytes: number[] = [];
  for (const character of value) {
    const code = character.codePointAt(0)!;
    if (code >= 0xdc80 && code <= 0xdcff) bytes.push(code - carrier);
    else bytes.push(...utf8Encode(character));
  }
  return Uint8Array.from(bytes);
}

/** Bytes of the character at `at`; 0 without a valid one. */
function characterLength(bytes: Uint8Array, at: number): number {
  for (let length = 1; length <= 4 && at + length <= bytes.length; length++) {
    if (isValidUtf8(bytes.subarray(at, at + length))) return length;
  }
  return 0;
}
