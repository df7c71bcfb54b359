// SHA-256 (FIPS 180-4): image and checkpoint digests where no host crypto may be used.

const blockBytes = 64;
const initial = fractions((prime) => Math.sqrt(prime), 8);
const constants = fractions((prime) => Math.cbrt(prime), 64);

/** The 32 bytes of the digest. */
export function sha256(bytes: Uint8Array): Uint8Array {
  const padded = pad(bytes);
  const state = initial.slice();
  const schedule = new Uint32Array(64);
  const view = new DataView(padded.buffer);
  for (let at = 0; at < padded.length; at += blockBytes) {
    expand(view, at, schedule);
    compress(state, schedule);
  }
  const digest = new Uint8Array(32);
  const out = new DataView(digest.buffer);
  state.forEach((word, i) => {
    out.setUint32(i * 4, word);
  });
  return digest;
}

/** The first 32 bits of the fractional parts of a root of the first primes: exact in a double, since the whole part is small. */
function fractions(root: (prime: number) => number, count: number): Uint32Array {
  const words = new Uint32Array(count);
  let found = 0;
  for (let candidate = 2; found < count; candidate++) {
    let prime = true;
    for (let divisor = 2; divisor * divisor <= candidate && prime; divisor++) prime = candidate % divisor !== 0;
    if (prime) words[found++] = (root(candidate) % 1) * 2 ** 32;
  }
  return words;
}

function pad(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const padded = new Uint8Array(Math.ceil((bytes.length + 9) / blockBytes) * blockBytes);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setUint32(padded.length - 8, Math.floor(bytes.length / 2 ** 29));
  view.setUint32(padded.length - 4, (bytes.length << 3) >>> 0);
  return padded;
}

function rotate(word: number, by: number): number {
  return (word >>> by) | (word << (32 - by));
}

function expand(view: DataView, at: number, schedule: Uint32Array): void {
  for (let i = 0; i < 16; i++) schedule[i] = view.getUint32(at + i * 4);
  for (let i = 16; i < 64; i++) {
    const early = schedule[i - 15] as number;
    const late = schedule[i - 2] as number;
    const small = rotate(early, 7) ^ rotate(early, 18) ^ (early >>> 3);
    const large = rotate(late, 17) ^ rotate(late, 19) ^ (late >>> 10);
    schedule[i] = (schedule[i - 16] as number) + small + (schedule[i - 7] as number) + large;
  }
}

function compress(state: Uint32Array, schedule: Uint32Array): void {
  let [a, b, c, d, e, f, g, h] = state as unknown as [number, number, number, number, number, number, number, number];
  for (let i = 0; i < 64; i++) {
    const choice = (e & f) ^ (~e & g);
    const first = (h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + choice + (constants[i] as number) + (schedule[i] as number)) | 0;
    const majority = (a & b) ^ (a & c) ^ (b & c);
    const second = ((rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + majority) | 0;
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + second) | 0];
  }
  [a, b, c, d, e, f, g, h].forEach((word, i) => {
    state[i] = (state[i] as number) + word;
  });
}
