// Lower-case hexadecimal, as digests and container hashes are printed.

/** Two digits a byte. */
export function hexOfBytes(bytes: Uint8Array): string {
  let text = '';
  for (const byte of bytes) text += byte.toString(16).padStart(2, '0');
  return text;
}
