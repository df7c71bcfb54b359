// Lifecycle hooks on a node in virtual time: preStop takes its time from the grace period, postStart delays its pod and may end its container.
import type { Container, Lifecycle } from '../../src/ports/model/container.js';
import type { Pod } from '../../src/ports/model/pod.js';
import { type Stage, scenario } from './scenario.js';
import { minute, type PodShape, podOf, second } from './sim-pods.js';

function hooked(lifecycle: Lifecycle, script: string, shape: PodShape = {}): Pod {
  const pod = podOf('a', { uid: 'a', grace: 10, ...shape, containers: { c: script, ...shape.containers } });
  const containers = pod.spec.containers.map((container): Container => (container.name === 'c' ? { ...container, lifecycle } : container));
  return { ...pod, spec: { ...pod.spec, containers } };
}

const exec = { exec: { command: ['bye', 'now'] } };

/** Removes the pod and returns how long its container took to end, in seconds. */
function secondsToEnd(stage: Stage): number {
  const { node } = stage;
  const removedAt = stage.cluster.now;
  node.remove('a.yaml');
  let endedAt = 0;
  stage.until(
    'the container is down',
    () => {
      for (const { config, finishedAt } of node.containers('a')) if (config.metadata.name === 'c' && finishedAt !== null) endedAt = finishedAt;
      return endedAt > 0;
    },
    5 * minute,
  );
  stage.untilGone('a', 5 * minute);
  return (endedAt - removedAt) / second;
}

const preStops: readonly (readonly [what: string, lifecycle: Lifecycle, script: string, least: number, most: number, failed: boolean])[] = [
  ['a quick hook costs nothing', { preStop: exec }, 'term=0s', 0, 1, false],
  ['a hook and what is left of the grace', { preStop: exec }, 'exec=4s,ignore-term', 9.5, 11, false],
  ['a hook that outlives the grace is left behind', { preStop: exec }, 'exec=10m,ignore-term', 12, 13, false],
  ['a hook that fails', { preStop: exec }, 'exec=1s,exec-exit=1,term=1s', 2, 3, true],
  ['a sleep', { preStop: { sleep: { seconds: 3 } } }, 'term=1s', 4, 5, false],
  ['a sleep of no time', { preStop: { sleep: { seconds: 0 } } }, 'term=1s', 1, 2, false],
  ['a sleep that takes all of the grace', { preStop: { sleep: { seconds: 10 } } }, 'ignore-term', 12, 13, false],
  ['HTTP: any answer will do', { preStop: { httpGet: { port: 80 } } }, 'healthy=1h,term=0s', 0, 1, false],
  ['HTTP: nobody listens', { preStop: { httpGet: { port: 80 } } }, 'listen=81,term=0s', 0, 1, true],
  ['a handler that hooks do not have', { preStop: { tcpSocket: { port: 80 } } }, 'term=0s', 0, 1, true],
];

for (const [what, lifecycle, script, least, most, failed] of preStops) {
  scenario(`preStop: ${what}`, {}, (stage) => {
    const { t, node } = stage;
    node.put('a.yaml', hooked(lifecycle, script));
    stage.untilPhase('a', 'Running', 10 * second);
    stage.run(5 * second);
    const took = secondsToEnd(stage);
    t.ok(took >= least && took <= most, `down after ${took} s`);
    const events = node.events('a').map(({ record: { type, reason, message } }) => `${type} ${reason} ${message}`);
    const [killing, ...after] = events.slice(events.indexOf('Normal Killing Stopping container c'));
    t.equal(killing, 'Normal Killing Stopping container c');
    t.strictSame(after, failed ? ['Warning FailedPreStopHook PreStopHook failed'] : []);
  });
}

scenario('preStop runs when a changed container is replaced', {}, (stage) => {
  const { t, node } = stage;
  node.put('a.yaml', hooked({ preStop: exec }, 'exec=2s,term=0s'));
  stage.untilPhase('a', 'Running', 10 * second);
  node.put('a.yaml', hooked({ preStop: exec }, 'exec=2s,term=0s', { image: 'busybox:2' }));
  const took = stage.until('the new one runs', () => node.status('a')?.containerStatuses?.[0]?.restartCount === 1, minute);
  t.ok(took > 2 * second, `after ${took / second} s`);
  t.equal(node.model.performed.get('containers.execSync'), 1);
});

scenario('postStart holds up those after it, and its end lets them start', {}, (stage) => {
  const { t, node } = stage;
  node.put('a.yaml', hooked({ postStart: exec }, 'exec=5s', { containers: { d: 'run=forever' } }));
  stage.until('the first one runs', () => stage.running('a').length === 1, 10 * second);
  stage.run(3 * second);
  t.equal(stage.running('a').length, 1);
  stage.until('the second one runs', () => stage.running('a').length === 2, 10 * second);
  stage.run(5 * second);
  t.match(node.status('a'), { phase: 'Running', containerStatuses: [{ restartCount: 0, ready: true }, { ready: true }] });
});

scenario('a postStart that sleeps, and a pod that is removed meanwhile', {}, (stage) => {
  const { t, node } = stage;
  node.put('a.yaml', hooked({ postStart: { sleep: { seconds: 600 } } }, 'term=0s', { grace: 600, containers: { d: 'run=forever' } }));
  stage.until('the first one runs', () => stage.running('a').length === 1, 10 * second);
  stage.run(5 * second);
  const took = secondsToEnd(stage);
  t.ok(took < 2, `down after ${took} s`);
});

scenario('a postStart that fails kills its container, and the next attempt backs off', {}, (stage) => {
  const { t, node } = stage;
  node.put('a.yaml', hooked({ postStart: exec }, 'exec-exit=1,term=1s; exec-exit=1,term=1s; run=forever'));
  const failure = 'PostStartHookError Exec lifecycle hook ([bye now]) for Container "c" in Pod "a-n0_default(a)" failed - error: ';
  stage.until('it waits', () => (stage.waits.get('a/c') ?? []).some((text) => text.startsWith('PostStartHookError')), minute);
  t.match(
    stage.waits.get('a/c')?.find((text) => text.startsWith('PostStartHookError')),
    `${failure}command 'bye now' exited with 1: bye now: failed\n, message: "bye now: failed\\n"`.replace(/a-n0/, node.pod('a')?.metadata.name ?? ''),
  );
  const story = node.events('a').map(({ record: { reason, message } }) => `${reason}: ${message}`);
  t.ok(story.includes('FailedPostStartHook: PostStartHook failed') && story.includes('Killing: FailedPostStartHook'), story.join('\n'));
  stage.until('the third attempt runs on', () => node.status('a')?.containerStatuses?.[0]?.ready === true, 2 * minute);
  t.equal(node.status('a')?.containerStatuses?.[0]?.restartCount, 2);
});
