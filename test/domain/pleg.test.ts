// Relist and the status cache: invariants for any sequence of listings, and the steps between listing and inspection.
import fc from 'fast-check';
import t from 'tap';
import { comparePods, type PodLifecycleEvent, type RelistedPod } from '../../src/domain/pleg/lifecycle-events.js';
import {
  inspected,
  inspectionFailed,
  isLookOutdated,
  isPodRelistDue,
  newPleg,
  type Pleg,
  plegProblem,
  podRelisted,
  relisted,
  requestReinspection,
  takePlegEvents,
} from '../../src/domain/pleg/pleg.js';
import { emptyPodStatus, markPodObserved, newPodCache, type PodCache, readPodCache, readPodCacheIfNewer, setPodCache } from '../../src/domain/pod-cache/pod-cache.js';
import type { ContainerRuntimeState, PodRuntimeStatus } from '../../src/ports/model/runtime-status.js';
import type { PortFailure } from '../../src/ports/port-error.js';

const failure: PortFailure = { kind: 'unavailable', message: 'runtime is down', operation: 'runtime.inspectPod', subject: '', retryAfterMicros: null };
const minute = 60_000_000;

/** `pod('u', 'c running')`: one container, and a ready sandbox. */
function relistedPod(uid: string, ...containers: string[]): RelistedPod {
  return {
    uid,
    containers: containers.map((text) => ({ id: text.split(' ')[0] as string, state: text.split(' ')[1] as ContainerRuntimeState })),
    sandboxes: [{ id: `${uid}-sandbox`, state: 'ready' }],
  };
}
/** A status that names the listing it was made from, in `name`. */
function statusOf(listed: RelistedPod, observedAt: number): PodRuntimeStatus {
  return { ...emptyPodStatus(listed.uid), name: JSON.stringify(listed), observedAt };
}
function texts(events: readonly PodLifecycleEvent[]): string[] {
  return events.map((event) => (event.type === 'PodSync' ? `${event.uid} PodSync` : `${event.containerId} ${event.type}`));
}

t.test('every pair of states of one container', async (t) => {
  const states = [null, 'created', 'running', 'exited', 'unknown'] as const;
  const column = (before: (typeof states)[number]): string =>
    states
      .map((after) => {
        const changes = comparePods('u', before === null ? null : relistedPod('u', `c ${before}`), after === null ? null : relistedPod('u', `c ${after}`));
        const own = changes.events.filter((event) => event.type !== 'PodSync' && event.containerId === 'c').map((event) => event.type.replace('Container', ''));
        return own.join('+') || (changes.changed ? 'changed' : '-');
      })
      .join(' ');
  t.equal(column(null), '- changed Started Died changed');
  t.equal(column('created'), 'Died+Removed - Started Died -');
  t.equal(column('running'), 'Died+Removed changed - Died changed');
  t.equal(column('exited'), 'Removed changed Started - changed');
  t.equal(column('unknown'), 'Died+Removed - Started Died -');
});

t.test('one step at a time', async (t) => {
  const pleg = newPleg();
  const cache = newPodCache();
  const first = relisted(pleg, cache, [relistedPod('a', 'c running'), relistedPod('b', 'd running')], 10);
  t.strictSame(first.inspect, ['a', 'b']);
  t.strictSame(takePlegEvents(pleg), [], 'no event before its status');
  t.equal(cache.globalTime, 10, 'with the time at which its listing was asked for');
  t.equal(readPodCacheIfNewer(cache, 'c', 9)?.kind, 'status', 'that the others have not changed is known');
  t.equal(readPodCacheIfNewer(cache, 'a', 0), null, 'the status of what has changed is not');
  t.throws(() => inspected(pleg, cache, 'z', null), /no inspection of pod z/);
  inspectionFailed(pleg, cache, 'b', failure, 12);
  t.strictSame(takePlegEvents(pleg), [], 'the events of a pod that can not be inspected are withheld');
  t.strictSame(readPodCache(cache, 'b'), { kind: 'failed', error: failure });
  inspected(pleg, cache, 'a', statusOf(relistedPod('a', 'c running'), 12));
  t.strictSame(texts(takePlegEvents(pleg)), ['c ContainerStarted', 'a-sandbox ContainerStarted']);

  const second = relisted(pleg, cache, [relistedPod('a', 'c running'), relistedPod('b', 'd exited')], 20);
  t.strictSame(second.inspect, ['b'], 'what failed is tried again, what is unchanged is not');
  inspected(pleg, cache, 'b', statusOf(relistedPod('b', 'd exited'), 21));
  t.strictSame(texts(takePlegEvents(pleg)), ['d ContainerDied', 'b-sandbox ContainerStarted'], 'compared with what was delivered last');

  requestReinspection(pleg, 'a');
  requestReinspection(pleg, 'nobody');
  t.strictSame(relisted(pleg, cache, [relistedPod('a', 'c running'), relistedPod('b', 'd exited')], 30).inspect, ['a']);
  inspected(pleg, cache, 'a', null);
  t.strictSame(texts(takePlegEvents(pleg)), ['a PodSync']);
  t.strictSame(readPodCache(cache, 'a'), { kind: 'status', status: { ...emptyPodStatus('a'), observedAt: 30 } }, 'vanished between listing and inspection');
  t.equal(pleg.records.size, 2);
  t.strictSame(relisted(pleg, cache, [], 40).deleted, ['a', 'b']);
  t.equal(pleg.records.size + cache.entries.size, 0, 'nothing is kept for pods that are gone');
});

t.test('an inspection that hangs holds up its own pod alone', async (t) => {
  const pleg = newPleg();
  const cache = newPodCache();
  relisted(pleg, cache, [relistedPod('a', 'c running'), relistedPod('b', 'd running')], 10);
  inspected(pleg, cache, 'b', statusOf(relistedPod('b', 'd running'), 11));
  takePlegEvents(pleg);
  t.strictSame(relisted(pleg, cache, [relistedPod('a', 'c running'), relistedPod('b', 'd exited')], 20).inspect, ['a', 'b']);
  inspected(pleg, cache, 'b', statusOf(relistedPod('b', 'd exited'), 21));
  t.strictSame(texts(takePlegEvents(pleg)), ['d ContainerDied']);
  t.equal(readPodCacheIfNewer(cache, 'a', 0), null, 'relists make nothing of it fresher');
  t.equal(readPodCacheIfNewer(cache, 'b', 20)?.kind, 'status');
  inspected(pleg, cache, 'a', statusOf(relistedPod('a', 'c running'), 12));
  t.equal(readPodCacheIfNewer(cache, 'a', 19)?.kind, 'status', 'the last relist said the same');
  t.strictSame(texts(takePlegEvents(pleg)), ['c ContainerStarted', 'a-sandbox ContainerStarted']);
  t.equal(cache.behind.size + pleg.awaited.size, 0);
});

t.test('of two answers that may be of either order, the one that would change what is known is not taken', async (t) => {
  const begin = (): readonly [Pleg, PodCache] => {
    const [pleg, cache] = [newPleg(), newPodCache()];
    relisted(pleg, cache, [relistedPod('a', 'c running')], 10, 11);
    inspected(pleg, cache, 'a', statusOf(relistedPod('a', 'c running'), 11));
    takePlegEvents(pleg);
    return [pleg, cache];
  };
  const rows: readonly (readonly [sentence: string, askedAt: number, found: RelistedPod, outdated: boolean])[] = [
    ['asked before the list was answered, it says something else', 20, relistedPod('a', 'c running'), true],
    ['asked before the list was answered, it says the same', 20, relistedPod('a', 'c exited'), false],
    ['asked when the list was answered', 22, relistedPod('a', 'c running'), false],
    ['asked before the list was answered, nothing is left', 20, { uid: 'a', containers: [], sandboxes: [] }, true],
  ];
  for (const [sentence, askedAt, found, outdated] of rows) {
    const [pleg, cache] = begin();
    relisted(pleg, cache, [relistedPod('a', 'c exited')], 21, 22);
    t.equal(isLookOutdated(pleg, found, askedAt), outdated, sentence);
  }
  const [gone] = begin();
  relisted(gone, newPodCache(), [], 21, 22);
  t.equal(isLookOutdated(gone, relistedPod('a', 'c running'), 20), true, 'gone from the list since');

  for (const older of [[], [relistedPod('a', 'c running')]]) {
    const [pleg, cache] = begin();
    podRelisted(pleg, cache, relistedPod('a', 'c exited'), 21, 23);
    inspected(pleg, cache, 'a', statusOf(relistedPod('a', 'c exited'), 21));
    takePlegEvents(pleg);
    t.strictSame(relisted(pleg, cache, older, 20, 24).inspect, ['a'], 'a list that was asked for before a look was answered has the pod looked at again');
    t.strictSame(takePlegEvents(pleg), [], 'nothing is made of it');
    inspected(pleg, cache, 'a', statusOf(relistedPod('a', 'c exited'), 25));
    t.strictSame(texts(takePlegEvents(pleg)), ['a PodSync']);
  }
});

t.test('on demand', async (t) => {
  const pleg = newPleg();
  const cache = newPodCache();
  t.equal(isPodRelistDue(pleg, 0), true);
  relisted(pleg, cache, [], 100);
  t.strictSame([isPodRelistDue(pleg, 100), isPodRelistDue(pleg, 101)], [false, true]);
  t.strictSame(podRelisted(pleg, cache, relistedPod('a', 'c running'), 110).inspect, ['a']);
  t.strictSame(inspectionFailed(pleg, cache, 'a', failure, 111).observed, ['a'], 'served, though with an error');
  t.strictSame(podRelisted(pleg, cache, relistedPod('a', 'c running'), 120).inspect, ['a']);
  t.strictSame(inspected(pleg, cache, 'a', statusOf(relistedPod('a', 'c running'), 121)).observed, ['a']);
  t.strictSame(podRelisted(pleg, cache, relistedPod('a', 'c running'), 130), { inspect: [], updated: [], deleted: [], observed: ['a'], globalTimeAdvanced: false });
  t.equal(readPodCacheIfNewer(cache, 'a', 129)?.kind, 'status', 'seen to be unchanged is as good as new');
  t.equal(readPodCacheIfNewer(cache, 'a', 130), null);
  t.equal(podRelisted(pleg, cache, null, 140).observed.length, 0);
  t.equal(pleg.lastRelist, 100, 'only full relists count for health');
  t.equal(cache.globalTime, 100);
});

t.test('health', async (t) => {
  const pleg = newPleg();
  t.equal(plegProblem(pleg, 0), 'pleg has yet to be successful');
  relisted(pleg, newPodCache(), [], 0);
  t.equal(plegProblem(pleg, 3 * minute), null);
  t.equal(plegProblem(pleg, 3 * minute + 1), 'pleg was last seen active 3m0.000001s ago; threshold is 3m0s');
});

t.test('freshness of the cache', async (t) => {
  const cache = newPodCache();
  t.equal(readPodCacheIfNewer(cache, 'u', 0), null, 'before the first relist nothing is known, not even absence');
  setPodCache(cache, 'u', { kind: 'status', status: emptyPodStatus('u') }, 5);
  t.strictSame([readPodCacheIfNewer(cache, 'u', 4) !== null, readPodCacheIfNewer(cache, 'u', 5) !== null], [true, false]);
  markPodObserved(cache, 'u', 7);
  setPodCache(cache, 'u', { kind: 'failed', error: failure }, 6);
  t.equal(readPodCacheIfNewer(cache, 'u', 6)?.kind, 'failed', 'an error is an answer');
  markPodObserved(cache, 'v', 9);
  t.equal(cache.entries.has('v'), false);
  cache.globalTime = 8;
  t.strictSame(readPodCacheIfNewer(cache, 'v', 7), { kind: 'status', status: emptyPodStatus('v') }, 'absent is known after a relist');
  t.equal(readPodCacheIfNewer(cache, 'v', 8), null);
});

// Any sequence of listings, with inspections that may fail and arrive in any order.
const anyPod = (uid: string): fc.Arbitrary<RelistedPod> =>
  fc
    .record({
      containers: fc.uniqueArray(
        fc.record({ id: fc.constantFrom(`${uid}1`, `${uid}2`, `${uid}3`), state: fc.constantFrom<ContainerRuntimeState>('created', 'running', 'exited', 'unknown') }),
        {
          selector: ({ id }) => id,
        },
      ),
      sandboxes: fc.uniqueArray(fc.record({ id: fc.constantFrom(`${uid}s`, `${uid}t`), state: fc.constantFrom('ready' as const, 'notReady' as const) }), {
        selector: ({ id }) => id,
      }),
    })
    .map((items) => ({ uid, ...items }))
    // A runtime lists a pod because it has something of it.
    .filter((item) => item.containers.length + item.sandboxes.length > 0);
const anyListing = fc.tuple(fc.option(anyPod('a'), { nil: null }), fc.option(anyPod('b'), { nil: null })).map((pods) => pods.filter((item) => item !== null));
const anyRound = fc.record({ pods: anyListing, failing: fc.subarray(['a', 'b']), backwards: fc.boolean() });

/** A reader's view of each container from the events; `applied` is false if an event can't follow those before it. */
function applied(believed: Map<string, 'running' | 'ended'>, event: PodLifecycleEvent): boolean {
  if (event.type === 'PodSync') return true;
  const before = believed.get(event.containerId);
  if (event.type === 'ContainerRemoved') {
    believed.delete(event.containerId);
    return before === 'ended';
  }
  believed.set(event.containerId, event.type === 'ContainerStarted' ? 'running' : 'ended');
  return true;
}

function playRound(
  pleg: Pleg,
  cache: PodCache,
  round: { readonly pods: readonly RelistedPod[]; readonly failing: readonly string[]; readonly backwards: boolean },
  now: number,
): string[] {
  const { inspect } = relisted(pleg, cache, round.pods, now);
  for (const uid of round.backwards ? inspect.toReversed() : inspect) {
    if (round.failing.includes(uid)) inspectionFailed(pleg, cache, uid, failure, now);
    else inspected(pleg, cache, uid, statusOf(round.pods.find((item) => item.uid === uid) as RelistedPod, now));
  }
  return [...inspect];
}

t.test('properties', async (t) => {
  const property = (name: string, holds: (rounds: readonly { readonly pods: RelistedPod[]; readonly failing: string[]; readonly backwards: boolean }[]) => boolean): void => {
    t.doesNotThrow(() => fc.assert(fc.property(fc.array(anyRound, { maxLength: 12 }), holds), { numRuns: 500 }), name);
  };
  property('a removed container has died before, and after a relist without failures a reader of the events knows every state', (rounds) => {
    const [pleg, cache, believed] = [newPleg(), newPodCache(), new Map<string, 'running' | 'ended'>()];
    return rounds.every((round, i) => {
      playRound(pleg, cache, round, i);
      if (!takePlegEvents(pleg).every((event) => applied(believed, event))) return false;
      if (round.failing.length > 0) return true;
      const listed = new Map(round.pods.flatMap((item) => [...item.containers, ...item.sandboxes].map(({ id, state }) => [id, state] as const)));
      const known = [...listed].every(([id, state]) => {
        if (state === 'running' || state === 'ready') return believed.get(id) === 'running';
        return state === 'created' || state === 'unknown' || believed.get(id) === 'ended';
      });
      return known && [...believed.keys()].every((id) => listed.has(id));
    });
  });
  property('the cache holds what was inspected last, as new as the events', (rounds) => {
    const [pleg, cache] = [newPleg(), newPodCache()];
    return rounds.every((round, i) => {
      const asked = playRound(pleg, cache, round, i);
      const inspectedNow = asked.every((uid) => {
        const read = readPodCache(cache, uid);
        if (round.failing.includes(uid)) return read.kind === 'failed';
        return read.kind === 'status' && read.status.name === JSON.stringify(round.pods.find((item) => item.uid === uid));
      });
      return inspectedNow && cache.globalTime === i && [...cache.entries.keys()].every((uid) => round.pods.some((item) => item.uid === uid));
    });
  });
  property('the same listing again, in another order, inspects and tells nothing', (rounds) => {
    const [pleg, cache] = [newPleg(), newPodCache()];
    return rounds.every((round, i) => {
      playRound(pleg, cache, { ...round, failing: [] }, 2 * i);
      takePlegEvents(pleg);
      const again = round.pods.map((item) => ({ uid: item.uid, containers: item.containers.toReversed(), sandboxes: item.sandboxes.toReversed() }));
      return playRound(pleg, cache, { ...round, pods: again.toReversed() }, 2 * i + 1).length === 0 && takePlegEvents(pleg).length === 0;
    });
  });
  property('a full queue keeps the oldest events and counts the others', (rounds) => {
    const [small, large] = [newPleg(2), newPleg()];
    const caches = [newPodCache(), newPodCache()] as const;
    for (const [i, round] of rounds.entries()) {
      playRound(small, caches[0], round, i);
      playRound(large, caches[1], round, i);
    }
    return JSON.stringify(small.events) === JSON.stringify(large.events.slice(0, 2)) && small.discardedEvents === Math.max(0, large.events.length - 2);
  });
});
