// Work that waits while the runtime or its network isn't ready, and detection of changes without events. Each with its times.
import t from 'tap';
import { runtimeProblems } from '../../src/domain/agent/runtime-state/runtime-readiness.js';
import { plegProblem } from '../../src/domain/pleg/pleg.js';
import { SimCluster } from '../../src/sim/index.js';
import { type Stage, scenario } from './scenario.js';
import { minute, podOf, second } from './sim-pods.js';

const problem = ({ node, cluster }: Pick<Stage, 'node' | 'cluster'>): string | null =>
  runtimeProblems(node.agent.readiness, plegProblem(node.agent.pleg, cluster.now), cluster.now);

scenario('a network that is not ready holds back the pods that need it', {}, (stage) => {
  const { t, node } = stage;
  node.put('b.yaml', podOf('b', { uid: 'b' }));
  stage.untilPhase('b', 'Running', 10 * second);
  const before = stage.running('b');
  node.setNetworkReady(false);
  stage.run(6 * second);
  node.put('a.yaml', podOf('a', { uid: 'a' }));
  node.put('h.yaml', podOf('h', { uid: 'h', spec: { hostNetwork: true } }));
  stage.untilPhase('h', 'Running', 10 * second);
  stage.run(20 * second);
  t.equal(problem(stage), null, 'the loop goes on');
  t.strictSame([node.sandboxes('a'), node.containers('a')], [[], []]);
  t.match(node.status('a'), { phase: 'Pending', containerStatuses: [{ state: { waiting: { reason: 'ContainerCreating' } } }] });
  const [event, ...more] = node.events('a').map(({ record }) => record);
  const message = 'network is not ready: container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:cni plugin not initialized';
  t.match(event, { type: 'Warning', reason: 'NetworkNotReady', message });
  t.ok(
    more.every((record) => record.reason === 'NetworkNotReady'),
    'and nothing else is said of it',
  );
  t.ok(more.length >= 12 && more.length <= 28, `it is tried every 1 to 1.5 s: ${more.length + 1} times in about 25 s`);
  t.strictSame(stage.running('b'), before, 'a pod that runs is left alone');
  node.setNetworkReady(true);
  const took = stage.untilPhase('a', 'Running', 20 * second);
  t.ok(took < 8 * second, `${took / second} s after the network is there`);
});

scenario('a runtime that does not answer for 30 s is down', {}, (stage) => {
  const { t, node } = stage;
  node.put('a.yaml', podOf('a', { uid: 'a' }));
  stage.untilPhase('a', 'Running', 10 * second);
  stage.run(10 * second);
  const before = stage.running('a');
  node.runtimeDown(200 * second);
  const lastGood = node.agent.readiness.lastGood ?? 0;
  stage.run(lastGood + 30 * second - 1 - stage.cluster.now);
  t.equal(problem(stage), null, 'not a moment before');
  stage.run(1);
  t.equal(problem(stage), 'container runtime is down');
  node.put('b.yaml', podOf('b', { uid: 'b' }));
  stage.run(20 * second);
  t.notOk(node.agent.workers.records.has('b'), 'nothing is dispatched');
  stage.run(140 * second);
  const text = problem(stage) ?? '';
  if (node.agent.settings.runtimeSendsEvents) t.equal(text, 'container runtime is down', 'relisting has ten minutes where the runtime tells of changes');
  else t.match(text, /^\[container runtime is down, PLEG is not healthy: pleg was last seen active 3m\d+(\.\d+)?s ago; threshold is 3m0s\]$/);
  const took = stage.untilPhase('b', 'Running', minute);
  t.ok(took < 30 * second, `runs ${took / second} s later`);
  t.equal(problem(stage), null);
  t.strictSame(stage.running('a'), before, 'the container never noticed');
});

scenario('a runtime that says that it is not ready', {}, (stage) => {
  const { t, node } = stage;
  stage.run(10 * second);
  node.runtime.state.runtimeReady = { status: false, reason: 'Busy', message: 'migrating' };
  stage.run(6 * second);
  t.equal(problem(stage), 'container runtime not ready: RuntimeReady=false reason:Busy message:migrating');
  node.put('a.yaml', podOf('a', { uid: 'a' }));
  stage.run(10 * second);
  t.notOk(node.agent.workers.records.has('a'));
  stage.run(30 * second);
  t.equal(problem(stage), '[container runtime is down, container runtime not ready: RuntimeReady=false reason:Busy message:migrating]');
  node.runtime.state.runtimeReady = { status: true, reason: '', message: '' };
  const took = stage.untilPhase('a', 'Running', 30 * second);
  t.ok(took < 8 * second, `${took / second} s after it is ready`);
});

t.test('a notice that is lost without a word is made up for by the list of everything', async (t) => {
  const cluster = new SimCluster({ seed: 9, runtimeSendsEvents: true });
  const node = cluster.node();
  node.put('a.yaml', podOf('a', { uid: 'a' }));
  cluster.run(20 * second);
  const [container] = node.containers('a');
  const listedAt = node.agent.pleg.lastRelist ?? 0;
  node.runtime.killContainer(container?.id ?? '', cluster.now);
  node.runtime.state.changedPods.clear();
  cluster.run(listedAt + 299 * second - cluster.now);
  t.match(node.status('a'), { containerStatuses: [{ restartCount: 0 }] }, 'nobody knows');
  cluster.run(5 * second);
  t.match(node.status('a'), { containerStatuses: [{ restartCount: 1, state: { running: {} } }] }, 'five minutes are the longest it can take');
  t.strictSame(cluster.violations, []);
});

scenario('KB018 a pod that must not restart, whose first sandbox failed', {}, (stage) => {
  const { t, node } = stage;
  node.setFaults([{ operation: 'sandboxes.run', trigger: { nth: 1 }, action: { kind: 'error', moment: 'after', error: 'unknown', message: 'network is not ready' } }]);
  node.put('a.yaml', podOf('a', { uid: 'a', policy: 'Never', containers: { c: 'run=5s' } }));
  stage.until('the sandbox was made', () => node.sandboxes('a').length === 1, 10 * second);
  node.runtime.killSandbox(node.sandboxes('a')[0]?.id ?? '', stage.cluster.now);
  const took = stage.untilPhase('a', 'Succeeded', 2 * minute);
  t.ok(took < 40 * second, `after ${took / second} s, with its back-off`);
  t.equal(node.sandboxes('a').length, 2, 'in a second sandbox');
  t.ok(stage.reasons('a').includes('FailedCreatePodSandBox'));
  stage.run(10 * minute);
  t.equal(node.events('a').filter(({ record }) => record.reason === 'Started').length, 1);
  t.ok(
    node.sandboxes('a').every(({ config }) => config.metadata.attempt <= 1),
    'and no further one',
  );
});
