// What people met with sidecars, hooks within the grace, and probes, replayed in virtual time. Each is named by its report. Besides, what
// happens to a pod that asks for kernel parameters that this node does not allow.
import type { Container, Lifecycle, Probe } from '../../src/ports/model/container.js';
import type { Pod } from '../../src/ports/model/pod.js';
import type { FaultRule } from '../../src/sim/index.js';
import { type Stage, scenario } from './scenario.js';
import { minute, podOf, second } from './sim-pods.js';

/** The pod with more said about some of its containers. */
function withFields(pod: Pod, fields: Readonly<Record<string, Partial<Container>>>): Pod {
  const fill = (container: Container): Container => ({ ...container, ...fields[container.name] });
  const { containers, initContainers } = pod.spec;
  return { ...pod, spec: { ...pod.spec, containers: containers.map(fill), ...(initContainers === undefined ? {} : { initContainers: initContainers.map(fill) }) } };
}

const http: Probe = { httpGet: { port: 8080 } };

const statusOf = ({ node }: Stage, name = 'c') => {
  const { containerStatuses = [], initContainerStatuses = [] } = node.status('a') ?? {};
  return [...containerStatuses, ...initContainerStatuses].find((status) => status.name === name);
};
const messages = ({ node }: Stage, reason: string): string[] => node.events('a').flatMap(({ record }) => (record.reason === reason ? [record.message] : []));
const restarts = (stage: Stage): number => statusOf(stage)?.restartCount ?? 0;
/** Every call of the operation, once its pod runs: no answer, until the caller gives up. */
const hanging = (operation: string): FaultRule => ({ operation, trigger: {}, action: { kind: 'hang', moment: 'before' } });

scenario('KB026 containers beside a sidecar with a startup probe start again after a crash, also when the agent was restarted', {}, (stage) => {
  const { t, node } = stage;
  const pod = podOf('a', { uid: 'a', sidecars: { s: 'healthy=3s' }, containers: { c: 'run=40s,exit=1' } });
  node.put('a.yaml', withFields(pod, { s: { startupProbe: { ...http, periodSeconds: 1, failureThreshold: 30 } } }));
  stage.untilPhase('a', 'Running', 20 * second);
  stage.until('the sidecar has started', () => statusOf(stage, 's')?.started === true, 10 * second);
  stage.run(10 * second);
  node.kill();
  stage.run(2 * second);
  node.start();
  stage.until('it starts again', () => restarts(stage) === 1 && statusOf(stage)?.state?.running !== undefined, 2 * minute);
  stage.until('and again', () => restarts(stage) === 2, 3 * minute);
  t.match(statusOf(stage, 's'), { restartCount: 0, started: true });
});

const graces: readonly (readonly [what: string, lifecycle: Lifecycle, script: string, least: number, most: number, failed: boolean])[] = [
  ['a hook that hangs', { preStop: { exec: { command: ['h'] } } }, 'exec=1000s,ignore-term', 12, 12.5, false],
  ['a hook of 8 s', { preStop: { exec: { command: ['h'] } } }, 'exec=8s,ignore-term', 10, 10.5, false],
  ['a hook of 9.9 s', { preStop: { exec: { command: ['h'] } } }, 'exec=9900ms,ignore-term', 11.9, 12.5, false],
  ['a hook that fails at once', { preStop: { exec: { command: ['h'] } } }, 'exec-exit=1,ignore-term', 10, 10.5, true],
  ['an HTTP hook without an answer', { preStop: { httpGet: { port: 80 } } }, 'ignore-term', 12, 12.5, false],
];

for (const [what, lifecycle, script, least, most, failed] of graces) {
  scenario(`KB028 a hook takes from the grace, it does not add to it: ${what}`, {}, (stage) => {
    const { t, node } = stage;
    node.put('a.yaml', withFields(podOf('a', { uid: 'a', grace: 10, containers: { c: script } }), { c: { lifecycle } }));
    stage.untilPhase('a', 'Running', 10 * second);
    if (lifecycle.preStop?.httpGet !== undefined) node.setFaults([hanging('probing.http')]);
    stage.run(5 * second);
    const removedAt = stage.cluster.now;
    node.remove('a.yaml');
    const took = stage.until('its container is down', () => stage.running('a').length === 0, minute) / second;
    t.ok(took >= least && took <= most, `down after ${took} s: the hook's time within the grace, and two seconds at least for the signal`);
    t.strictSame(messages(stage, 'FailedPreStopHook'), failed ? ['PreStopHook failed'] : []);
    t.ok(stage.cluster.now - removedAt < minute);
  });
}

scenario('KB031 a command that runs into its time limit is a failure: three restart the container', {}, (stage) => {
  const { t, node } = stage;
  const livenessProbe = { exec: { command: ['sleep', '30'] }, timeoutSeconds: 1, periodSeconds: 2, failureThreshold: 3 };
  node.put('a.yaml', withFields(podOf('a', { uid: 'a', containers: { c: 'exec=30s' } }), { c: { livenessProbe } }));
  stage.untilPhase('a', 'Running', 10 * second);
  const took = stage.until('restarted', () => restarts(stage) === 1, minute) / second;
  t.ok(took >= 4 && took < 20, `after ${took} s`);
  t.equal(messages(stage, 'Unhealthy').length, 3);
  for (const message of messages(stage, 'Unhealthy')) t.match(message, /^Liveness probe failed: command timed out: "sleep 30" timed out after 1s/);
});

scenario('KB031 a runtime that never answers does not hold up its probes for good', {}, (stage) => {
  const { t, node } = stage;
  const livenessProbe = { exec: { command: ['check'] }, timeoutSeconds: 1, periodSeconds: 2, failureThreshold: 3 };
  node.put('a.yaml', withFields(podOf('a', { uid: 'a', containers: { c: 'exec-exit=1' } }), { c: { livenessProbe } }));
  node.setFaults([hanging('containers.execSync')]);
  stage.untilPhase('a', 'Running', 10 * second);
  const asked = (): number => node.model.performed.get('containers.execSync') ?? 0;
  stage.run(10 * minute);
  t.ok(asked() >= 4, `asked ${asked()} times, each given up after the time for requests`);
  node.setFaults([]);
  const took = stage.until('restarted once it answers again', () => restarts(stage) === 1, 5 * minute);
  t.ok(took <= 2 * minute + 10 * second + second, `${took / second} s later: one request that hangs, and three failures`);
});

scenario('KB036 a container that starts again has not started, isn’t ready, and its liveness waits for its own startup probe', {}, (stage) => {
  const { t, node } = stage;
  const probes = { startupProbe: { ...http, periodSeconds: 1, failureThreshold: 60 }, livenessProbe: { ...http, periodSeconds: 1, failureThreshold: 3 } };
  node.put('a.yaml', withFields(podOf('a', { uid: 'a', containers: { c: 'run=60s,exit=1,healthy=20s' } }), { c: probes }));
  stage.untilPhase('a', 'Running', 10 * second);
  for (let attempt = 0; attempt < 3; attempt++) {
    stage.until(`attempt ${attempt} runs`, () => restarts(stage) === attempt && statusOf(stage)?.state?.running !== undefined, 2 * minute);
    for (let waited = 0; waited < 18; waited++) {
      t.match(statusOf(stage), { started: false, ready: false, restartCount: attempt }, `${waited} s after its start`);
      if (attempt === 1 && waited === 5) {
        node.kill();
        node.start();
        stage.until('the agent knows it', () => node.pod('a') !== null, second);
      }
      stage.run(second);
    }
    stage.until('it has started', () => statusOf(stage)?.started === true && statusOf(stage)?.ready === true, 10 * second);
  }
  t.strictSame(
    messages(stage, 'Killing').filter((message) => message.includes('liveness')),
    [],
  );
});

scenario('a pod with kernel parameters that are not allowed is refused, and runs once it asks for others', {}, (stage) => {
  const { t, node } = stage;
  const asking = (name: string): Pod => podOf('a', { uid: 'a', spec: { securityContext: { sysctls: [{ name, value: '1' }] } } });
  node.put('a.yaml', asking('kernel.msgmax'));
  stage.untilPhase('a', 'Failed', 10 * second);
  t.match(node.status('a'), { reason: 'SysctlForbidden', message: 'Pod was rejected: forbidden sysctl: "kernel.msgmax" not allowlisted' });
  t.strictSame(messages(stage, 'SysctlForbidden'), ['forbidden sysctl: "kernel.msgmax" not allowlisted']);
  stage.run(5 * minute);
  t.strictSame([node.sandboxes('a'), node.status('a')?.phase], [[], 'Failed'], 'nothing of it ever starts');
  node.remove('a.yaml');
  stage.until('it is forgotten', () => !node.agent.statuses.has('a'), minute);
  node.put('a.yaml', asking('kernel.shm_rmid_forced'));
  stage.untilPhase('a', 'Running', minute);
});

scenario('a pod that only the runtime knows: its hook runs within its second of grace', {}, (stage) => {
  const { t, node } = stage;
  const lifecycle = { preStop: { exec: { command: ['bye'] } } };
  node.put('a.yaml', withFields(podOf('a', { uid: 'a', grace: 30, containers: { c: 'exec=1000s,ignore-term' } }), { c: { lifecycle } }));
  stage.untilPhase('a', 'Running', 10 * second);
  node.kill();
  node.remove('a.yaml');
  node.start();
  const took = stage.until('it is down', () => stage.running('a').length === 0, minute) / second;
  t.ok(took >= 3 && took < 6, `the hook hung for a second, the process for two: ${took} s`);
});
