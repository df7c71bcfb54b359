// Randomness as a pure function: draw n of a stream is a hash of (seed, purpose, key, n). Counter-based, so that streams never shift each
// other and a draw can be repeated from the flight record. Only integer operations: bit-equal on every engine.

/** A 32-bit hash of text, well mixed; the start of a stream. */
export function streamOf(seed: number, purpose: string, key: string): number {
  let h = mix(seed >>> 0);
  for (let i = 0; i < purpose.length; i++) h = Math.imul(h ^ purpose.charCodeAt(i), 0x01000193);
  h = Math.imul(h ^ 0xff, 0x01000193);
  for (let i = 0; i < key.length; i++) h = Math.imul(h ^ key.charCodeAt(i), 0x01000193);
  return mix(h);
}

/** Draw number `n` of a stream, uniform in [0, 1) with 32 bits. */
export function draw(stream: number, n: number): number {
  return mix(stream + Math.imul(n + 1, 0x9e3779b9)) / 0x1_0000_0000;
}

function mix(value: number): number {
  let h = value | 0;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}
