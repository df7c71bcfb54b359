// An interval that is counted by the wall clock ends at once, or never, when that clock is set. Each place of the sources that reads it is in this table
// with the reason. What is counted goes by performance.now(), process.uptime() or the daemon's clock.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { KeptAnswers } from '../../src/adapters/http-server/access/kept-answers.js';

const source = join(import.meta.dirname, '../../../src');
const certificates = 'compared with the dates of certificates';
const stamp = 'a stamp for people and other programs';
const uses: Readonly<Record<string, readonly [count: number, why: string]>> = {
  'adapters/certificates/file-certificate-store.ts': [1, 'names of files'],
  'adapters/certificates/file-certificates.ts': [1, certificates],
  'adapters/decorators/fault-injecting.ts': [1, 'a decorator of tests'],
  'adapters/http-server/access/authenticators.ts': [1, certificates],
  'adapters/http-server/kubelet-server.ts': [1, stamp],
  'adapters/linux/manifest-directory.ts': [1, 'compared with the change times of files'],
  'adapters/mock-apiserver/authority.ts': [3, certificates],
  'adapters/mock-apiserver/resource-metrics.ts': [1, stamp],
  'adapters/profiling/v8-profiles.ts': [2, stamp],
  'adapters/storage/file-container-logs.ts': [1, 'the offset of the time zone'],
  'adapters/time/real-time.ts': [1, 'where the clock of a recording begins'],
  'adapters/time/wall-anchored-clock.ts': [1, 'the wall clock itself'],
  'app/cli/logs.ts': [1, 'what the apiserver and the kubelet stamped'],
  'app/cli/ps.ts': [2, 'ages of what the runtime stamped'],
  'app/daemon/api/kubelet-api.ts': [3, `${certificates}; ${stamp}`],
  'app/daemon/checkpoints.ts': [1, 'the offset of the time zone'],
  'app/daemon/start-daemon.ts': [1, stamp],
};

t.test('every use of the wall clock has its reason', async (t) => {
  const found: Record<string, number> = {};
  for (const file of readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'))) {
    const count = readFileSync(join(source, file), 'utf8').match(/\bDate\.now\b|new Date\(\)/g)?.length ?? 0;
    if (count > 0) found[file] = count;
  }
  t.strictSame(found, Object.fromEntries(Object.entries(uses).map(([file, [count]]) => [file, count])));
});

t.test('answers are kept by the clock that is given, whatever the wall clock does', async (t) => {
  let now = 1_000;
  const kept = new KeptAnswers<number>(10, () => now, 10);
  let asked = 0;
  const ask = () => kept.get('key', () => Promise.resolve({ value: ++asked, holdsMillis: 500 }));
  t.equal(await ask(), 1);
  now += 499;
  t.equal(await ask(), 1);
  now += 1;
  t.equal(await ask(), 2);
});
