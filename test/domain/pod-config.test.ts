// Merging the lists of pod sources: what is delivered, and when all sources are ready.

import fc from 'fast-check';
import t from 'tap';
import { areAllSourcesReady, markHandled, mergeChanges, mergeSet, newPodConfig, type PodChange, type PodDelivery } from '../../src/domain/pod-sources/pod-config.js';
import { configSeenAnnotation, isEqualJson } from '../../src/domain/pod-sources/pod-difference.js';
import { instantOf } from '../../src/domain/values/instant.js';
import { configSourceAnnotation } from '../../src/domain/values/pod-kind.js';
import type { Pod } from '../../src/ports/model/pod.js';

const podArbitrary = fc
  .record({
    uid: fc.constantFrom('1', '2', '3', '4'),
    name: fc.constantFrom('a', 'b', 'c'),
    image: fc.constantFrom('x', 'y'),
    phase: fc.constantFrom('Pending', 'Running'),
    deleted: fc.boolean(),
  })
  .map(({ uid, name, image, phase, deleted }): Pod => {
    const metadata = { name, namespace: 'n', uid, ...(deleted ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}) };
    return { metadata, spec: { containers: [{ name: 'c', image }] }, status: { phase: phase as 'Pending' } };
  });

t.test('merge: what is delivered, applied in order, is what the source has', async (t) => {
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(fc.array(fc.array(podArbitrary, { maxLength: 4 }), { maxLength: 8 }), (lists) => {
        const state = newPodConfig(['api']);
        const applied = new Map<string, Pod>();
        for (const [i, list] of lists.entries()) {
          const { deliveries } = mergeSet(state, 'api', list, instantOf(i));
          for (const delivery of deliveries) apply(applied, delivery);
          const names = [...applied.values()].map((pod) => pod.metadata.name);
          if (new Set(names).size !== names.length) return false;
          for (const pod of applied.values()) {
            const source = list.find(({ metadata }) => metadata.uid === pod.metadata.uid && metadata.name === pod.metadata.name);
            if (source === undefined || !isEqualJson(source.spec, pod.spec) || source.status?.phase !== pod.status?.phase) return false;
            if (pod.metadata.annotations?.[configSourceAnnotation] !== 'api' || pod.metadata.annotations[configSeenAnnotation] === undefined) return false;
          }
          // The same list again changes nothing, whether it is the same objects or equal ones.
          if (mergeSet(state, 'api', list, instantOf(i)).deliveries.length + mergeSet(state, 'api', structuredClone(list), instantOf(i)).deliveries.length > 0) return false;
        }
        return true;
      }),
      { numRuns: 300 },
    ),
  );
});

t.test('changes: what is delivered, applied in order, is what the source has', async (t) => {
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(fc.array(fc.array(fc.tuple(podArbitrary, fc.boolean()), { maxLength: 5 }), { maxLength: 8 }), (batches) => {
        const state = newPodConfig(['api']);
        const applied = new Map<string, Pod>();
        const there = new Map<string, Pod>();
        for (const [i, batch] of batches.entries()) {
          const changes = batch.flatMap(([pod, gone]) => changesTo(there, pod, gone));
          for (const delivery of mergeChanges(state, 'api', changes, instantOf(i)).deliveries) apply(applied, delivery);
          if (applied.size !== there.size) return false;
          for (const [uid, pod] of there) {
            const known = applied.get(uid);
            if (known?.status?.phase !== pod.status?.phase || known?.metadata.deletionTimestamp !== pod.metadata.deletionTimestamp) return false;
          }
        }
        return true;
      }),
      { numRuns: 300 },
    ),
  );
});

/** As the API keeps them: one uid of a name, and a uid never under another name. */
function changesTo(there: Map<string, Pod>, wanted: Pod, gone: boolean): PodChange[] {
  const known = [...there.values()].find(({ metadata }) => metadata.name === wanted.metadata.name);
  const pod = { ...wanted, metadata: { ...wanted.metadata, uid: `${wanted.metadata.name}-${wanted.metadata.uid}` } };
  const uid = pod.metadata.uid;
  const changes: PodChange[] = [];
  if (known !== undefined && (gone || known.metadata.uid !== uid)) {
    changes.push({ type: 'delete', pod: known });
    there.delete(known.metadata.uid ?? '');
  }
  if (gone) return changes;
  there.set(uid, pod);
  return [...changes, { type: 'upsert', pod }];
}

t.test('changes: the first ones say that the source is there, even when they are none', async (t) => {
  const state = newPodConfig(['api']);
  t.strictSame(mergeChanges(state, 'api', [], instantOf(0)).deliveries, [{ op: 'ADD', source: 'api', pods: [] }]);
  t.strictSame(mergeChanges(state, 'api', [], instantOf(1)).deliveries, []);
});

t.test('changes: a pod is removed as it was known, not with the grace of 0 s that a forced deletion leaves', async (t) => {
  const state = newPodConfig(['api']);
  const pod: Pod = { metadata: { name: 'a', namespace: 'n', uid: '1' }, spec: { containers: [], terminationGracePeriodSeconds: 30 } };
  mergeChanges(state, 'api', [{ type: 'upsert', pod }], instantOf(0));
  const last = { ...pod, metadata: { ...pod.metadata, deletionTimestamp: '2026-01-01T00:00:00Z', deletionGracePeriodSeconds: 0 } };
  const [removed] = mergeChanges(state, 'api', [{ type: 'delete', pod: last }], instantOf(1)).deliveries;
  t.equal(removed?.op, 'REMOVE');
  t.equal(removed?.pods[0]?.metadata.deletionGracePeriodSeconds, undefined);
});

/** As the pod manager does: by name and by uid; an operation that doesn't fit its state is a failure. */
function apply(applied: Map<string, Pod>, { op, pods }: PodDelivery): void {
  for (const pod of pods) {
    const uid = pod.metadata.uid ?? '';
    if ((op === 'ADD') === applied.has(uid)) throw new Error(`${op} of ${uid} does not fit`);
    if (op === 'REMOVE') applied.delete(uid);
    else applied.set(uid, pod);
  }
}

t.test('two pods with one uid: the first is taken', async (t) => {
  const pod = (name: string): Pod => ({ metadata: { name, namespace: 'n', uid: '1' }, spec: { containers: [] } });
  const { deliveries, events } = mergeSet(newPodConfig(['file']), 'file', [pod('a'), pod('b')], instantOf(0));
  t.strictSame(
    deliveries.map(({ op, pods }) => [op, pods.map((p) => p.metadata.name)]),
    [['ADD', ['a']]],
  );
  t.strictSame(
    events.map((event) => event.message),
    ['Error validating pod b_n(1) from file due to duplicate pod uid "1", ignoring'],
  );
});

t.test('sources are ready when each has sent a list and had something handled', async (t) => {
  const state = newPodConfig(['api', 'file']);
  t.equal(areAllSourcesReady(newPodConfig([])), true, 'no source, nothing to wait for');
  mergeSet(state, 'api', [], instantOf(0));
  t.equal(areAllSourcesReady(state), false, 'sent, not handled');
  markHandled(state, 'api');
  t.equal(areAllSourcesReady(state), false, 'the file source is silent');
  mergeSet(state, 'file', [], instantOf(0));
  markHandled(state, 'file');
  t.equal(areAllSourcesReady(state), true);
});
