// Followers of rotated logs at random, other ones every day: the seed is the day, and is printed.
import t from 'tap';
import { FileLogReader } from '../../src/adapters/container-logs/index.js';
import { openNativeLinux } from '../../src/adapters/native-linux/index.js';
import { fuzzLogRotations } from './log-rotation-fuzz.js';

const seed = Math.floor(Date.now() / 86_400_000) * 1_000;
const native = openNativeLinux({ kernelLogPath: '/dev/null', service: { notifySocket: null, watchdogMicros: null, watchdogPid: null } }, false);

t.setTimeout(3_600_000);

for (const isWatched of [true, false]) {
  t.test(`four hundred logs from seed ${seed}, ${isWatched ? 'watched' : 'polled'}`, { timeout: 3_600_000 }, async (t) => {
    for (let from = 0; from < 400; from += 8) {
      const faults = { removes: from % 24 !== 0, empties: from % 24 === 16 };
      const reader = () => new FileLogReader({ openFileWatch: isWatched ? (listener) => native.openFileWatch(listener) : null, waitMillis: 50 });
      const results = await Promise.all(Array.from({ length: 8 }, (_, i) => fuzzLogRotations(reader(), seed + from + i, 80, faults)));
      for (const [i, { problems }] of results.entries()) t.strictSame(problems, [], `seed ${seed + from + i} ${JSON.stringify(faults)}`);
    }
  });
}
