// What is written to the API about pods: patches of what changed, the next request of a status, mirror pods.

import fc from 'fast-check';
import t from 'tap';
import { strategicMergePatch } from '../../src/domain/api-cache/strategic-merge-patch.js';
import { type MirrorPlan, mirrorPlan, mirrorPod } from '../../src/domain/pod-sources/mirror-pod.js';
import { podStatusPatch } from '../../src/domain/status/pod-status-patch.js';
import type { StatusRecord } from '../../src/domain/status/status-manager.js';
import { newStatusWrite, nextWriteStep, type StatusWrite } from '../../src/domain/status/status-write.js';
import { instantOf } from '../../src/domain/values/instant.js';
import { isNewerVersion } from '../../src/domain/values/resource-version.js';
import type { Node } from '../../src/ports/model/node.js';
import type { Pod } from '../../src/ports/model/pod.js';
import type { PodCondition, PodStatus } from '../../src/ports/model/pod-status.js';

const now = 1_800_000_000_000_000;
const keys = { conditions: 'type' };

function podWith(status: PodStatus, metadata: Partial<Pod['metadata']> = {}): Pod {
  return { metadata: { name: 'a', namespace: 'n', uid: '1', resourceVersion: '5', ...metadata }, spec: { containers: [{ name: 'c' }] }, status };
}

t.test('patches: before, after, what is sent', async (t) => {
  type Json = Record<string, unknown>;
  const rows: readonly (readonly [what: string, before: Json, after: Json, patch: Json])[] = [
    ['nothing', { phase: 'Running', n: [1] }, { n: [1], phase: 'Running' }, {}],
    ['a member', { phase: 'Pending' }, { phase: 'Running' }, { phase: 'Running' }],
    ['a member that goes', { reason: 'x', phase: 'Failed' }, { phase: 'Failed' }, { reason: null }],
    ['a member without a value is none', { reason: null }, {}, {}],
    ['within a map', { m: { a: 1, b: { c: 1, d: 2 } } }, { m: { a: 1, b: { c: 2 } } }, { m: { b: { c: 2, d: null } } }],
    ['a list without a key is replaced', { list: [{ name: 'a', x: 1 }] }, { list: [{ name: 'a', x: 2 }] }, { list: [{ name: 'a', x: 2 }] }],
    ['a first list', {}, { conditions: [{ type: 'A', status: 'True' }] }, { conditions: [{ type: 'A', status: 'True' }] }],
    [
      'an item of a merged list',
      { conditions: [condition('A', 'False', 'r'), condition('B', 'True')] },
      { conditions: [condition('A', 'True'), condition('B', 'True')] },
      { '$setElementOrder/conditions': [{ type: 'A' }, { type: 'B' }], conditions: [{ type: 'A', status: 'True', reason: null }] },
    ],
    [
      'an item that goes, and one that comes',
      { conditions: [condition('A', 'True'), condition('B', 'True')] },
      { conditions: [condition('B', 'True'), condition('C', 'False')] },
      { '$setElementOrder/conditions': [{ type: 'B' }, { type: 'C' }], conditions: [condition('C', 'False'), { $patch: 'delete', type: 'A' }] },
    ],
    [
      'only their order',
      { conditions: [condition('A', 'True'), condition('B', 'True')] },
      { conditions: [condition('B', 'True'), condition('A', 'True')] },
      { '$setElementOrder/conditions': [{ type: 'B' }, { type: 'A' }] },
    ],
    ['all items go', { conditions: [condition('A', 'True')] }, { conditions: [] }, { conditions: null }],
    ['what a server writes as null is absent', { conditions: [{ ...condition('A', 'True'), lastProbeTime: null }] }, { conditions: [condition('A', 'True')] }, {}],
  ];
  for (const [what, before, after, patch] of rows) t.strictSame(strategicMergePatch(before, after, keys), patch, what);
});

function condition(type: string, status: string, reason?: string): PodCondition {
  return { type, status, ...(reason === undefined ? {} : { reason }) };
}

t.test('a patch, applied as a server does, gives the new version', async (t) => {
  const value = fc.letrec((tie) => ({
    json: fc.oneof({ maxDepth: 3 }, fc.integer({ max: 3, min: 0 }), fc.constantFrom('x', 'y'), tie('map'), fc.array(fc.constantFrom(1, 2), { maxLength: 2 })),
    map: fc.dictionary(fc.constantFrom('a', 'b', 'c'), tie('json'), { maxKeys: 3 }),
  })).map;
  const conditions = fc.uniqueArray(fc.record({ type: fc.constantFrom('A', 'B', 'C'), status: fc.constantFrom('True', 'False') }, { requiredKeys: ['type'] }), {
    selector: ({ type }) => type,
    maxLength: 3,
  });
  const object = fc
    .tuple(value, fc.option(conditions, { nil: undefined }))
    .map(([map, list]) => ({ ...(map as object), ...(list === undefined || list.length === 0 ? {} : { conditions: list }) }));
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(object, object, (before, after) => {
        const patch = strategicMergePatch(before as Members, after as Members, keys);
        return JSON.stringify(sorted(applied(before as Members, patch))) === JSON.stringify(sorted(after));
      }),
      { numRuns: 500 },
    ),
  );
});

type Members = Record<string, unknown>;

/** Server's half, in as few words as will do. */
function applied(target: Members, patch: Members): Members {
  const result: Members = { ...target };
  for (const [name, value] of Object.entries(patch)) {
    if (name.startsWith('$setElementOrder/')) continue;
    if (value === null) delete result[name];
    else if (name === 'conditions') result[name] = appliedList((result[name] ?? []) as Members[], value as Members[]);
    else if (isMap(value) && isMap(result[name])) result[name] = applied(result[name], value);
    else result[name] = value;
  }
  for (const [name, order] of Object.entries(patch)) {
    if (!name.startsWith('$setElementOrder/')) continue;
    const list = name.slice('$setElementOrder/'.length);
    result[list] = (order as Members[]).map(({ type }) => (result[list] as Members[]).find((item) => item.type === type));
  }
  return result;
}

function appliedList(items: Members[], patch: Members[]): Members[] {
  let list = items;
  for (const { $patch, ...item } of patch) {
    const old = list.find(({ type }) => type === item.type);
    if ($patch === 'delete') list = list.filter((candidate) => candidate !== old);
    else list = old === undefined ? [...list, item] : list.map((candidate) => (candidate === old ? applied(old, item) : candidate));
  }
  return list;
}

function isMap(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  return isMap(value)
    ? Object.fromEntries(
        Object.entries(value)
          .sort(([a], [b]) => (a < b ? -1 : 1))
          .map(([name, item]) => [name, sorted(item)]),
      )
    : value;
}

t.test('a status patch names its pod, and is none when nothing differs', async (t) => {
  const pod = podWith({ phase: 'Pending', hostIPs: [{ ip: '10.0.0.1' }] });
  t.equal(podStatusPatch(pod, { phase: 'Pending', hostIPs: [{ ip: '10.0.0.1' }] }), null);
  t.strictSame(podStatusPatch(pod, { phase: 'Running', hostIPs: [{ ip: '10.0.0.1' }] }), { metadata: { uid: '1' }, status: { phase: 'Running' } });
});

t.test('versions: which one is newer', async (t) => {
  const rows: readonly (readonly [a: string | undefined, b: string | undefined, newer: boolean])[] = [
    ['10', '9', true],
    ['9', '10', false],
    ['11', '10', true],
    ['10', '10', false],
    ['abc', '1', false],
    ['2', 'abc', false],
    [undefined, '1', false],
    ['1', undefined, false],
    ['18446744073709551615', '18446744073709551614', true],
  ];
  for (const [a, b, newer] of rows) t.equal(isNewerVersion(a, b), newer, `${a} and ${b}`);
});

t.test('the next request about a status', async (t) => {
  const record = (status: PodStatus, finished = false): StatusRecord => ({ status, version: 3, changedAt: now, podName: 'a', podNamespace: 'n', finished });
  const deleted = { deletionTimestamp: '2026-01-01T00:00:00Z' };
  const running = podWith({ phase: 'Running' });
  const next = (write: Partial<StatusWrite>, status: StatusRecord, watched: Pod | null, couldHaveRunningContainers = false): unknown => {
    const step = nextWriteStep({ ...newStatusWrite(), ...write }, { record: status, watched, couldHaveRunningContainers, wall: instantOf(now) });
    return step.do === 'patch' ? step.body.status : step.do;
  };
  t.equal(next({}, record({ phase: 'Running' }), running), 'nothing', 'the API shows it already');
  t.strictSame(next({}, record({ phase: 'Running', podIP: '10.0.0.1' }), running), { podIP: '10.0.0.1' });
  t.equal(next({}, record({ phase: 'Failed' }), null), 'nothing', 'the API has no such pod');
  t.equal(next({ readFirst: true }, record({ phase: 'Running', podIP: '1' }), running), 'read', 'the outcome of the last request is unknown');
  t.equal(next({}, record({ phase: 'Failed' }), running, true), 'nothing', 'no terminal phase while containers may run');
  t.strictSame(next({}, record({ phase: 'Failed' }), running), { phase: 'Failed' });
  const answered = podWith({ phase: 'Running', podIP: '10.0.0.1' }, { resourceVersion: '6' });
  t.equal(next({ answered }, record({ phase: 'Running', podIP: '10.0.0.1' }), running), 'nothing', 'the watch is behind our own request');
  t.strictSame(next({ answered }, record({ phase: 'Running' }), running), { podIP: null }, 'and what it shows is not taken for what is there');
  t.equal(next({ answered: podWith({}, { uid: '2', resourceVersion: '9' }) }, record({ phase: 'Failed' }), running), 'nothing', 'another pod was read under the name');
  t.equal(next({}, record({ phase: 'Failed' }, true), podWith({ phase: 'Failed' }, deleted)), 'delete');
  t.equal(next({}, record({ phase: 'Failed' }, false), podWith({ phase: 'Failed' }, deleted)), 'nothing', 'not all of it is released');
  t.strictSame(next({}, record({ phase: 'Failed' }, true), podWith({ phase: 'Running' }, deleted)), { phase: 'Failed' }, 'first its end is told');
  t.equal(next({}, record({ phase: 'Failed' }, true), podWith({ phase: 'Failed' })), 'nothing', 'nobody wants it deleted');
  t.equal(next({ deleted: true }, record({ phase: 'Failed' }, true), podWith({ phase: 'Failed' }, deleted)), 'nothing', 'asked once; a finalizer keeps it');
  const mirror = podWith({ phase: 'Failed' }, { ...deleted, annotations: { 'kubernetes.io/config.mirror': 'h' } });
  t.equal(next({}, record({ phase: 'Failed' }, true), mirror), 'nothing', 'a mirror pod is not deleted as a pod');
});

t.test('mirror pods: what is to be done', async (t) => {
  const hash = 'kubernetes.io/config.hash';
  const of = 'kubernetes.io/config.mirror';
  const pod: Pod = {
    metadata: { name: 'a-n', namespace: 'ns', uid: 'h1', annotations: { [hash]: 'h1', 'kubernetes.io/config.source': 'file', x: 'y' } },
    spec: { containers: [] },
  };
  const node: Node = { metadata: { name: 'n', uid: 'node-uid' } };
  const mirror = (metadata: Partial<Pod['metadata']>): Pod => ({
    metadata: { name: 'a-n', namespace: 'ns', uid: 'm', annotations: { [of]: 'h1' }, ...metadata },
    spec: { containers: [] },
  });
  const rows: readonly (readonly [what: string, mirror: Pod | null, node: Node | null, plan: MirrorPlan])[] = [
    ['the right one', mirror({}), node, 'keep'],
    ['the right one, whatever the node', mirror({}), null, 'keep'],
    ['none', null, node, 'create'],
    ['none, and no node to own it', null, null, 'wait'],
    ['none, and the node is being deleted', null, { metadata: { ...node.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } }, 'wait'],
    ['none, and the node has no uid', null, { metadata: { name: 'n' } }, 'wait'],
    ['one of an earlier manifest', mirror({ annotations: { [of]: 'h0' } }), node, 'delete'],
    ['one that is being deleted', mirror({ deletionTimestamp: '2026-01-01T00:00:00Z' }), node, 'delete'],
    ['one without the hash', mirror({ annotations: {} }), node, 'delete'],
  ];
  for (const [what, known, owner, plan] of rows) t.equal(mirrorPlan(pod, known, owner), plan, what);
  t.strictSame(mirrorPod(pod, node), {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: 'a-n',
      namespace: 'ns',
      annotations: { [hash]: 'h1', 'kubernetes.io/config.source': 'file', x: 'y', [of]: 'h1' },
      ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'n', uid: 'node-uid', controller: true }],
    },
    spec: { containers: [] },
  });
});
