// Texts cut to a number of bytes, never within a character.
import { utf8Decode, utf8Encode } from '../values/utf8.js';

/** The longest beginning of `text` with at most `maxBytes` bytes of UTF-8 that ends between two characters. */
export function cutUtf8(text: string, maxBytes: number): string {
  const bytes = utf8Encode(text);
  if (bytes.length <= maxBytes) return text;
  let end = maxBytes;
  while (end > 0 && ((bytes[end] as number) & 0xc0) === 0x80) end--;
  return utf8Decode(bytes.subarray(0, end));
}
