// A watcher's view of a container that can't be started, with times: each reason shows from the end of the sync that failed with it to the
// end of the next failed one, so that none is skipped (spec/pod-lifecycle.md 11.3, 13).
import t from 'tap';
import type { Container } from '../../src/ports/model/container.js';
import type { Pod } from '../../src/ports/model/pod.js';
import type { ContainerStatus } from '../../src/ports/model/pod-status.js';
import { SimCluster } from '../../src/sim/index.js';
import { type PodShape, podOf, second } from './sim-pods.js';

const none = { look: 0, runSandbox: 0, createContainer: 0, startContainer: 0, stop: 0, remove: 0, pull: 0, exec: 0 };

interface Row {
  readonly what: string;
  readonly pod: Pod;
  /** Pulls fail for so many seconds. */
  readonly noPullsUntil?: number;
  /** Seconds of observation. */
  readonly until: number;
  /** Of container `c`: seconds since the manifest was put, and what its status says from then on. */
  readonly seen: readonly string[];
  /** The same with a runtime without events, relisted every second, where it differs. */
  readonly looked?: readonly string[];
}

const withScript = (c: string, more: PodShape = {}): Pod => podOf('p', { uid: 'p', ...more, containers: { c } });

/** With a second container, whose image doesn't exist. */
function beside(c: string): Pod {
  const pod = podOf('p', { uid: 'p', containers: { b: 'run=forever', c } });
  return { ...pod, spec: { ...pod.spec, containers: pod.spec.containers.map((container) => (container.name === 'b' ? { ...container, image: 'r.invalid/none:1' } : container)) } };
}

function changed(change: Partial<Container>): Pod {
  const pod = podOf('p', { uid: 'p' });
  return { ...pod, spec: { ...pod.spec, containers: pod.spec.containers.map((container) => ({ ...container, ...change })) } };
}

const rows: readonly Row[] = [
  {
    what: 'an image that can not be pulled: each failed pull, then the wait for the next',
    pod: podOf('p', { uid: 'p', image: 'other:1' }),
    noPullsUntil: 1000,
    until: 60,
    seen: ['0 ContainerCreating', '0 ErrImagePull', '0 ImagePullBackOff', '10 ErrImagePull', '22.4 ImagePullBackOff', '30 ErrImagePull', '44.1 ImagePullBackOff'],
  },
  {
    what: 'an image that can be pulled after a while',
    pod: podOf('p', { uid: 'p', image: 'other:1' }),
    noPullsUntil: 15,
    until: 60,
    seen: ['0 ContainerCreating', '0 ErrImagePull', '0 ImagePullBackOff', '10 ErrImagePull', '22.4 ImagePullBackOff', '30.7 running'],
  },
  { what: 'an image that must not be pulled', pod: changed({ image: 'other:1', imagePullPolicy: 'Never' }), until: 60, seen: ['0 ContainerCreating', '0 ErrImageNeverPull'] },
  { what: 'an image that has no such name', pod: changed({ image: 'No_Such:::name' }), until: 60, seen: ['0 ContainerCreating', '0 InvalidImageName'] },
  {
    what: 'a container that must not run as root',
    pod: changed({ securityContext: { runAsNonRoot: true } }),
    until: 60,
    seen: ['0 ContainerCreating', '0 CreateContainerConfigError'],
  },
  { what: 'a container that can not be made', pod: withScript('fail-create=no'), until: 60, seen: ['0 ContainerCreating', '0 CreateContainerError'] },
  {
    what: 'a container that can not be started',
    pod: withScript('fail-start=no'),
    until: 60,
    seen: [
      '0 ContainerCreating',
      '0 RunContainerError',
      '0 RunContainerError after 128',
      '1 CrashLoopBackOff after 128',
      '10 RunContainerError after 128',
      '11 CrashLoopBackOff after 128',
      '30 RunContainerError after 128',
      '31 CrashLoopBackOff after 128',
    ],
  },
  {
    what: 'a container that can be started at the third time',
    pod: withScript('fail-start=no; fail-start=no; run=forever'),
    until: 60,
    seen: ['0 ContainerCreating', '0 RunContainerError', '0 RunContainerError after 128', '1 CrashLoopBackOff after 128', '10 running after 128'],
  },
  {
    what: 'a container that can not be started, and is not to run again',
    pod: withScript('fail-start=no', { policy: 'Never' }),
    until: 60,
    seen: ['0 ContainerCreating', '0 RunContainerError', '0 ended 128'],
  },
  {
    what: 'a container that ran once, and then can not be made',
    pod: withScript('run=2s,exit=3; fail-create=no'),
    until: 60,
    seen: [
      '0 ContainerCreating',
      '0 running',
      '2 ended 3',
      '2 CreateContainerError after 3',
      '41.5 CrashLoopBackOff after 3',
      '42 CreateContainerError after 3',
      '55.1 CrashLoopBackOff after 3',
    ],
    looked: ['0 ContainerCreating', '0 running', '3 ended 3', '3 CreateContainerError after 3', '55.6 CrashLoopBackOff after 3'],
  },
  {
    what: 'a container that ran once, and then can not be started',
    pod: withScript('run=2s,exit=3; fail-start=no; run=forever'),
    until: 60,
    seen: ['0 ContainerCreating', '0 running', '2 ended 3', '2 RunContainerError after 3', '3 CrashLoopBackOff after 128', '12 running after 128'],
    looked: ['0 ContainerCreating', '0 running', '3 ended 3', '3 RunContainerError after 3', '4 CrashLoopBackOff after 128', '13 running after 128'],
  },
  {
    what: 'a container that ends again and again',
    pod: withScript('run=2s,exit=1'),
    until: 60,
    seen: [
      '0 ContainerCreating',
      '0 running',
      '2 ended 1',
      '2 running after 1',
      '4 CrashLoopBackOff after 1',
      '14 running after 1',
      '16 CrashLoopBackOff after 1',
      '36 running after 1',
      '38 CrashLoopBackOff after 1',
    ],
    looked: [
      '0 ContainerCreating',
      '0 running',
      '3 ended 1',
      '3 running after 1',
      '6 CrashLoopBackOff after 1',
      '15 running after 1',
      '18 CrashLoopBackOff after 1',
      '37 running after 1',
      '40 CrashLoopBackOff after 1',
    ],
  },
  {
    what: 'the same beside one that can’t be started',
    pod: beside('run=2s,exit=1'),
    until: 60,
    seen: [
      '0 ContainerCreating',
      '0 running',
      '2 ended 1',
      '2 running after 1',
      '4 ended 1',
      '4 CrashLoopBackOff after 1',
      '14 running after 1',
      '16 ended 1',
      '16 CrashLoopBackOff after 1',
      '36 running after 1',
      '38 ended 1',
      '38 CrashLoopBackOff after 1',
    ],
    looked: [
      '0 ContainerCreating',
      '0 running',
      '3 ended 1',
      '3 running after 1',
      '6 ended 1',
      '6 CrashLoopBackOff after 1',
      '15 running after 1',
      '18 ended 1',
      '18 CrashLoopBackOff after 1',
      '37 running after 1',
      '40 ended 1',
      '40 CrashLoopBackOff after 1',
    ],
  },
];

function saidOf({ state, lastState }: ContainerStatus): string {
  const last = lastState?.terminated === undefined ? '' : ` after ${lastState.terminated.exitCode}`;
  if (state?.running !== undefined) return `running${last}`;
  if (state?.terminated !== undefined) return `ended ${state.terminated.exitCode}`;
  return `${state?.waiting?.reason ?? '-'}${last}`;
}

function seenOf({ pod, noPullsUntil = 0, until }: Row, runtimeSendsEvents: boolean): string[] {
  const seen: string[] = [];
  let last = '';
  let putAt = 0;
  const cluster: SimCluster = new SimCluster({
    seed: 5,
    runtimeSendsEvents,
    faults: [{ operation: 'images.pull', trigger: { untilMicros: noPullsUntil * second }, action: { kind: 'error', moment: 'before', error: 'unknown', message: 'no' } }],
    runtime: { latencies: none, images: [{ reference: 'busybox', sizeBytes: 1_000_000, present: true }] },
    observe: (_name, _input, { agent }) => {
      const status = agent.statuses.get('p')?.status.containerStatuses?.find(({ name }) => name === 'c');
      const said = status === undefined ? '' : saidOf(status);
      if (said !== last) seen.push(`${Math.round((cluster.now - putAt) / (second / 10)) / 10} ${said}`);
      last = said;
    },
  });
  putAt = cluster.now;
  cluster.node().put('p.yaml', pod);
  cluster.run(until * second);
  return seen;
}

for (const row of rows) {
  t.test(row.what, async (t) => {
    t.strictSame(seenOf(row, true), row.seen);
    t.strictSame(seenOf(row, false), row.looked ?? row.seen, 'looked at every second');
  });
}
