// Names, types and labels of all metrics against those of the recorded Go kubelet, and the list of differences with their reasons.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { CadvisorFamilies, familyTexts, resourceFamilies } from '../../src/adapters/metrics/index.js';
import type { NodeResources } from '../../src/ports/model/node-measurements.js';
import { healthFamilies, kubeletFamilies, probeFamilies } from '../../src/ports/outbound/metrics/kubelet-families.js';
import { busyContainer, busyMachine } from './busy-container.js';
import { metricFindings, metricLabels, metricTypes } from './metric-lint.js';
import { leftOut, matches, notRecorded, ours, recordedFamilies } from './reference-metrics.js';

interface Shown {
  readonly type: string;
  readonly labels: readonly string[];
}

const recorded = recordedFamilies();
const docs = readFileSync(fileURLToPath(new URL('../../../docs/metrics.md', import.meta.url)), 'utf8');

const declared = (families: Readonly<Record<string, { readonly type: string; readonly labels: readonly string[] }>>): ReadonlyMap<string, Shown> =>
  new Map(Object.entries(families).map(([name, { type, labels }]) => [name, { type, labels: labels.toSorted() }]));

function written(text: string): ReadonlyMap<string, Shown> {
  const labels = metricLabels(text);
  return new Map([...metricTypes(text)].map(([name, type]) => [name, { type, labels: labels.get(name) ?? [] }]));
}

function cadvisorText(): string {
  const families = new CadvisorFamilies(1_700_000_000_000, () => '/dev/sda');
  families.addMachine(busyMachine);
  families.addContainer(busyContainer);
  families.addScrapeErrors(false, false);
  return [...familyTexts(families.all())].join('');
}

const numbers = { cpu: { atMillis: 1, usageCoreNanoSeconds: 1e9 }, memory: { atMillis: 1, workingSetBytes: 5 }, swap: { atMillis: 1, usageBytes: 2, availableBytes: 3 } };
const resources: NodeResources = {
  node: numbers,
  failed: false,
  pods: [{ ...numbers, name: 'p', namespace: 'n', containers: [{ ...numbers, name: 'c', startedAtSeconds: 7 }] }],
};

/** The process's own metrics are compared in a test with a running daemon. */
const ofProcess = /^(process|nodejs)_/;
const endpoints: readonly (readonly [endpoint: string, shown: ReadonlyMap<string, Shown>])[] = [
  ['/metrics', declared(kubeletFamilies)],
  ['/metrics/probes', declared(probeFamilies)],
  ['/metrics/slis', declared(healthFamilies)],
  ['/metrics/cadvisor', written(cadvisorText())],
  ['/metrics/resource', written([...familyTexts(resourceFamilies(resources))].join(''))],
];

for (const [endpoint, shown] of endpoints) {
  t.test(`${endpoint} has the families of the reference`, async (t) => {
    const here = recorded.filter((family) => family.endpoint === endpoint);
    t.ok(here.length > 0);
    for (const { name, type, labels } of here) {
      if (endpoint === '/metrics' && ofProcess.test(name) && !shown.has(name)) continue;
      const isLeftOut = leftOut.some(([pattern]) => matches(pattern, name));
      if (isLeftOut) t.notOk(shown.has(name), `${name} is listed as left out`);
      else t.strictSame(shown.get(name), { type, labels }, name);
    }
    const names = new Set(here.map(({ name }) => name));
    for (const name of shown.keys())
      t.ok(names.has(name) || notRecorded.includes(name) || ours.some(([pattern]) => matches(pattern, name)), `${name} is upstream’s, or listed as ours`);
  });
}

t.test('each difference is one, and the documentation has it', async (t) => {
  for (const [pattern] of leftOut) {
    t.ok(
      recorded.some(({ name }) => matches(pattern, name)),
      `${pattern} is in the recording`,
    );
    t.ok(docs.includes(`\`${pattern}\``), `docs/metrics.md tells of ${pattern}`);
  }
  for (const [pattern] of ours) t.ok(docs.includes(`\`${pattern}\``), `docs/metrics.md tells of ${pattern}`);
  const all = endpoints.flatMap(([, shown]) => [...shown.keys()]);
  for (const name of notRecorded) {
    t.notOk(
      recorded.some((family) => family.name === name),
      `${name} is not in the recording`,
    );
    t.ok(all.includes(name), `${name} is shown`);
  }
});

t.test('how much can be relied on a family is as in the reference', async (t) => {
  const stabilities = new Map(recorded.map(({ endpoint, name, stability }) => [`${endpoint} ${name}`, stability]));
  for (const [endpoint, families] of [
    ['/metrics', kubeletFamilies],
    ['/metrics/probes', probeFamilies],
    ['/metrics/slis', healthFamilies],
  ] as const) {
    for (const [name, { stability }] of Object.entries(families)) {
      const expected = stabilities.get(`${endpoint} ${name}`) ?? '';
      if (expected !== '' && name !== 'process_start_time_seconds') t.equal(stability, expected, name);
    }
  }
});

t.test('what is written is well formed, whatever names a pod has', async (t) => {
  const families = new CadvisorFamilies(1, () => '');
  const odd = 'a"b\\c\nd';
  families.addContainer({ ...busyContainer, id: `/kubepods/${odd}`, image: odd, name: odd });
  const text = [...familyTexts(families.all())].join('');
  t.strictSame(metricFindings(text), []);
  t.match(text, /image="a\\"b\\\\c\\nd"/);
});
