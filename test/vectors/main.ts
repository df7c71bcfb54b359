// `npm run vectors -- [--self-check] DIR [AREA...]`
import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { areasOf, hasDriver, runArea } from './runner.js';

const shownFailures = 3;

async function main(words: readonly string[]): Promise<number> {
  const selfCheck = words.includes('--self-check');
  const [directory, ...areas] = words.filter((word) => word !== '--self-check' && word !== '--');
  if (directory === undefined || !existsSync(directory)) {
    console.error(directory === undefined ? 'usage: npm run vectors -- [--self-check] DIR [AREA...]' : `no such directory: ${directory}`);
    return 2;
  }
  const exclusions = readExclusions();
  let failed = false;
  for (const area of areas.length > 0 ? areas : areasOf(directory)) {
    if (!hasDriver(area)) {
      console.log(`${area} has no driver yet`);
      failed = true;
      continue;
    }
    const result = await runArea(area, { directory: resolve(directory), areas, selfCheck, exclusions });
    console.log(`${area} passed ${result.passed} of ${result.total}${result.excluded.length > 0 ? ` (${result.excluded.length} excluded: ${result.excluded.join(', ')})` : ''}`);
    for (const failure of result.failures.slice(0, shownFailures)) console.log(`  ${failure.id}\n${failure.text.replace(/^/gm, '    ')}`);
    if (result.passed !== result.total) failed = true;
  }
  return failed ? 1 : 0;
}

function readExclusions(): Record<string, string> {
  const file = fileURLToPath(new URL('../../../test/vectors/exclusions.json', import.meta.url));
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Record<string, string>) : {};
}

process.exitCode = await main(process.argv.slice(2));
