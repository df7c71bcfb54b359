// The example of a simulator, as an embedder of the world runs it: a process of its own, and the same output each time.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import t from 'tap';

t.setTimeout(300_000);
const example = fileURLToPath(new URL('../../../examples/embed/two-schedulers.mjs', import.meta.url));
const line = /^(spread|pack): a job starts [\d.]+ s after it came, (\d+) nodes in use at most, [\d.]+ s in all, trace ([0-9a-f]{12})$/;

t.test('two schedulers on one trace: each has its way, twice the same', async (t) => {
  const run = () => execFileSync(process.execPath, [example, '20'], { encoding: 'utf8' }).trim().split('\n');
  const first = run();
  t.equal(first.length, 2);
  const [spread, pack] = first.map((text) => line.exec(text) ?? t.fail(text)) as [RegExpExecArray, RegExpExecArray];
  t.strictSame([spread[1], pack[1]], ['spread', 'pack']);
  t.ok(Number(spread[2]) > Number(pack[2]), 'who packs uses fewer nodes');
  t.not(spread[3], pack[3], 'other decisions, another trace');
  t.strictSame(run(), first);
  t.ok(readFileSync(example, 'utf8').split('\n').length <= 62, 'it is short');
});
