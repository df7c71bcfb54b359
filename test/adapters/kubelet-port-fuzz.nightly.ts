// The kubelet's port under fire: a hundred thousand spoiled requests, other ones every day: the seed is the day, and is printed.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import t from 'tap';
import { fuzzKubeletPort } from './kubelet-port-fuzz.js';

const seed = Math.floor(Date.now() / 86_400_000);
/** Of what the fuzzer itself and the engine's code keep; a leak of a hundred bytes a request would be ten times that. */
const growthBytesMax = 8 * 1024 * 1024;

t.setTimeout(3_600_000);

t.test(`a hundred thousand requests, seed ${seed}`, { timeout: 3_600_000 }, async (t) => {
  setFlagsFromString('--expose-gc');
  globalThis.gc = runInNewContext('gc') as NonNullable<typeof globalThis.gc>;
  const { sent, statuses, broken, openAfterwards, heapGrowthBytes } = await fuzzKubeletPort(seed, 100_000);
  t.strictSame(broken, []);
  t.ok(sent >= 100_000, JSON.stringify(statuses));
  t.equal(openAfterwards, 0, 'no connection is left');
  t.ok(heapGrowthBytes < growthBytesMax, `the heap grew by ${heapGrowthBytes} bytes`);
});
