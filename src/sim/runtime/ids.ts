// Ids of a simulated runtime: 64 hex digits, drawn from the seed.
import { draw, streamOf } from '../../domain/kernel/random.js';

/** Always the same for a seed, a purpose and a key. */
export function hexId(seed: number, purpose: string, key: string): string {
  const stream = streamOf(seed, purpose, key);
  let id = '';
  for (let n = 0; n < 8; n++)
    id += Math.floor(draw(stream, n) * 0x1_0000_0000)
      .toString(16)
      .padStart(8, '0');
  return id;
}
