// Rows of container lifecycles: a pod, actions on it, and when each of its containers starts and ends. `name+` starts, `name-N` ends
// with exit code N; the number before is seconds since the manifest was put, to a tenth. Probes that begin when their kubelet has run for
// a while are up to a tenth of a second later than their whole periods.
import type { Container, Lifecycle, Probe } from '../../src/ports/model/container.js';
import type { Pod } from '../../src/ports/model/pod.js';
import { type PodShape, podOf } from './sim-pods.js';

export interface LifecycleRow {
  readonly what: string;
  readonly pod: Pod;
  /** Seconds after which the manifest is removed; absent: it stays. */
  readonly removeAt?: number;
  /** How long it is observed, in seconds. */
  readonly until: number;
  readonly trace: string;
  /** The last phase that was seen. */
  readonly phase: string;
}

type Changes = Readonly<Record<string, Partial<Container>>>;

/** A pod called `p` whose containers are changed by name. */
function podOfShape(shape: PodShape, changes: Changes = {}): Pod {
  const made = podOf('p', { uid: 'p', ...shape });
  const changed = (container: Container): Container => ({ ...container, ...changes[container.name] });
  const { containers, initContainers } = made.spec;
  return { ...made, spec: { ...made.spec, containers: containers.map(changed), ...(initContainers === undefined ? {} : { initContainers: initContainers.map(changed) }) } };
}

const startup = (failureThreshold = 30): Probe => ({ exec: { command: ['up'] }, periodSeconds: 1, failureThreshold });
const preStop = (seconds: number): Lifecycle => ({ preStop: { sleep: { seconds } } });
const postStart = (seconds: number): Lifecycle => ({ postStart: { sleep: { seconds } } });
const exitRule = (operator: 'In' | 'NotIn', ...values: number[]) => ({ action: 'Restart' as const, exitCodes: { operator, values } });

const regular: readonly LifecycleRow[] = [
  {
    what: 'Always: a container that ends starts again at once, then after 10, 20, 40 s',
    pod: podOfShape({ containers: { c: 'run=2s' } }),
    until: 85,
    trace: '0 c+, 2 c-0, 2 c+, 4 c-0, 14 c+, 16 c-0, 36 c+, 38 c-0, 78 c+, 80 c-0',
    phase: 'Running',
  },
  {
    what: 'OnFailure: a success is left alone, a failure comes again',
    pod: podOfShape({ policy: 'OnFailure', containers: { a: 'run=3s', b: 'run=1s,exit=2; run=4s' } }),
    until: 60,
    trace: '0 a+, 0 b+, 1 b-2, 1 b+, 3 a-0, 5 b-0',
    phase: 'Succeeded',
  },
  {
    what: 'Never: nothing starts again',
    pod: podOfShape({ policy: 'Never', containers: { a: 'run=3s', b: 'run=1s,exit=2' } }),
    until: 60,
    trace: '0 a+, 0 b+, 1 b-2, 3 a-0',
    phase: 'Failed',
  },
  { what: 'Never: all succeed', pod: podOfShape({ policy: 'Never', containers: { a: 'run=3s', b: 'run=1s' } }), until: 60, trace: '0 a+, 0 b+, 1 b-0, 3 a-0', phase: 'Succeeded' },
  {
    what: 'Always: a failing one does not disturb the others',
    pod: podOfShape({ containers: { a: 'run=forever', b: 'run=1s,exit=1' } }),
    until: 20,
    trace: '0 a+, 0 b+, 1 b-1, 1 b+, 2 b-1, 12 b+, 13 b-1',
    phase: 'Running',
  },
  {
    what: 'a container of its own policy in a pod that is never restarted',
    pod: podOfShape({ policy: 'Never', containers: { a: 'run=1s,exit=1; run=forever', b: 'run=2s' } }, { a: { restartPolicy: 'Always' } }),
    until: 30,
    trace: '0 a+, 0 b+, 1 a-1, 1 a+, 2 b-0',
    phase: 'Running',
  },
  {
    what: 'a restart rule for one exit code',
    pod: podOfShape(
      { policy: 'Never', containers: { a: 'run=1s,exit=42; run=1s,exit=7', b: 'run=20s' } },
      { a: { restartPolicy: 'Never', restartPolicyRules: [exitRule('In', 42)] } },
    ),
    until: 30,
    trace: '0 a+, 0 b+, 1 a-42, 1 a+, 2 a-7, 20 b-0',
    phase: 'Failed',
  },
  {
    what: 'a restart rule for all but one exit code',
    pod: podOfShape({ policy: 'Never', containers: { a: 'run=1s,exit=1; run=1s,exit=3' } }, { a: { restartPolicy: 'Never', restartPolicyRules: [exitRule('NotIn', 3)] } }),
    until: 30,
    trace: '0 a+, 1 a-1, 1 a+, 2 a-3',
    phase: 'Failed',
  },
  {
    what: 'a start that fails comes again',
    pod: podOfShape({ containers: { a: 'fail-start=no; run=forever', b: 'run=forever' } }),
    until: 30,
    trace: '0 a-128, 0 b+, 0 a+',
    phase: 'Running',
  },
  {
    what: 'liveness kills, and the restart follows',
    pod: podOfShape({ containers: { a: 'healthy=0s-5s,term=1s; run=forever' } }, { a: { livenessProbe: { exec: { command: ['up'] }, periodSeconds: 1, failureThreshold: 2 } } }),
    until: 60,
    trace: '0 a+, 7.1 a-143, 7.1 a+',
    phase: 'Running',
  },
  {
    what: 'a startup probe that never succeeds kills',
    pod: podOfShape({ containers: { a: 'healthy=1h,term=0s; run=forever' } }, { a: { startupProbe: startup(3) } }),
    until: 20,
    trace: '0 a+, 3.1 a-143, 3.1 a+',
    phase: 'Running',
  },
];

const init: readonly LifecycleRow[] = [
  {
    what: 'init containers one after the other, then the others together',
    pod: podOfShape({ init: { i: 'run=2s', j: 'run=3s' }, containers: { a: 'run=forever', b: 'run=forever' } }),
    until: 20,
    trace: '0 i+, 2 i-0, 2 j+, 5 j-0, 5 a+, 5 b+',
    phase: 'Running',
  },
  {
    what: 'Always: an init container that fails starts again, those before it do not',
    pod: podOfShape({ init: { i: 'run=1s', j: 'run=1s,exit=1; run=1s' }, containers: { a: 'run=forever' } }),
    until: 30,
    trace: '0 i+, 1 i-0, 1 j+, 2 j-1, 2 j+, 3 j-0, 3 a+',
    phase: 'Running',
  },
  {
    what: 'OnFailure: the same',
    pod: podOfShape({ policy: 'OnFailure', init: { i: 'run=1s,exit=1; run=1s' }, containers: { a: 'run=5s' } }),
    until: 60,
    trace: '0 i+, 1 i-1, 1 i+, 2 i-0, 2 a+, 7 a-0',
    phase: 'Succeeded',
  },
  {
    what: 'Never: an init container that fails ends the pod',
    pod: podOfShape({ policy: 'Never', init: { i: 'run=1s', j: 'run=1s,exit=1' }, containers: { a: 'run=5s' } }),
    until: 60,
    trace: '0 i+, 1 i-0, 1 j+, 2 j-1',
    phase: 'Failed',
  },
  {
    what: 'Always: an init container that fails for good backs off',
    pod: podOfShape({ init: { i: 'run=1s,exit=1' }, containers: { a: 'run=5s' } }),
    until: 40,
    trace: '0 i+, 1 i-1, 1 i+, 2 i-1, 12 i+, 13 i-1, 33 i+, 34 i-1',
    phase: 'Pending',
  },
  {
    what: 'an init container with a rule for its exit code',
    pod: podOfShape(
      { policy: 'Never', init: { i: 'run=1s,exit=42; run=1s' }, containers: { a: 'run=2s' } },
      { i: { restartPolicy: 'Never', restartPolicyRules: [exitRule('In', 42)] } },
    ),
    until: 30,
    trace: '0 i+, 1 i-42, 1 i+, 2 i-0, 2 a+, 4 a-0',
    phase: 'Succeeded',
  },
  {
    what: 'a container that crashes does not bring its init containers back',
    pod: podOfShape({ init: { i: 'run=1s' }, containers: { a: 'run=1s,exit=1; run=forever' } }),
    until: 30,
    trace: '0 i+, 1 i-0, 1 a+, 2 a-1, 2 a+',
    phase: 'Running',
  },
];

const sidecars: readonly LifecycleRow[] = [
  {
    what: 'sidecars start in order, before the init containers and the others',
    pod: podOfShape({ sidecars: { s: 'run=forever', t: 'run=forever' }, init: { i: 'run=2s' }, containers: { a: 'run=forever' } }),
    until: 20,
    trace: '0 s+, 0 t+, 0 i+, 2 i-0, 2 a+',
    phase: 'Running',
  },
  {
    what: 'a sidecar is waited for until its startup probe succeeds',
    pod: podOfShape({ sidecars: { s: 'healthy=3s' }, init: { i: 'run=1s' }, containers: { a: 'run=forever' } }, { s: { startupProbe: startup() } }),
    until: 20,
    trace: '0 s+, 3 i+, 4 i-0, 4 a+',
    phase: 'Running',
  },
  {
    what: 'a sidecar is not waited for beyond its start',
    pod: podOfShape({ sidecars: { s: 'healthy=30s' }, containers: { a: 'run=forever' } }, { s: { readinessProbe: startup() } }),
    until: 20,
    trace: '0 s+, 0 a+',
    phase: 'Running',
  },
  {
    what: 'Never: a sidecar that ends starts again all the same',
    pod: podOfShape({ policy: 'Never', sidecars: { s: 'run=2s,exit=1' }, containers: { a: 'run=15s' } }),
    until: 60,
    trace: '0 s+, 0 a+, 2 s-1, 2 s+, 4 s-1, 14 s+, 15 a-0, 15 s-143',
    phase: 'Succeeded',
  },
  {
    what: 'OnFailure: a sidecar that succeeds starts again',
    pod: podOfShape({ policy: 'OnFailure', sidecars: { s: 'run=2s' }, containers: { a: 'run=8s' } }),
    until: 60,
    trace: '0 s+, 0 a+, 2 s-0, 2 s+, 4 s-0, 8 a-0',
    phase: 'Succeeded',
  },
  {
    what: 'sidecars end when the others have, in reverse order',
    pod: podOfShape({ policy: 'Never', sidecars: { s: 'term=1s', t: 'term=2s' }, containers: { a: 'run=5s' } }),
    until: 60,
    trace: '0 s+, 0 t+, 0 a+, 5 a-0, 7 t-143, 8 s-143',
    phase: 'Succeeded',
  },
  {
    what: 'the exit code of a sidecar does not fail its pod',
    pod: podOfShape({ policy: 'Never', sidecars: { s: 'term=1s,term-exit=9' }, containers: { a: 'run=5s' } }),
    until: 60,
    trace: '0 s+, 0 a+, 5 a-0, 6 s-9',
    phase: 'Succeeded',
  },
  {
    what: 'a sidecar whose startup probe fails holds up the rest and comes again',
    pod: podOfShape({ sidecars: { s: 'healthy=1h,term=0s; run=forever' }, containers: { a: 'run=forever' } }, { s: { startupProbe: startup(3) } }),
    until: 30,
    trace: '0 s+, 3 s-143, 3 s+, 4 a+',
    phase: 'Running',
  },
  {
    what: 'a sidecar that crashes while an init container runs is started again',
    pod: podOfShape({ sidecars: { s: 'run=1s,exit=1; run=forever' }, init: { i: 'run=5s' }, containers: { a: 'run=forever' } }),
    until: 30,
    trace: '0 s+, 0 i+, 1 s-1, 1 s+, 5 i-0, 5 a+',
    phase: 'Running',
  },
  {
    what: 'Never: a failing init container ends the pod and its sidecars',
    pod: podOfShape({ policy: 'Never', sidecars: { s: 'term=1s' }, init: { i: 'run=2s,exit=1' }, containers: { a: 'run=5s' } }),
    until: 60,
    trace: '0 s+, 0 i+, 2 i-1, 3 s-143',
    phase: 'Failed',
  },
];

const deleted: readonly LifecycleRow[] = [
  {
    what: 'deleted: all at once',
    pod: podOfShape({ grace: 10, containers: { a: 'term=1s', b: 'term=3s' } }),
    removeAt: 5,
    until: 60,
    trace: '0 a+, 0 b+, 6 a-143, 8 b-143',
    phase: 'Running',
  },
  {
    what: 'deleted: killed when the grace is over',
    pod: podOfShape({ grace: 4, containers: { a: 'ignore-term', b: 'term=1s' } }),
    removeAt: 5,
    until: 60,
    trace: '0 a+, 0 b+, 6 b-143, 9 a-137',
    phase: 'Running',
  },
  {
    what: 'deleted: sidecars after the others, in reverse order',
    pod: podOfShape({ grace: 30, sidecars: { s: 'term=1s', t: 'term=2s' }, containers: { a: 'term=3s' } }),
    removeAt: 5,
    until: 60,
    trace: '0 s+, 0 t+, 0 a+, 8 a-143, 10 t-143, 11 s-143',
    phase: 'Running',
  },
  {
    what: 'deleted: sidecars share what is left of the grace',
    pod: podOfShape({ grace: 5, sidecars: { s: 'ignore-term', t: 'term=1s' }, containers: { a: 'term=3s' } }),
    removeAt: 5,
    until: 60,
    trace: '0 s+, 0 t+, 0 a+, 8 a-143, 9 t-143, 11 s-137',
    phase: 'Running',
  },
  {
    what: 'deleted: a container that ignores the signal leaves the sidecars little',
    pod: podOfShape({ grace: 4, sidecars: { s: 'ignore-term', t: 'ignore-term' }, containers: { a: 'ignore-term' } }),
    removeAt: 5,
    until: 60,
    trace: '0 s+, 0 t+, 0 a+, 9 a-137, 11 s-137, 11 t-137',
    phase: 'Running',
  },
  {
    what: 'deleted: preStop before the signal',
    pod: podOfShape({ grace: 10, containers: { a: 'term=1s' } }, { a: { lifecycle: preStop(3) } }),
    removeAt: 5,
    until: 60,
    trace: '0 a+, 9 a-143',
    phase: 'Running',
  },
  {
    what: 'deleted: preStop that takes the whole grace leaves two seconds',
    pod: podOfShape({ grace: 5, containers: { a: 'ignore-term' } }, { a: { lifecycle: preStop(5) } }),
    removeAt: 5,
    until: 60,
    trace: '0 a+, 12 a-137',
    phase: 'Running',
  },
  {
    what: 'deleted: preStop of a sidecar runs at once, its signal waits for the others',
    pod: podOfShape({ grace: 30, sidecars: { s: 'term=1s' }, containers: { a: 'term=6s' } }, { s: { lifecycle: preStop(2) } }),
    removeAt: 5,
    until: 60,
    trace: '0 s+, 0 a+, 11 a-143, 12 s-143',
    phase: 'Running',
  },
  {
    what: 'deleted while an init container runs',
    pod: podOfShape({ grace: 10, init: { i: 'term=2s' }, containers: { a: 'run=forever' } }),
    removeAt: 3,
    until: 60,
    trace: '0 i+, 5 i-143',
    phase: 'Pending',
  },
  {
    what: 'deleted while a sidecar is waited for',
    pod: podOfShape({ grace: 10, sidecars: { s: 'healthy=1h,term=1s' }, containers: { a: 'run=forever' } }, { s: { startupProbe: startup(600) } }),
    removeAt: 3,
    until: 60,
    trace: '0 s+, 4 s-143',
    phase: 'Pending',
  },
  {
    what: 'deleted while postStart runs',
    pod: podOfShape({ grace: 20, containers: { a: 'term=1s', b: 'run=forever' } }, { a: { lifecycle: postStart(20) } }),
    removeAt: 3,
    until: 60,
    trace: '0 a+, 4 a-143',
    phase: 'Pending',
  },
  {
    what: 'deleted while a container waits to be restarted',
    pod: podOfShape({ grace: 10, containers: { a: 'run=1s,exit=1', b: 'term=1s' } }),
    removeAt: 6,
    until: 60,
    trace: '0 a+, 0 b+, 1 a-1, 1 a+, 2 a-1, 7 b-143',
    phase: 'Running',
  },
];

const hooksAndDeadlines: readonly LifecycleRow[] = [
  {
    what: 'postStart holds up the containers after it',
    pod: podOfShape({ containers: { a: 'run=forever', b: 'run=forever' } }, { a: { lifecycle: postStart(4) } }),
    until: 20,
    trace: '0 a+, 4 b+',
    phase: 'Running',
  },
  {
    what: 'a deadline ends the pod',
    pod: podOfShape({ grace: 5, containers: { a: 'term=1s' }, spec: { activeDeadlineSeconds: 10 } }),
    until: 60,
    trace: '0 a+, 11 a-143',
    phase: 'Failed',
  },
  {
    what: 'a deadline in the middle of the init containers',
    pod: podOfShape({ grace: 5, init: { i: 'term=1s' }, containers: { a: 'term=1s' }, spec: { activeDeadlineSeconds: 6 } }),
    until: 60,
    trace: '0 i+, 7 i-143',
    phase: 'Failed',
  },
  {
    what: 'a deadline of a crash loop',
    pod: podOfShape({ grace: 5, containers: { a: 'run=1s,exit=1' }, spec: { activeDeadlineSeconds: 20 } }),
    until: 60,
    trace: '0 a+, 1 a-1, 1 a+, 2 a-1, 12 a+, 13 a-1',
    phase: 'Failed',
  },
  {
    what: 'a deadline with sidecars',
    pod: podOfShape({ grace: 8, sidecars: { s: 'term=1s' }, containers: { a: 'term=2s' }, spec: { activeDeadlineSeconds: 10 } }),
    until: 60,
    trace: '0 s+, 0 a+, 12 a-143, 13 s-143',
    phase: 'Failed',
  },
];

export const lifecycleRows: readonly LifecycleRow[] = [...regular, ...init, ...sidecars, ...deleted, ...hooksAndDeadlines];
