// Ids of a simulated runtime: 64 hex digits, drawn from the seed.
import { draw, streamOf } from '../../domain/kernel/random.js';

/** Always the same for a seed, a purpose and a key. Each word is of a stream of its own: one stream has too few states to tell 100 000 ids apart. */
export function hexId(seed: number, purpose: string, key: string): string {
  let id = '';
  for (let n = 0; n < 8; n++) {
    const word = draw(streamOf(seed + n, purpose, key), n) * 0x1_0000_0000;
    id += Math.floor(word).toString(16).padStart(8, '0');
  }
  return id;
}
