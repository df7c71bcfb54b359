// The whole grid of the pod workers: every state of a record x every event. Each cell is closed (no assertion fails, the
// record is valid, waiting callers are notified or kept), and from each cell successes lead to rest.
import t from 'tap';
import { clonePlain } from '../../src/domain/kernel/plain-clone.js';
import type { PodWorkerEffect } from '../../src/domain/pod-workers/effects.js';
import { syncKnownPods } from '../../src/domain/pod-workers/known-pods.js';
import { newPodWorkers, type PodUpdate, type PodUpdateType, type PodWorkerRecord, type PodWorkers } from '../../src/domain/pod-workers/pod-worker-record.js';
import { type RunResult, runFinished, runStatusRead } from '../../src/domain/pod-workers/run-pod.js';
import { updatePod } from '../../src/domain/pod-workers/update-pod.js';
import type { Pod } from '../../src/ports/model/pod.js';

const uid = 'u';
const second = 1_000_000;

interface Situation {
  readonly workers: PodWorkers;
  now: number;
  mayBeActive: boolean;
}

type Change = (situation: Situation, effects: PodWorkerEffect[]) => void;

function workerPod(
  shape: { readonly static?: boolean; readonly uid?: string; readonly deletionGrace?: number; readonly phase?: 'Failed' | 'Succeeded'; readonly grace?: number } = {},
): Pod {
  return {
    metadata: {
      name: 'p',
      namespace: 'n',
      uid: shape.uid ?? uid,
      annotations: { 'kubernetes.io/config.source': shape.static === false ? 'api' : 'file' },
      ...(shape.deletionGrace === undefined ? {} : { deletionTimestamp: '2026-01-01T00:00:00Z', deletionGracePeriodSeconds: shape.deletionGrace }),
    },
    spec: { containers: [{ name: 'c' }], terminationGracePeriodSeconds: shape.grace ?? 30 },
    ...(shape.phase === undefined ? {} : { status: { phase: shape.phase } }),
  };
}

function update(type: PodUpdateType, given: Pod | null, more: Partial<PodUpdate> = {}): Change {
  return (situation, effects) => {
    const whole: PodUpdate = { type, pod: given, mirrorPod: null, runningPod: null, killOptions: null, startTime: null, ...more };
    updatePod(situation.workers, whole, situation.now, () => situation.mayBeActive, effects);
  };
}

function kill(override: number | null, more: { readonly evict?: boolean; readonly completion?: string; readonly given?: Pod } = {}): Change {
  const statusChange = more.evict === true ? { reason: 'Evicted', message: 'm', disruptionReason: null, disruptionMessage: null, keepsSuccess: false } : null;
  return update('kill', more.given ?? workerPod(), {
    killOptions: { evict: more.evict ?? false, gracePeriodOverride: override, statusChange, completion: more.completion ?? null },
  });
}

const runtimeKill: Change = update('kill', null, {
  runningPod: { uid, name: 'p', namespace: 'n' },
  killOptions: { evict: false, gracePeriodOverride: 1, statusChange: null, completion: null },
});
const success: RunResult = { error: null, podIsTerminal: false, postSync: false, rest: null };
const finish =
  (result: RunResult): Change =>
  ({ workers, now }, effects) =>
    runFinished(workers, uid, result, now, effects);
const read =
  (error: string | null): Change =>
  ({ workers, now }, effects) =>
    runStatusRead(workers, uid, error, now, effects);
const housekeeping =
  (desired: readonly string[]): Change =>
  ({ workers, now }, effects) => {
    syncKnownPods(workers, new Set(desired), now, effects);
  };
const failure = finish({ error: { kind: 'failed', message: 'failed', backOffExpiries: [] }, podIsTerminal: false, postSync: false, rest: null });

/** How each state is come by. */
const create = update('create', workerPod());
const terminating = [create, read(null), finish(success), kill(null)];
const terminated = [...terminating, read(null), finish(success)];
const states: Readonly<Record<string, readonly Change[]>> = {
  unknown: [],
  'waits for a status': [create],
  'waits for its turn': [update('create', workerPod({ uid: 'other' })), create],
  syncs: [create, read(null)],
  'syncs an API pod': [update('create', workerPod({ static: false })), read(null)],
  'syncs, more waits': [create, read(null), update('update', workerPod())],
  'at rest': [create, read(null), finish(success)],
  'at rest after a failure': [create, read(null), failure],
  'has run its course': [create, read(null), finish({ ...success, podIsTerminal: true })],
  'syncs, to be killed': [create, read(null), kill(10)],
  'terminating, waits for a status': terminating,
  terminating: [...terminating, read(null)],
  'terminating, evicted': [create, read(null), finish(success), kill(5, { evict: true, completion: 'first' }), read(null)],
  'terminating, cancelled': [...terminating, read(null), kill(3)],
  'terminating, failed': [...terminating, read(null), failure],
  'terminating, wanted again': [...terminating, create],
  'terminating by deletion': [
    update('create', workerPod({ static: false })),
    read(null),
    finish(success),
    update('update', workerPod({ static: false, deletionGrace: 20 })),
    read(null),
  ],
  'terminated, waits for a status': terminated,
  terminated: [...terminated, read(null)],
  'terminated, failed': [...terminated, read(null), failure],
  finished: [...terminated, read(null), finish(success)],
  'finished, wanted again': [...terminated, read(null), finish(success), create],
  'finished unstarted': [update('create', workerPod({ uid: 'other' })), create, kill(null)],
  'known from the runtime': [runtimeKill],
  'known from the runtime, failed': [runtimeKill, failure],
  'known from the runtime, then wanted': [runtimeKill, create],
  'ended before the start': [update('create', workerPod({ static: false, phase: 'Succeeded' }))],
};

/** All external events, for every state. */
const updates: Readonly<Record<string, Change>> = {
  ...Object.fromEntries(
    (['create', 'update', 'sync', 'kill'] as const).flatMap((type) =>
      Object.entries({
        '': workerPod(),
        ', other grace': workerPod({ grace: 2 }),
        ', from the API': workerPod({ static: false }),
        ', deleted, 0 s': workerPod({ deletionGrace: 0 }),
        ', deleted, 60 s': workerPod({ deletionGrace: 60 }),
        ', failed': workerPod({ phase: 'Failed' }),
        ', succeeded, from the API': workerPod({ phase: 'Succeeded', static: false }),
      }).map(([what, given]) => [`${type}${what}`, update(type, given)]),
    ),
  ),
  'kill with 1 s': kill(1),
  'kill with 0 s': kill(0),
  'kill with 600 s': kill(600),
  'kill, evict': kill(null, { evict: true }),
  'kill, somebody waits': kill(null, { completion: 'waiter' }),
  'kill, evict, somebody waits': kill(7, { evict: true, completion: 'waiter' }),
  'kill from the runtime': runtimeKill,
  'create from the runtime': update('create', null, { runningPod: { uid, name: 'p', namespace: 'n' } }),
  'housekeeping, wanted': housekeeping([uid, 'other']),
  'housekeeping, not wanted': housekeeping(['other']),
  'housekeeping, nothing wanted': housekeeping([]),
};

const results: Readonly<Record<string, Change>> = {
  success: finish(success),
  'success, has run its course': finish({ ...success, podIsTerminal: true }),
  'success, look again': finish({ ...success, postSync: true }),
  'success, at rest': finish({ ...success, rest: { until: null } }),
  'success, at rest until a time': finish({ ...success, rest: { until: 5_000 * second } }),
  failure,
  'failure of the network': finish({ error: { kind: 'network', message: 'network is not ready: x', backOffExpiries: [] }, podIsTerminal: false, postSync: false, rest: null }),
  'failure with back-off': finish({ error: { kind: 'failed', message: 'wait', backOffExpiries: [5_000 * second] }, podIsTerminal: false, postSync: false, rest: null }),
  'failure that says terminal': finish({ error: { kind: 'failed', message: 'failed', backOffExpiries: [] }, podIsTerminal: true, postSync: false, rest: null }),
  cancelled: finish({ error: { kind: 'cancelled', message: 'context canceled', backOffExpiries: [] }, podIsTerminal: false, postSync: false, rest: null }),
};
const reads: Readonly<Record<string, Change>> = { 'a status': read(null), 'no status': read('inspection failed') };

function step(situation: Situation, change: Change): PodWorkerEffect[] {
  situation.now += second;
  const effects: PodWorkerEffect[] = [];
  change(situation, effects);
  return effects;
}

function situationOf(path: readonly Change[], mayBeActive: boolean): Situation {
  const situation: Situation = { workers: newPodWorkers(), now: 1_000 * second, mayBeActive };
  for (const change of path) step(situation, change);
  return situation;
}

/** 0 sync, 1 terminating, 2 terminated, 3 finished: only ever forward. */
function rank({ terminatingAt, terminatedAt, finished }: PodWorkerRecord): number {
  return finished ? 3 : terminatedAt !== null ? 2 : terminatingAt !== null ? 1 : 0;
}

/** What is wrong with a step; empty: nothing. */
function problems(before: PodWorkerRecord | undefined, workers: PodWorkers, effects: readonly PodWorkerEffect[], completion: string | null): string[] {
  const found: string[] = [];
  const record = workers.records.get(uid);
  const say = (holds: boolean, problem: string): void => {
    if (!holds) found.push(problem);
  };
  const starts = effects.filter((effect) => effect.kind === 'start' && effect.uid === uid);
  say(starts.length <= 1, 'two operations are started');
  if (record !== undefined) {
    say(record.terminatedAt === null || record.terminatingAt !== null || record.finished, 'terminated without terminating');
    say(!record.finished || record.terminatedAt !== null, 'finished without being terminated');
    say(!record.startedTerminating || record.terminatingAt !== null, 'began to terminate without being asked');
    say(!record.finished || record.run === null, 'finished and at work');
    say(record.gracePeriodSeconds === 0 || record.gracePeriodSeconds >= 1, 'no grace at all');
    for (const effect of starts) {
      if (effect.kind !== 'start') continue;
      say(record.run?.operating === true, 'an operation is started of a worker that is not at work');
      say(effect.operation.op !== 'syncPod' || record.terminatingAt === null, `syncPod of a pod that is ${rank(record)}`);
      if (effect.operation.op === 'syncTerminatingPod') say((effect.operation.gracePeriodSeconds ?? 1) >= 1, 'terminating without grace');
    }
    const waitsForTurn = workers.waitingStaticPods.get(record.fullName)?.includes(uid) === true;
    const comesBack = record.run !== null || record.finished || waitsForTurn || effects.some(({ kind }) => kind === 'enqueue');
    say(record.pending === null || comesBack, 'an update waits for nobody');
    if (completion !== null)
      say(
        record.completions.includes(completion) || effects.some((effect) => effect.kind === 'complete' && effect.completion === completion) || record.finished,
        'whoever waits is forgotten',
      );
  }
  if (before !== undefined && record !== undefined && record.syncedAt === before.syncedAt) {
    say(rank(record) >= rank(before), `went back from ${rank(before)} to ${rank(record)}`);
    say(
      before.gracePeriodSeconds === 0 || record.gracePeriodSeconds <= before.gracePeriodSeconds,
      `the grace period grew from ${before.gracePeriodSeconds} to ${record.gracePeriodSeconds}`,
    );
    say(before.run?.operating !== true || starts.length === 0 || before.run !== record.run, 'an operation is started beside another one');
    say(!before.evicted || record.evicted, 'an evicted pod is no longer evicted');
    say(!before.deleted || record.deleted, 'a deleted pod is no longer deleted');
  }
  return found;
}

/** Lets everything succeed until nothing more comes by itself. */
function settle(situation: Situation): string[] {
  const found: string[] = [];
  for (let i = 0; i < 12; i++) {
    const record = situation.workers.records.get(uid);
    if (record?.run == null) return found;
    const before = clonePlain(record);
    const effects = step(situation, record.run.operating ? finish(success) : read(null));
    found.push(...problems(before, situation.workers, effects, null));
  }
  return [...found, 'it does not come to rest'];
}

t.test('every state x everything that can come', async (t) => {
  let cells = 0;
  for (const mayBeActive of [false, true]) {
    for (const [state, path] of Object.entries(states)) {
      const origin = situationOf(path, mayBeActive);
      const known = origin.workers.records.get(uid);
      const comes = { ...updates, ...(known?.run == null ? {} : known.run.operating ? results : reads) };
      const wrong: string[] = [];
      for (const [what, change] of Object.entries(comes)) {
        cells++;
        const situation = clonePlain(origin);
        const before = clonePlain(known);
        const effects = step(situation, change);
        wrong.push(
          ...[...problems(before, situation.workers, effects, what.includes('somebody waits') ? 'waiter' : null), ...settle(situation)].map((problem) => `${what}: ${problem}`),
        );
      }
      t.strictSame(wrong, [], `${state}: ${Object.keys(comes).length} inputs${mayBeActive ? ', active in the runtime' : ''}`);
    }
  }
  t.comment(`${cells} cells`);
});

t.test('the states are those that they are said to be', async (t) => {
  const ranks = Object.fromEntries(
    Object.entries(states).map(([state, path]) => {
      const record = situationOf(path, false).workers.records.get(uid);
      return [state, record === undefined ? null : `${rank(record)}${record.run === null ? '' : record.run.operating ? ' at work' : ' waiting'}`];
    }),
  );
  t.match(ranks, {
    unknown: null,
    'waits for a status': '0 waiting',
    'waits for its turn': '0',
    syncs: '0 at work',
    'at rest': '0',
    'has run its course': '1 waiting',
    terminating: '1 at work',
    'terminating, failed': '1',
    terminated: '2 at work',
    finished: '3',
    'finished unstarted': '3',
    'known from the runtime': '1 at work',
    'ended before the start': '2 waiting',
  });
});
