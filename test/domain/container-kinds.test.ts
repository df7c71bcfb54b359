// Rules for "all containers" forget some: each place of the domain that goes through a pod's containers, or through their statuses, is in a table
// with those that it names and why that is right. A new place, or another list in an old one, needs a row.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { localStorageEvictions } from '../../src/domain/eviction/local-storage.js';
import { emptyDirSetUp } from '../../src/domain/volumes/node-volumes.js';
import type { Container } from '../../src/ports/model/container.js';
import type { Pod } from '../../src/ports/model/pod.js';
import type { PodStats } from '../../src/ports/model/stats-summary.js';
import { type Kinds, specKinds, statusKinds } from './container-kinds.js';

const root = join(import.meta.dirname, '../../..');
const domain = join(root, 'src/domain');
const isComment = /^\s*(\/\/|\*|\/\*)/;
const declaration = /^(?:export )?(?:function|const|class|interface) (\w+)/;

const inSpec = {
  regular: /\bspec\.containers\b|\bcontainers\b[^:]*\} = (pod\.)?spec|\{ containers\b.*= pod\.spec|\bcontainers,.*= (pod\.)?spec|\bspec: \{.*\bcontainers\b/,
  init: /\binitContainers\b/,
  ephemeral: /\bephemeralContainers\b/,
};
const inStatus = { regular: /\bcontainerStatuses\b(?!\.js|\()/, init: /\binitContainerStatuses\b/, ephemeral: /\bephemeralContainerStatuses\b/ };

/** `file function` -> the kinds that are named in it, in the order of `words`. */
function placesOf(words: typeof inSpec): Map<string, string> {
  const found = new Map<string, Set<string>>();
  for (const file of readdirSync(domain, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'))) {
    let place = `${file} (file)`;
    for (const line of readFileSync(join(domain, file), 'utf8').split('\n')) {
      if (isComment.test(line) || line.startsWith('import ')) continue;
      place = declaration.test(line) ? `${file} ${declaration.exec(line)?.[1]}` : place;
      for (const [kind, word] of Object.entries(words)) if (word.test(line)) found.set(place, (found.get(place) ?? new Set()).add(kind));
    }
  }
  return new Map(
    [...found].map(([place, kinds]) => [
      place,
      Object.keys(words)
        .filter((kind) => kinds.has(kind))
        .join(' '),
    ]),
  );
}

for (const [what, words, rows] of [
  ['specs', inSpec, specKinds],
  ['statuses', inStatus, statusKinds],
] as const) {
  t.test(`which containers' ${what} each function goes through, and why`, async (t) => {
    const found = placesOf(words);
    const table = new Map(rows.map(([place, kinds]: Kinds) => [place, kinds]));
    t.strictSame(
      [...found].filter(([place]) => !table.has(place)).map(([place, kinds]) => `${place}: ${kinds}`),
      [],
      'each has a row',
    );
    for (const [place, kinds, why] of rows) {
      t.equal(found.get(place), kinds, place);
      t.not(why, '', 'and a reason');
    }
    t.equal(table.size, rows.length, 'one row each');
  });
}

const small: Container['resources'] = { limits: { 'ephemeral-storage': '10' } };
const large: Container['resources'] = { limits: { 'ephemeral-storage': '1000' } };
const used = (name: string, rootfs: number, logs: number): NonNullable<PodStats['containers']>[number] =>
  ({ name, startTime: '', rootfs: { usedBytes: rootfs }, logs: { usedBytes: logs } }) as unknown as NonNullable<PodStats['containers']>[number];

t.test('a container over its own limit of local disk costs the pod its place, whatever kind of container it is', async (t) => {
  const kinds: readonly (readonly [what: string, spec: Pod['spec']])[] = [
    [
      'regular',
      {
        containers: [
          { name: 'x', resources: small },
          { name: 'c', resources: large },
        ],
      },
    ],
    ['init', { initContainers: [{ name: 'x', resources: small }], containers: [{ name: 'c', resources: large }] }],
    ['sidecar', { initContainers: [{ name: 'x', restartPolicy: 'Always', resources: small }], containers: [{ name: 'c', resources: large }] }],
  ];
  const usages: readonly (readonly [what: string, rootfs: number, logs: number, dedicated: boolean, over: boolean])[] = [
    ['more in its files', 11, 0, false, true],
    ['more in both together', 6, 5, false, true],
    ['as much as it may', 10, 0, false, false],
    ['more in its files, which are elsewhere', 11, 0, true, false],
    ['more in its logs', 0, 11, true, true],
  ];
  for (const [kind, spec] of kinds) {
    for (const [what, rootfs, logs, dedicated, over] of usages) {
      const pod: Pod = { metadata: { name: 'p', uid: 'u' }, spec };
      const stats = { podRef: { name: 'p', namespace: '', uid: 'u' }, containers: [used('x', rootfs, logs), used('c', 0, 0)] } as unknown as PodStats;
      const evictions = localStorageEvictions([pod], new Map([['u', stats]]), dedicated);
      const messages = over ? ['Container x exceeded its local ephemeral storage limit "10". '] : [];
      t.strictSame(
        evictions.map(({ message }) => message),
        messages,
        `${kind}: ${what}`,
      );
    }
  }
});

t.test('an emptyDir in memory is bounded by what the pod may use: only where every container that runs beside others is limited', async (t) => {
  const limited: Container['resources'] = { limits: { memory: '100' } };
  const c: Container = { name: 'c', resources: limited };
  const always = { restartPolicy: 'Always' } as const;
  const rows: readonly (readonly [what: string, spec: Pod['spec'], bytes: number])[] = [
    ['all are', { containers: [c] }, 100],
    ['a regular one is not', { containers: [c, { name: 'd' }] }, 1000],
    ['a sidecar is not', { initContainers: [{ name: 's', ...always }], containers: [c] }, 1000],
    ['a sidecar is', { initContainers: [{ name: 's', ...always, resources: limited }], containers: [c] }, 200],
    ['an init container is not', { initContainers: [{ name: 'i' }], containers: [c] }, 1000],
    ['the pod as a whole is', { resources: { limits: { memory: '300' } }, initContainers: [{ name: 's', ...always }], containers: [c] }, 300],
  ];
  for (const [what, spec, bytes] of rows) {
    const pod: Pod = { metadata: { name: 'p', uid: 'u' }, spec };
    const setUp = emptyDirSetUp(pod, { name: 'v', emptyDir: { medium: 'Memory' } }, { memory: '1000' });
    t.match(setUp, { ok: true, setUp: { tmpfs: { sizeBytes: bytes } } }, what);
  }
});
