// The daemon's flags of the JavaScript engine, and that the engine accepts them: a flag that a later Node drops must fail the test.
import { spawnSync } from 'node:child_process';
import t from 'tap';
import { settleEngine } from '../../src/app/cli/engine.js';

const rows: readonly [sentence: string, given: readonly string[], set: readonly string[]][] = [
  ['both, where nothing was given', [], ['--interrupt-budget=600000', '--semi-space-growth-factor=1']],
  ['a size that was given stays', ['--max-semi-space-size=4'], ['--interrupt-budget=600000']],
  ['also with underscores', ['--max_semi_space_size=4', '--interrupt_budget=1'], []],
  ['others change nothing', ['--enable-source-maps'], ['--interrupt-budget=600000', '--semi-space-growth-factor=1']],
];
for (const [sentence, given, set] of rows) {
  t.test(sentence, async (t) => {
    const seen: string[] = [];
    settleEngine(given, (flag) => seen.push(flag));
    t.strictSame(seen, set);
  });
}

t.test('the engine takes them: the nursery stays small under a load that lets it grow otherwise', async (t) => {
  const engine = new URL('../../src/app/cli/engine.js', import.meta.url).href;
  const load = 'let kept = []; for (let i = 0; i < 2e6; i++) { kept.push({ i, a: [i] }); if (kept.length > 20000) kept = []; }';
  const size = `(await import('node:v8')).getHeapSpaceStatistics().find((space) => space.space_name === 'new_space').space_size`;
  const nursery = (settled: boolean): number => {
    const code = `${settled ? `(await import(${JSON.stringify(engine)})).settleEngine([]);` : ''} ${load} console.log(${size})`;
    const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', code], { encoding: 'utf8' });
    t.equal(stderr, '', 'it complains of nothing');
    return Number(stdout);
  };
  t.ok(nursery(true) <= 4 * 1024 * 1024, 'small');
  t.ok(nursery(false) > 4 * 1024 * 1024, 'it grows otherwise');
});
