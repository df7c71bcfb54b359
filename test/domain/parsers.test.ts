// Readers of the domain on 20 000 random and spoiled texts each; parsers.nightly.ts has a million. Then texts that once took for ever.
import t from 'tap';
import { parseQosReserved } from '../../src/domain/configuration/startup-checks.js';
import { parseResolvConf } from '../../src/domain/dns/resolv-conf.js';
import { parseThreshold } from '../../src/domain/eviction/threshold-text.js';
import { parseCpuSet } from '../../src/domain/values/cpu-set.js';
import { parseContainerId } from '../../src/domain/values/pod-references.js';
import { parseQuantityJson } from '../../src/domain/values/quantity.js';
import { fuzzParser } from './parser-fuzz.js';
import { parsers } from './parsers.js';

const seed = 20_261_128;

t.setTimeout(300_000);

for (const parser of parsers) {
  t.test(parser.name, { timeout: 300_000 }, async (t) => {
    t.equal(fuzzParser(parser, seed, 20_000), null);
  });
}

t.test('a long text takes no longer than its length', async (t) => {
  const ranges = Array.from({ length: 10_000 }, (_, i) => `${i * 100_000}-${i * 100_000 + 65_535}`).join(',');
  const start = performance.now();
  t.match(parseCpuSet(ranges), { ok: false, error: /more than 65536 CPUs/ });
  t.match(parseCpuSet('0-65535'), { ok: true });
  t.match(parseCpuSet('0-65535,0-65535'), { ok: true }, 'named twice is one CPU');
  t.match(parseThreshold('memory.available', `${'%'.repeat(200_000)}x%`), { ok: false });
  t.match(parseThreshold('memory.available', `${'1'.repeat(200_000)}x%`), { ok: false });
  t.match(parseQosReserved({ memory: `${'%'.repeat(200_000)}x%` }), { ok: false });
  t.match(parseContainerId(`a://${'"'.repeat(200_000)}x`), { kind: 'ok' });
  const spaces = ' '.repeat(300_000);
  t.match(parseQuantityJson(`"1${spaces}x"`), { ok: false });
  t.match(parseQuantityJson(`"${spaces}1${spaces}"`), { ok: true });
  t.match(parseResolvConf(`search a${spaces}b`), { ok: true, value: { searches: ['a', 'b'] } });
  t.ok(performance.now() - start < 5_000);
});
