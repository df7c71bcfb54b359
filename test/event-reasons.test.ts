// docs/events.md against the sources: each reason that it lists as sent is in them and in a test, and none is listed as sent and as missing.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { rejectionMetricLabel } from '../src/domain/admission/admission-result.js';

const root = join(import.meta.dirname, '..', '..');
const files = (directory: string): string[] =>
  readdirSync(join(root, directory), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .map((path) => join(directory, path));
const textOf = (paths: readonly string[]): string => paths.map((path) => readFileSync(join(root, path), 'utf8')).join('\n');

function reasonsOf(section: string): string[] {
  return section.split('\n').flatMap((line) => (/^\| `/.test(line) ? [...(line.split('|')[1] ?? '').matchAll(/`([A-Za-z]+)`/g)].map(([, reason = '']) => reason) : []));
}

const page = readFileSync(join(root, 'docs/events.md'), 'utf8');
const [sentPart = '', missingPart = ''] = page.split('## Not sent yet');
const [sent, missing] = [reasonsOf(sentPart), reasonsOf(missingPart)];
const tests = textOf(files('test').filter((path) => !path.endsWith('event-reasons.test.ts')));
const vectors = readdirSync(join(root, 'test/vectors/dev'), { encoding: 'utf8' })
  .map((name) => readFileSync(join(root, 'test/vectors/dev', name), 'utf8'))
  .join('\n');
const sources = textOf(files('src').filter((path) => !path.startsWith('src/sim/')));

t.test('what is sent', async (t) => {
  t.ok(sent.length > 50, `${sent.length} reasons`);
  for (const reason of sent) {
    t.ok(new RegExp(`['\`]${reason}['\`]`).test(sources), `${reason} is told somewhere`);
    t.ok(tests.includes(reason) || vectors.includes(reason), `${reason} is in a test`);
  }
});

t.test('what is not sent yet', async (t) => {
  t.ok(missing.length > 0, `${missing.length} reasons`);
  for (const reason of missing) {
    t.notOk(sent.includes(reason), `${reason} is one or the other`);
    t.notOk(new RegExp(`['\`]${reason}['\`]`).test(sources), `${reason} is not in the sources`);
  }
});

t.test('why a pod is refused', async (t) => {
  const refusals = new Set([...sources.matchAll(/\brejected\('([A-Za-z]+)'/g)].map(([, reason = '']) => reason));
  t.ok(refusals.size > 8, `${refusals.size} reasons`);
  for (const reason of refusals) {
    t.ok(sentPart.includes(`\`${reason}\``), `${reason} is on the page`);
    t.equal(rejectionMetricLabel(reason), reason, `${reason} has a label of its own in kubelet_admission_rejections_total`);
  }
});
