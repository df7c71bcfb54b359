// Standard base64 with padding (RFC 4648, section 4), as Secrets' `data` and binary ConfigMap keys are written on the wire.

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const values: ReadonlyMap<string, number> = new Map([...alphabet].map((letter, value) => [letter, value]));

export function base64Encode(bytes: Uint8Array): string {
  let text = '';
  for (let i = 0; i < bytes.length; i += 3) {
    const group = ((bytes[i] as number) << 16) | ((bytes[i + 1] ?? 0) << 8) | (bytes[i + 2] ?? 0);
    const letters = alphabet.charAt(group >> 18) + alphabet.charAt((group >> 12) & 63);
    const third = i + 1 < bytes.length ? alphabet.charAt((group >> 6) & 63) : '=';
    text += letters + third + (i + 2 < bytes.length ? alphabet.charAt(group & 63) : '=');
  }
  return text;
}

/** A field of type `bytes` of an API object, whose text was checked when the object was read. */
export function bytesOf(text: string): Uint8Array {
  return base64Decode(text) ?? new Uint8Array();
}

/** Null for anything that isn't whole, padded base64. Line breaks are skipped, as Go's decoder does. */
export function base64Decode(text: string): Uint8Array | null {
  const letters = text.replace(/[\r\n]/g, '');
  if (letters.length % 4 !== 0) return null;
  const padding = letters.endsWith('==') ? 2 : letters.endsWith('=') ? 1 : 0;
  const bytes = new Uint8Array((letters.length / 4) * 3 - padding);
  let written = 0;
  for (let i = 0; i < letters.length; i += 4) {
    let group = 0;
    for (let j = 0; j < 4; j++) {
      const isPadding = i + j >= letters.length - padding;
      const value = isPadding ? 0 : values.get(letters.charAt(i + j));
      if (value === undefined) return null;
      group = (group << 6) | value;
    }
    for (let shift = 16; shift >= 0 && written < bytes.length; shift -= 8) bytes[written++] = (group >> shift) & 0xff;
  }
  return bytes;
}

export type Base64Read = { readonly ok: true; readonly bytes: Uint8Array } | { readonly ok: false; readonly message: string };

/** Strict reading with the place of the first illegal character in the message, as Go words it. @param padded whether `=` completes the last group */
export function readBase64(text: string, padded: boolean): Base64Read {
  // Line breaks are skipped but counted.
  const letters: { readonly letter: string; readonly at: number }[] = [];
  for (let at = 0; at < text.length; at++) if (text[at] !== '\n' && text[at] !== '\r') letters.push({ letter: text[at]!, at });
  const ends = letters.findIndex(({ letter }) => !values.has(letter));
  const count = ends < 0 ? letters.length : ends;
  const illegalAt = ends < 0 ? null : paddingProblem(letters, count, padded, text.length);
  if (illegalAt !== null) return illegal(illegalAt);
  const rest = count % 4;
  if (ends < 0 && (rest === 1 || (padded && rest !== 0))) return illegal(text.length - rest);
  const decoded = base64Decode(
    letters
      .slice(0, count)
      .map(({ letter }) => letter)
      .join('') + '='.repeat((4 - rest) % 4),
  );
  return decoded === null ? illegal(0) : { ok: true, bytes: decoded };
}

/** The offset of the first invalid character after the letters; null if only correct padding follows. */
function paddingProblem(letters: readonly { readonly letter: string; readonly at: number }[], count: number, padded: boolean, length: number): number | null {
  const place = letters[count]!;
  const inGroup = count % 4;
  if (place.letter !== '=' || !padded || inGroup < 2) return place.at;
  if (inGroup === 3) return letters[count + 1]?.at ?? null;
  const second = letters[count + 1];
  if (second === undefined) return length;
  return second.letter === '=' ? (letters[count + 2]?.at ?? null) : second.at - 1;
}

function illegal(offset: number): Base64Read {
  return { ok: false, message: `illegal base64 data at input byte ${offset}` };
}
