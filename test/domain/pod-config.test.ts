// Merging the lists of pod sources: what is delivered, and when all sources are ready.
import fc from 'fast-check';
import t from 'tap';
import { areAllSourcesReady, markHandled, mergeSet, newPodConfig, type PodDelivery } from '../../src/domain/pod-sources/pod-config.js';
import { configSeenAnnotation, isEqualJson } from '../../src/domain/pod-sources/pod-difference.js';
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
          const { deliveries } = mergeSet(state, 'api', list, i);
          for (const delivery of deliveries) apply(applied, delivery);
          const names = [...applied.values()].map((pod) => pod.metadata.name);
          if (new Set(names).size !== names.length) return false;
          for (const pod of applied.values()) {
            const source = list.find(({ metadata }) => metadata.uid === pod.metadata.uid && metadata.name === pod.metadata.name);
            if (source === undefined || !isEqualJson(source.spec, pod.spec) || source.status?.phase !== pod.status?.phase) return false;
            if (pod.metadata.annotations?.[configSourceAnnotation] !== 'api' || pod.metadata.annotations[configSeenAnnotation] === undefined) return false;
          }
          // The same list again changes nothing, whether it is the same objects or equal ones.
          if (mergeSet(state, 'api', list, i).deliveries.length + mergeSet(state, 'api', structuredClone(list), i).deliveries.length > 0) return false;
        }
        return true;
      }),
      { numRuns: 300 },
    ),
  );
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
  const { deliveries, events } = mergeSet(newPodConfig(['file']), 'file', [pod('a'), pod('b')], 0);
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
  mergeSet(state, 'api', [], 0);
  t.equal(areAllSourcesReady(state), false, 'sent, not handled');
  markHandled(state, 'api');
  t.equal(areAllSourcesReady(state), false, 'the file source is silent');
  mergeSet(state, 'file', [], 0);
  markHandled(state, 'file');
  t.equal(areAllSourcesReady(state), true);
});
