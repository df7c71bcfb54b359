// Probes on a node in virtual time: readiness comes and goes, liveness restarts, startup holds up what waits for it.

import t from 'tap';
import type { Container, Probe } from '../../src/ports/model/container.js';
import type { Pod } from '../../src/ports/model/pod.js';
import { SimCluster } from '../../src/sim/index.js';
import { type Stage, scenario } from './scenario.js';
import { minute, podOf, second } from './sim-pods.js';

/** The pod with more said about some of its containers. */
function withFields(pod: Pod, fields: Readonly<Record<string, Partial<Container>>>): Pod {
  const fill = (container: Container): Container => ({ ...container, ...fields[container.name] });
  const { containers, initContainers } = pod.spec;
  return { ...pod, spec: { ...pod.spec, containers: containers.map(fill), ...(initContainers === undefined ? {} : { initContainers: initContainers.map(fill) }) } };
}

const http: Probe = { httpGet: { port: 8080, path: '/healthz' } };
const exec: Probe = { exec: { command: ['check', '--deep'] } };

function messages({ node }: Stage, reason: string): string[] {
  return node
    .events('a')
    .filter(({ record }) => record.reason === reason)
    .map(({ record }) => record.message);
}

const statusOf = ({ node }: Stage, name = 'c') => {
  const { containerStatuses = [], initContainerStatuses = [] } = node.status('a') ?? {};
  return [...containerStatuses, ...initContainerStatuses].find((status) => status.name === name);
};
const readyCondition = ({ node }: Stage): string | undefined => node.status('a')?.conditions?.find(({ type }) => type === 'Ready')?.status;

scenario('readiness comes with the workload, goes with it, and restarts nothing', {}, (stage) => {
  const { t, node } = stage;
  const pod = podOf('a', { uid: 'a', containers: { c: 'healthy=12s-60s' } });
  node.put('a.yaml', withFields(pod, { c: { readinessProbe: { ...http, periodSeconds: 5 } } }));
  stage.untilPhase('a', 'Running', 10 * second);
  t.match([statusOf(stage), readyCondition(stage)], [{ started: true, ready: false }, 'False']);
  const took = stage.until('ready', () => statusOf(stage)?.ready === true, 20 * second);
  t.ok(took > 8 * second && took < 18 * second, `after ${took / second} s`);
  t.equal(readyCondition(stage), 'True');
  stage.run(30 * second);
  t.equal(statusOf(stage)?.ready, true);
  stage.until('not ready any more', () => statusOf(stage)?.ready === false, minute);
  t.equal(readyCondition(stage), 'False');
  stage.run(minute);
  t.match(statusOf(stage), { restartCount: 0, ready: false, started: true });
  t.strictSame([...new Set(messages(stage, 'Unhealthy'))], ['Readiness probe failed: HTTP probe failed with statuscode: 503']);
  node.remove('a.yaml');
  stage.untilGone('a', 5 * minute);
  t.strictSame([node.agent.probes.pods.size, node.agent.probes.results.readiness.size], [0, 0], 'nothing is kept');
});

scenario('liveness restarts, the second time after a back-off', {}, (stage) => {
  const { t, node } = stage;
  const pod = podOf('a', { uid: 'a', grace: 3, containers: { c: 'healthy=0s-20s', d: 'run=forever' } });
  node.put('a.yaml', withFields(pod, { c: { livenessProbe: { ...exec, periodSeconds: 5, failureThreshold: 2 } } }));
  stage.untilPhase('a', 'Running', 10 * second);
  stage.until('killed and started again', () => statusOf(stage)?.restartCount === 1, minute);
  t.match(statusOf(stage)?.lastState?.terminated, { exitCode: 143 });
  t.strictSame(messages(stage, 'Unhealthy'), ['Liveness probe failed: check --deep: failed\n', 'Liveness probe failed: check --deep: failed\n']);
  t.strictSame(messages(stage, 'Killing'), ['Container c failed liveness probe, will be restarted']);
  stage.run(3 * minute);
  t.ok(messages(stage, 'BackOff').length > 0, 'it backs off');
  t.ok((statusOf(stage)?.restartCount ?? 0) >= 2);
  t.equal(statusOf(stage, 'd')?.restartCount, 0, 'its neighbour goes on');
});

scenario('startup holds back the other probes, and a container that never starts is killed', {}, (stage) => {
  const { t, node } = stage;
  const pod = podOf('a', { uid: 'a', grace: 1, containers: { c: 'healthy=15s', d: 'healthy=1h' } });
  const probe = { ...exec, periodSeconds: 2 };
  const strict = { ...probe, failureThreshold: 1 };
  node.put(
    'a.yaml',
    withFields(pod, {
      c: { startupProbe: { ...probe, failureThreshold: 30 }, livenessProbe: strict, readinessProbe: strict },
      d: { startupProbe: { ...probe, failureThreshold: 5 } },
    }),
  );
  stage.untilPhase('a', 'Running', 10 * second);
  t.match(
    [statusOf(stage), statusOf(stage, 'd')],
    [
      { started: false, ready: false },
      { started: false, ready: false },
    ],
  );
  const took = stage.until('c has started and is ready', () => statusOf(stage)?.started === true && statusOf(stage)?.ready === true, 30 * second);
  t.ok(took > 10 * second && took < 20 * second, `after ${took / second} s`);
  stage.run(20 * second);
  t.equal(statusOf(stage)?.restartCount, 0);
  t.ok((statusOf(stage, 'd')?.restartCount ?? 0) > 0);
  t.ok(messages(stage, 'Killing').every((message) => message === 'Container d failed startup probe, will be restarted'));
});

scenario('a sidecar that has not started holds up those after it', {}, (stage) => {
  const { t, node } = stage;
  const pod = podOf('a', { uid: 'a', sidecars: { s: 'healthy=15s,listen=9000' }, init: { i: 'run=1s' } });
  node.put('a.yaml', withFields(pod, { s: { startupProbe: { tcpSocket: { port: 9000 }, periodSeconds: 2, failureThreshold: 30 } } }));
  stage.until('the sidecar runs', () => stage.running('a').length === 1, 10 * second);
  stage.run(10 * second);
  t.equal(stage.running('a').length, 1, 'and nothing else');
  t.equal(statusOf(stage, 's')?.started, false);
  stage.untilPhase('a', 'Running', 30 * second);
  t.match(
    [statusOf(stage, 's'), statusOf(stage)],
    [
      { started: true, ready: true },
      { started: true, ready: true },
    ],
  );
  t.match(messages(stage, 'Unhealthy')[0], /^Startup probe failed: dial tcp [0-9.]+:9000: connect: connection refused$/);
});

scenario('a probe that hangs, one that errs, and an agent that starts again', {}, (stage) => {
  const { t, node } = stage;
  const pod = podOf('a', { uid: 'a', containers: { c: 'exec=30s', d: 'run=forever', e: 'run=forever' } });
  node.put(
    'a.yaml',
    withFields(pod, {
      c: { readinessProbe: { ...exec, periodSeconds: 10, timeoutSeconds: 2 } },
      d: { readinessProbe: { tcpSocket: { port: 'none' } } },
      e: { readinessProbe: { grpc: { port: 9000 } }, livenessProbe: http },
    }),
  );
  stage.untilPhase('a', 'Running', 10 * second);
  stage.run(30 * second);
  t.ok(messages(stage, 'Unhealthy').includes('Readiness probe failed: command timed out: "check --deep" timed out after 2s'));
  t.ok(messages(stage, 'Unhealthy').includes('Readiness probe errored and resulted in unknown state: strconv.Atoi: parsing "none": invalid syntax'));
  t.match([statusOf(stage), statusOf(stage, 'd'), statusOf(stage, 'e')], [{ ready: false }, { ready: false }, { ready: true }]);
  node.kill();
  node.start();
  stage.run(minute);
  t.match([statusOf(stage), statusOf(stage, 'd'), statusOf(stage, 'e')], [{ ready: false }, { ready: false }, { ready: true }]);
  t.equal(stage.running('a').length, 3, 'nothing is restarted');
});

scenario('while a pod ends, liveness says nothing any more, and readiness goes on', {}, (stage) => {
  const { t, node } = stage;
  const pod = podOf('a', { uid: 'a', grace: 40, containers: { c: 'healthy=0s-20s,ignore-term' } });
  const probe = { ...exec, periodSeconds: 2, failureThreshold: 1 };
  node.put('a.yaml', withFields(pod, { c: { livenessProbe: probe, readinessProbe: probe } }));
  stage.until('ready', () => statusOf(stage)?.ready === true, 15 * second);
  node.remove('a.yaml');
  stage.until('not ready any more', () => stage.last.get('a')?.containerStatuses?.[0]?.ready === false, 30 * second);
  t.equal(stage.running('a').length, 1, 'while it still runs');
  stage.untilGone('a', 5 * minute);
  t.ok(messages(stage, 'Unhealthy').length > 0 && messages(stage, 'Unhealthy').every((message) => message.startsWith('Readiness probe failed: ')));
  t.strictSame(messages(stage, 'Killing'), ['Stopping container c']);
});

t.test('hundreds at once: each on its own time, and nothing else', async (t) => {
  const times = new Map<string, number[]>();
  const cluster = new SimCluster({ seed: 3, runtimeSendsEvents: true });
  const node = cluster.node();
  const pods = 100;
  const probe = { ...exec, periodSeconds: 10 };
  for (let i = 0; i < pods; i++) {
    const pod = podOf(`p${i}`, { uid: `p${i}`, containers: { c: 'run=forever', d: 'run=forever' } });
    node.put(`p${i}.yaml`, withFields(pod, { c: { livenessProbe: probe, readinessProbe: { ...http, periodSeconds: 10 } }, d: { startupProbe: probe, livenessProbe: probe } }));
  }
  cluster.run(5 * minute);
  for (const each of node.agent.probes.pods.values()) for (const [name, { worker }] of each.workers) times.set(`${worker.pod.metadata.uid ?? ''} ${name}`, [worker.nextTickAt]);
  t.equal(times.size, 4 * pods, 'a worker of each probe, also of those that have done their work');
  const [before, steps] = [new Map(node.model.performed), cluster.world.steps];
  cluster.run(10 * minute);
  const since = (op: string): number => (node.model.performed.get(op) ?? 0) - (before.get(op) ?? 0);
  t.equal(Math.abs(since('containers.execSync') - 2 * pods * 60) <= 2 * pods, true, `${since('containers.execSync')} commands`);
  t.equal(Math.abs(since('probing.http') - pods * 60) <= pods, true, `${since('probing.http')} requests`);
  t.strictSame([since('events.record'), since('runtime.inspectPod')], [0, 0]);
  const spent = cluster.world.steps - steps;
  t.ok(spent < 2 * 3 * pods * 61 + 2_000, `a step to ask and one for the answer: ${spent} in all`);
  for (const each of node.agent.probes.pods.values()) {
    for (const [name, { worker }] of each.workers) {
      if (worker.kind === 'startup') continue;
      const drift = (worker.nextTickAt - (times.get(`${worker.pod.metadata.uid ?? ''} ${name}`)?.[0] ?? 0)) % (10 * second);
      t.equal(drift, 0, `${worker.pod.metadata.uid ?? ''} ${name} is on its time`);
    }
  }
  t.strictSame(cluster.violations, []);
});

scenario('pods that came together are not probed in one burst, and each keeps its period', { settings: { runtimeRequestTimeout: minute } }, (stage) => {
  const { t, node } = stage;
  const period = second;
  stage.run(10 * second);
  for (let i = 0; i < 100; i++) node.put(`p${i}.yaml`, withFields(podOf(`p${i}`, { uid: `p${i}` }), { c: { livenessProbe: { ...exec, periodSeconds: 1 } } }));
  const workers = () => [...node.agent.probes.pods.values()].flatMap(({ workers }) => [...workers.values()].map(({ worker }) => worker));
  stage.until('all are probed', () => workers().length === 100 && workers().every(({ result }) => result === 'success'), 2 * minute);
  const phases = () => workers().map(({ nextTickAt }) => nextTickAt % period);
  const before = phases();
  const slots = new Map<number, number>();
  for (const phase of before) slots.set(Math.floor(phase / 10_000), (slots.get(Math.floor(phase / 10_000)) ?? 0) + 1);
  const most = Math.max(...slots.values());
  t.ok(most <= 25, `${most} of a hundred in the same 10 ms`);
  const asked = (): number => node.model.performed.get('containers.execSync') ?? 0;
  const askedBefore = asked();
  stage.run(60 * period);
  t.strictSame(phases(), before, 'a minute later each is where it was');
  t.ok(Math.abs(asked() - askedBefore - 6_000) <= 100, `${asked() - askedBefore} probes in it`);
});
