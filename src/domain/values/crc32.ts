// CRC-32 (IEEE 802.3), the checksum of small state files.

const table = new Uint32Array(256).map((_, index) => {
  let value = index;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? 0xedb88320 ^ (value >>> 1) : value >>> 1;
  return value;
});

/** Unsigned. `previous` continues a checksum over the next part of a text. */
export function crc32(bytes: Uint8Array, previous = 0): number {
  let value = ~previous;
  for (const byte of bytes) value = (table[(value ^ byte) & 0xff] as number) ^ (value >>> 8);
  return ~value >>> 0;
}
