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
