// Ids of a simulated runtime: 64 hex digits, drawn from the seed.
import { draw, streamOf } from '../../domain/kernel/random.js';

/** Deterministic for a seed, a purpose and a key. Words come from two streams in turn: one has too few states for 100 000 distinct ids. */
export function hexId(seed: number, purpose: string, key: string): string {
  let id = '';
  const [low, high] = [streamOf(seed, purpose, key), streamOf(seed + 1, key, purpose)];
  for (let n = 0; n < 8; n++) {
    const word = draw(n % 2 === 0 ? low : high, n) * 0x1_0000_0000;
    id += word.toString(16).padStart(8, '0');
  }
  return id;
}
