// The grids of the machines that the agent's own grid doesn't reach: each state x each event. States are distinguished as in
// their tables; the invariants are those of their headers.

import t from 'tap';
import { type ImagePullBackoff, newImagePullBackoff } from '../../src/domain/backoff/image-pull-backoff.js';
import { afterImageFsMeasurement, afterImageRemoval, beginImageGc, beginUnusedImageRemoval, type ImageGcRun, nextImageGcStep } from '../../src/domain/gc/image-gc.js';
import { advanceEnsureImage, beginEnsureImage, type EnsureImageReply, type EnsureImageRun, type EnsureImageStep } from '../../src/domain/images/ensure-image.js';
import { type LeaseAnswer, type LeaseRenewal, type LeaseStep, leaseAnswered, newLeaseRenewal, startLeaseRenewal } from '../../src/domain/lease/lease-renewal.js';
import { groupPods, shutdownPriorities } from '../../src/domain/node-shutdown/shutdown-groups.js';
import { advanceShutdown, beginShutdown, type ShutdownRun } from '../../src/domain/node-shutdown/shutdown-run.js';
import { newStatusReport, reportFailed, type StatusReport, startReport, statusComputed, statusSent } from '../../src/domain/node-status/status-report.js';
import { comparePods } from '../../src/domain/pleg/lifecycle-events.js';
import { inspected, inspectionFailed, newPleg, type Pleg, podRelisted, relisted, requestReinspection, takePlegEvents } from '../../src/domain/pleg/pleg.js';
import { emptyPodStatus, newPodCache, type PodCache } from '../../src/domain/pod-cache/pod-cache.js';
import {
  beginContainerKill,
  type ContainerKill,
  containerKillTimedOut,
  preStopEnded,
  stopAnswered,
  stopTimeoutSeconds,
  turnCame,
} from '../../src/domain/pod-sync/container-kill.js';
import { nanosPerSecond } from '../../src/domain/values/go-duration.js';
import { instantOf } from '../../src/domain/values/instant.js';
import { microsPerSecond as second } from '../../src/domain/values/time.js';
import type { Pod } from '../../src/ports/model/pod.js';
import type { PortFailure } from '../../src/ports/port-error.js';
import { type Grid, walkGrid } from './walk-grid.js';

const start = 1_700_000_000 * second;
const failure: PortFailure = { kind: 'unavailable', message: 'down', operation: 'o', subject: '', retryAfterMicros: null };

/** `kinds`: what the table says there is, in any order; what is reached has to be that. */
function grid<State>(name: string, machine: Grid<State>, kindOf: (state: string) => string, kinds: readonly string[]): void {
  t.test(name, async (t) => {
    const walked = walkGrid(machine);
    t.strictSame(walked.problems, []);
    t.strictSame([...new Set(walked.states.map(kindOf))].sort(), [...kinds].sort(), 'every state of the table is reached');
    t.comment(`${walked.states.length} states, ${walked.cells} cells`);
  });
}

const firstWord = (state: string): string => state.split(' ')[0] ?? '';

interface LeaseAt {
  readonly renewal: LeaseRenewal;
  readonly step: LeaseStep | null;
  /** Writes of this cycle. */
  readonly writes: number;
}

function leaseEvent(answer: LeaseAnswer): (at: LeaseAt) => LeaseAt {
  return ({ renewal, writes }) => {
    const step = leaseAnswered(renewal, answer, instantOf(start));
    return { renewal, step, writes: writes + (step.call?.op === 'update-lease' ? 1 : 0) };
  };
}

const owner = { apiVersion: 'v1', kind: 'Node', name: 'n', uid: 'u' };
const lease = { metadata: { name: 'n', namespace: 'kube-node-lease' }, spec: { holderIdentity: 'n' } };
const owned = { ...lease, metadata: { ...lease.metadata, ownerReferences: [owner] } };

grid<LeaseAt>(
  'renewal of the lease',
  {
    starts: { new: () => ({ renewal: newLeaseRenewal('n', 40), step: null, writes: 0 }) },
    events: {
      due: ({ renewal }) => {
        const step = startLeaseRenewal(renewal, instantOf(start));
        return { renewal, step, writes: step.call?.op === 'update-lease' ? 1 : 0 };
      },
      lease: leaseEvent({ kind: 'lease', lease: owned }),
      'a lease that nobody owns': leaseEvent({ kind: 'lease', lease }),
      node: leaseEvent({ kind: 'node', uid: 'u' }),
      'not found': leaseEvent({ kind: 'not-found' }),
      conflict: leaseEvent({ kind: 'conflict' }),
      failed: leaseEvent({ kind: 'failed' }),
    },
    nameOf: ({ renewal: { state, held, base, updateTries, readAfterConflict, isSecondRound } }) =>
      [state, held !== null, base?.metadata.ownerReferences?.length, updateTries, readAfterConflict, isSecondRound].join(' '),
    refuses: ({ renewal: { state } }, event) => (event === 'due') !== (state === 'idle'),
    problems: ({ renewal, step, writes }) => [
      ...((renewal.state === 'idle') === (step === null || step.call === null) ? [] : ['a call is under way in idle, or none in another state']),
      ...(renewal.updateTries <= 5 ? [] : [`${renewal.updateTries} tries`]),
      ...(writes <= 10 ? [] : [`${writes} writes in one cycle`]),
      ...(step?.call != null && 'lease' in step.call && (step.call.lease.metadata.ownerReferences ?? []).length === 0 && renewal.state !== 'update'
        ? ['a lease without owner is made']
        : []),
      ...(step?.call != null && step.call.after > 7 * second ? ['a wait beyond the longest'] : []),
    ],
  },
  firstWord,
  ['idle', 'node-update', 'update', 'read', 'node-create', 'create'],
);

grid<StatusReport>(
  "report of the node's status",
  {
    starts: { new: () => newStatusReport(300 * second) },
    events: Object.fromEntries(
      Object.entries<(report: StatusReport) => unknown>({
        due: (report) => startReport(report),
        changed: (report) => statusComputed(report, true, () => 0.9, start),
        unchanged: (report) => statusComputed(report, false, () => 0.1, start + second),
        'unchanged, the last report is old': (report) => statusComputed(report, false, () => 0.1, start + 1_000 * second),
        sent: (report) => statusSent(report, start),
        failed: (report) => reportFailed(report),
      }).map(([name, act]) => [
        name,
        (report: StatusReport) => {
          act(report);
          return report;
        },
      ]),
    ),
    nameOf: ({ state, tries, lastReportAt, delay }) => `${state} ${tries} ${lastReportAt} ${delay}`,
    refuses: ({ state }, event) => (event === 'due' ? state !== 'idle' : event === 'sent' ? state !== 'patching' : event === 'failed' ? state === 'idle' : state !== 'computing'),
    problems: (after, before, event) => [
      ...(after.tries <= 5 ? [] : [`${after.tries} tries`]),
      ...(event === 'sent' || after.lastReportAt === before.lastReportAt ? [] : ['a report counts that was not sent']),
      ...(Math.abs(after.delay) <= after.reportFrequency / 2 ? [] : ['a delay of more than half of the frequency']),
    ],
  },
  firstWord,
  ['idle', 'computing', 'patching'],
);

interface EnsuringAt {
  readonly run: EnsureImageRun;
  readonly backoff: ImagePullBackoff;
  readonly now: number;
  readonly intents: number;
}

function beginning(pullPolicy: string, image = 'busybox'): () => EnsuringAt {
  return () => ({ run: beginEnsureImage({ podUid: 'u', image, pullPolicy }).run, backoff: newImagePullBackoff(), now: start, intents: 0 });
}

const replies: Readonly<Record<string, EnsureImageReply>> = {
  present: { kind: 'present', imageId: 'sha256:a' },
  absent: { kind: 'absent' },
  'may use': { kind: 'records', mustPull: false },
  'must pull': { kind: 'records', mustPull: true },
  credentials: { kind: 'credentials', credentials: [] },
  recorded: { kind: 'recorded' },
  pulled: { kind: 'pulled', imageRef: 'sha256:a', sizeBytes: 1, used: null, took: 1, waited: 2 },
  failed: { kind: 'failed', message: 'no' },
};
const fitting: Readonly<Record<EnsureImageStep['kind'], readonly string[]>> = {
  inspect: ['present', 'absent', 'failed'],
  'check-records': ['may use', 'must pull', 'failed'],
  'look-up-credentials': ['credentials', 'failed'],
  // Any answer but a failure says that it was written.
  'record-intent': Object.keys(replies),
  pull: ['pulled', 'failed'],
  'record-pulled': Object.keys(replies),
  'record-failed': Object.keys(replies),
  done: [],
};
const concluded = new Set(['record-pulled', 'record-failed']);

grid<EnsuringAt>(
  "a container's image",
  {
    starts: { Always: beginning('Always'), IfNotPresent: beginning('IfNotPresent'), Never: beginning('Never'), 'no name': beginning('Always', 'A B') },
    events: {
      ...Object.fromEntries(
        Object.entries(replies).map(([name, reply]) => [
          name,
          (at: EnsuringAt) => {
            const { run } = advanceEnsureImage(at.run, reply, at.backoff, at.now);
            const begun = at.run.step.kind === 'record-intent' && reply.kind !== 'failed' ? 1 : 0;
            return { ...at, run, intents: at.intents + begun - (concluded.has(run.step.kind) ? 1 : 0) };
          },
        ]),
      ),
      'another run, soon': (at) => ({ ...at, run: beginEnsureImage(at.run.request).run, now: at.now + second, intents: 0 }),
    },
    nameOf: ({ run: { request, step, outcome }, backoff, intents }) => `${step.kind} ${request.pullPolicy} ${outcome?.kind} ${Math.min(1, backoff.delays.entries.size)} ${intents}`,
    refuses: ({ run }, event) => event in replies && !fitting[run.step.kind].includes(event),
    problems: ({ run: { request, step }, intents }, before) => [
      ...(request.pullPolicy === 'Never' && ['pull', 'record-intent', 'look-up-credentials'].includes(step.kind) ? ['a pull although the policy is Never'] : []),
      ...(step.kind === 'pull' && before.run.step.kind !== 'record-intent' ? ['a pull without an intent'] : []),
      ...(step.kind === 'done' && intents !== 0 ? ['an intent that is never concluded'] : []),
    ],
  },
  firstWord,
  Object.keys(fitting),
);

const image = (id: string) => ({ id, sizeBytes: 100, pinned: false, firstDetected: start - 9_000 * second, lastUsed: null });
const policy = { highThresholdPercent: 85, lowThresholdPercent: 80, minAge: 120 * second, maxAge: 3_600 * second };

grid<ImageGcRun>(
  'collection of images',
  {
    starts: {
      usual: () => beginImageGc([image('a'), image('b')], policy, 9_000 * second, start),
      'by space alone': () => beginImageGc([image('a'), image('b')], { ...policy, maxAge: 0 }, 9_000 * second, start),
      'under pressure': () => beginUnusedImageRemoval([image('a'), image('b')], policy, start),
      'nothing to remove': () => beginImageGc([], policy, 0, start),
    },
    events: {
      removed: (run) => afterImageRemoval(run, null),
      'not removed': (run) => afterImageRemoval(run, 'in use'),
      'enough space': (run) => afterImageFsMeasurement(run, 1_000n, 900n),
      'too little space': (run) => afterImageFsMeasurement(run, 1_000n, 10n),
      'no capacity': (run) => afterImageFsMeasurement(run, 0n, 0n),
    },
    nameOf: (run) => `${run.phase} ${nextImageGcStep(run).kind} ${run.index} ${run.freedBytes} ${run.failures !== null} ${run.outcome?.error ?? ''}`,
    refuses: (run, event) => nextImageGcStep(run).kind !== (event.endsWith('removed') ? 'remove' : 'measure'),
    problems: (after, before) => [
      ...((after.phase === 'done') === (after.outcome !== null) ? [] : ['over without an outcome, or an outcome before its end']),
      ...(after.freedBytes >= before.freedBytes ? [] : ['what was freed is taken back']),
    ],
  },
  firstWord,
  ['age', 'measure', 'space', 'done'],
);

interface EndingAt {
  readonly run: ShutdownRun;
  readonly gone: ReadonlySet<string>;
  readonly now: number;
  readonly told: readonly string[];
}

const advanced = (at: EndingAt): EndingAt => {
  const step = advanceShutdown(at.run, ({ metadata }) => at.gone.has(metadata.name), at.now);
  return { ...at, run: step.run, told: [...at.told, ...step.kills.map(({ pod }) => pod.metadata.name)] };
};
const endingPod = (name: string, priority: number): Pod => ({ metadata: { name, uid: name }, spec: { containers: [], priority } });
const priorities = shutdownPriorities({ shutdownGracePeriod: 30 * nanosPerSecond, shutdownGracePeriodCriticalPods: 10 * nanosPerSecond, shutdownGracePeriodByPodPriority: [] });

grid<EndingAt>(
  'shutdown of the node',
  {
    starts: { begun: () => ({ run: beginShutdown(groupPods(priorities, [endingPod('a', 0), endingPod('b', 2_000_000_000)])), gone: new Set(), now: start, told: [] }) },
    events: {
      look: advanced,
      'a is gone': (at) => advanced({ ...at, gone: new Set([...at.gone, 'a']) }),
      'b is gone': (at) => advanced({ ...at, gone: new Set([...at.gone, 'b']) }),
      'time is up': (at) => advanced({ ...at, now: at.run.deadline ?? at.now }),
    },
    nameOf: ({ run, gone, told }) => `${run.index} ${run.deadline !== null} ${[...gone].sort().join()} ${told.join()}`,
    problems: ({ run, told }, before) => [
      ...(new Set(told).size === told.length ? [] : ['told twice']),
      ...(run.index >= before.run.index ? [] : ['a group comes back']),
      ...(told.indexOf('b') < 0 || run.index === 1 || run.index === 2 ? [] : ['a later group before its time']),
    ],
  },
  firstWord,
  ['0', '1', '2'],
);

function kill(more: { readonly hook: boolean; readonly inOrder: boolean; readonly grace: number }): () => KillAt {
  return () => {
    const lifecycle = { preStop: { exec: { command: ['true'] } } };
    const pod: Pod = { metadata: { name: 'p', uid: 'u' }, spec: { containers: [{ name: 'c', ...(more.hook ? { lifecycle } : {}) }], terminationGracePeriodSeconds: more.grace } };
    const request = { pod, containerName: 'c', containerId: 'x://c', reason: '', message: null, gracePeriodOverrideSeconds: null, inOrder: more.inOrder } as const;
    const begun = beginContainerKill(request, start);
    if (begun.kind === 'refused') throw new Error(begun.message);
    return { kill: begun.kill, now: start };
  };
}

interface KillAt {
  readonly kill: ContainerKill;
  readonly now: number;
}

const killing =
  (act: (kill: ContainerKill, now: number) => unknown, after = 0) =>
  (at: KillAt): KillAt => {
    act(at.kill, at.now + after);
    return { kill: at.kill, now: at.now + after };
  };
const ranks = ['preStop', 'turn', 'stop', 'done'];

grid<KillAt>(
  'kill of a container',
  {
    starts: Object.fromEntries(
      [true, false].flatMap((hook) => [true, false].flatMap((inOrder) => [0, 3].map((grace) => [`${hook} ${inOrder} ${grace}`, kill({ hook, inOrder, grace })]))),
    ),
    events: {
      'the hook ended': killing((kill, now) => preStopEnded(kill, false, now), 1.5 * second),
      'the hook failed': killing((kill, now) => preStopEnded(kill, true, now)),
      'its turn came': killing((kill, now) => turnCame(kill, now), second),
      'time passes': killing((kill, now) => containerKillTimedOut(kill, now), second),
      'the grace period is over': killing((kill, now) => containerKillTimedOut(kill, now), 4 * second),
      'the timeout is asked for': killing((kill) => stopTimeoutSeconds(kill)),
      stopped: killing((kill) => stopAnswered(kill, null)),
      'not found': killing((kill) => stopAnswered(kill, { ...failure, kind: 'not-found' })),
      'not stopped': killing((kill) => stopAnswered(kill, failure)),
    },
    nameOf: ({ kill: { phase, remainingSeconds, inOrder, error } }) => `${phase} ${remainingSeconds} ${inOrder} ${error}`,
    refuses: ({ kill: { phase } }, event) => (event.includes('stopped') || event === 'not found' || event === 'the timeout is asked for') && phase !== 'stop',
    problems: ({ kill: after }, { kill: before }) => [
      ...(ranks.indexOf(after.phase) >= ranks.indexOf(before.phase) ? [] : ['a phase comes back']),
      ...(after.remainingSeconds <= before.remainingSeconds ? [] : ['the grace period grew']),
      ...(after.phase !== 'stop' || stopTimeoutSeconds(after) >= 1 ? [] : ['a stop without time']),
    ],
  },
  firstWord,
  ranks,
);

interface RelistAt {
  readonly pleg: Pleg;
  readonly cache: PodCache;
  readonly now: number;
}

const listed = (uid: string, state: 'running' | 'exited') => ({ uid, containers: [{ id: `${uid}c`, state }], sandboxes: [{ id: `${uid}s`, state: 'ready' as const }] });
const looking =
  (act: (at: RelistAt, now: number) => unknown) =>
  (at: RelistAt): RelistAt => {
    act(at, at.now + 1);
    return { ...at, now: at.now + 1 };
  };
const rounds: Readonly<Record<string, ReturnType<typeof looking>>> = {
  'a list: nothing': looking(({ pleg, cache }, now) => relisted(pleg, cache, [], now)),
  'a list: a runs': looking(({ pleg, cache }, now) => relisted(pleg, cache, [listed('a', 'running')], now)),
  'a list: a has exited, b runs': looking(({ pleg, cache }, now) => relisted(pleg, cache, [listed('a', 'exited'), listed('b', 'running')], now)),
  'a look: a runs': looking(({ pleg, cache }, now) => podRelisted(pleg, cache, listed('a', 'running'), now)),
  'a look: nothing': looking(({ pleg, cache }, now) => podRelisted(pleg, cache, null, now)),
};
const answers: Readonly<Record<string, ReturnType<typeof looking>>> = Object.fromEntries(
  ['a', 'b'].flatMap((uid) => [
    [`${uid} inspected`, looking(({ pleg, cache }, now) => inspected(pleg, cache, uid, { ...emptyPodStatus(uid), observedAt: now }))],
    [`${uid} vanished`, looking(({ pleg, cache }) => inspected(pleg, cache, uid, null))],
    [`${uid} failed`, looking(({ pleg, cache }, now) => inspectionFailed(pleg, cache, uid, failure, now))],
  ]),
);

grid<RelistAt>(
  'relist',
  {
    starts: { new: () => ({ pleg: newPleg(3), cache: newPodCache(), now: 0 }) },
    events: {
      ...rounds,
      ...answers,
      'a is to be inspected again': looking(({ pleg }) => requestReinspection(pleg, 'a')),
      'events are taken': looking(({ pleg }) => takePlegEvents(pleg)),
    },
    nameOf: ({ pleg }) => {
      const records = [...pleg.records].map(
        ([uid, { delivered, listed: newest, reinspect }]) => `${uid}:${delivered?.containers[0]?.state}:${newest?.containers[0]?.state}:${reinspect}`,
      );
      const awaited = [...pleg.awaited].map(([uid, { kind }]) => `${uid} by ${kind}`);
      return [pleg.awaited.values().next().value?.kind ?? 'idle', awaited.join(), pleg.events.length, records.sort().join(' ')].join(' ');
    },
    refuses: ({ pleg }, event) => event in answers && !pleg.awaited.has(event.slice(0, 1)),
    problems: ({ pleg, cache }) => [
      ...(pleg.events.length <= 3 ? [] : ['more events than there is room for']),
      ...[...pleg.awaited.keys()].flatMap((uid) => (pleg.records.has(uid) ? [] : [`${uid} is awaited and gone`])),
      ...[...cache.behind.keys()].flatMap((uid) => (pleg.awaited.has(uid) ? [] : [`${uid} stays behind`])),
      ...[...pleg.records].flatMap(([uid, record]) =>
        !pleg.awaited.has(uid) && !record.reinspect && record.listed !== null && comparePods(uid, record.delivered, record.listed).events.length > 0
          ? [`the change of ${uid} is forgotten`]
          : [],
      ),
      ...([...cache.entries.keys()].some((uid) => !pleg.records.has(uid)) ? ['a status of a pod that is gone is kept'] : []),
    ],
  },
  firstWord,
  ['idle', 'all', 'pod'],
);
