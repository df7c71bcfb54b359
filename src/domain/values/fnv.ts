// The FNV hashes of Fowler, Noll and Vo over bytes: container hashes (32), pod template hashes (32, 64), generated uids (128).
// Invariant: all arithmetic is exact and modulo 2^width; FNV-1 multiplies before, FNV-1a after taking a byte in.

const offset32 = 0x811c9dc5;
const prime32 = 0x01000193;
const prime64Low = 0x1b3n;
const mask64 = (1n << 64n) - 1n;
const offset128 = 0x6c62272e07bb014262b821756295c58dn;

export function fnv1Hash32(bytes: Uint8Array, start: number = offset32): number {
  let hash = start;
  for (const byte of bytes) hash = Math.imul(hash, prime32) ^ byte;
  return hash >>> 0;
}

export function fnv1aHash32(bytes: Uint8Array, start: number = offset32): number {
  let hash = start;
  for (const byte of bytes) hash = Math.imul(hash ^ byte, prime32);
  return hash >>> 0;
}

export function fnv1aHash64(bytes: Uint8Array): bigint {
  let hash = 0xcbf29ce484222325n;
  for (const byte of bytes) {
    const mixed = hash ^ BigInt(byte);
    // The prime is 2^40 + 0x1b3.
    hash = ((mixed << 40n) + mixed * prime64Low) & mask64;
  }
  return hash;
}

/** 32 lower-case hex digits. */
export function fnv1aHash128Hex(bytes: Uint8Array): string {
  // Eight limbs of 16 bits, least significant first: a product with a small factor and a carry stays an exact double.
  const limbs = new Float64Array(8);
  for (let i = 0; i < 8; i++) limbs[i] = Number((offset128 >> BigInt(16 * i)) & 0xffffn);
  const mixed = new Float64Array(8);
  for (const byte of bytes) {
    mixed.set(limbs);
    mixed[0] = ((mixed[0] as number) ^ byte) >>> 0;
    let carry = 0;
    for (let i = 0; i < 8; i++) {
      // The prime is 2^88 + 0x13b; 88 bits are five and a half limbs.
      const shifted = i < 5 ? 0 : (((mixed[i - 5] as number) & 0xff) << 8) | (i > 5 ? (mixed[i - 6] as number) >> 8 : 0);
      const sum = (mixed[i] as number) * 0x13b + shifted + carry;
      limbs[i] = sum % 0x10000;
      carry = Math.floor(sum / 0x10000);
    }
  }
  let text = '';
  for (let i = 7; i >= 0; i--) text += (limbs[i] as number).toString(16).padStart(4, '0');
  return text;
}
