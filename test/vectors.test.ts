// All cases of test/vectors/dev that have a driver, and the proof that each comparison is strict.
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { type AreaResult, areasOf, hasDriver, runArea } from './vectors/runner.js';

const directory = fileURLToPath(new URL('../../test/vectors/dev/', import.meta.url));
const exclusions = readJson('../../test/vectors/exclusions.json') as Record<string, string>;

function readJson(relative: string): unknown {
  return JSON.parse(readFileSync(new URL(relative, import.meta.url), 'utf8'));
}

function shown(result: AreaResult): string[] {
  return result.failures.slice(0, 5).map(({ id, text }) => `${id}: ${text}`);
}

t.test('each area has cases and a driver', async (t) => {
  const areas = areasOf(directory);
  t.ok(areas.length >= 58, 'no area is missing');
  for (const area of areas) t.ok(hasDriver(area), area);
});

for (const area of areasOf(directory)) {
  t.test(area, async (t) => {
    const options = { directory, areas: [area], exclusions };
    const result = await runArea(area, { ...options, selfCheck: false });
    t.ok(result.total > 0, 'there are cases');
    t.strictSame(shown(result), [], `passed ${result.passed} of ${result.total}`);
    t.strictSame(shown(await runArea(area, { ...options, selfCheck: true })), [], 'one altered value in each wanted answer is noticed');
  });
}

t.test('each exclusion is a case, and a row of docs/differences.md', async (t) => {
  const differences = fileURLToPath(new URL('../../docs/differences.md', import.meta.url));
  const rows = existsSync(differences) ? readFileSync(differences, 'utf8') : '';
  const ids = new Set(areasOf(directory).flatMap((area) => readFileSync(`${directory}${area}.jsonl`, 'utf8').match(/(?<="id": ?")[^"]+/g) ?? []));
  t.ok(ids.size > 1000, 'the cases were found');
  for (const id of Object.keys(exclusions)) t.ok(ids.has(id) && rows.includes(id), id);
});
