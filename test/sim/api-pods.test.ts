// Pods of an apiserver on one node, as the person who made them and a watcher see them.
import t from 'tap';
import { SimCluster } from '../../src/sim/index.js';
import { scene } from './api-scene.js';
import { ApiWorld } from './api-world.js';
import { minute, second } from './sim-pods.js';

t.setTimeout(600_000);

const quantities = (cpu: string) => [{ name: 'c', image: 'busybox', resources: { requests: { cpu } } }];

scene('created, ready, deleted', (world, t) => {
  const uid = world.create('a', { grace: 5 }).metadata.uid ?? '';
  world.untilReady('a');
  const status = world.status('a');
  t.match(status, { phase: 'Running', hostIP: '10.1.0.10', hostIPs: [{ ip: '10.1.0.10' }], qosClass: 'BestEffort', observedGeneration: 1 });
  t.strictSame(status.podIPs, [{ ip: status.podIP }]);
  const types = ['PodReadyToStartContainers', 'Initialized', 'Ready', 'ContainersReady', 'PodScheduled'];
  t.strictSame(
    status.conditions?.map(({ type, status: value, observedGeneration }) => [type, value, observedGeneration]),
    types.map((type) => [type, 'True', 1]),
  );
  world.run(minute);
  world.remove('a');
  world.untilGone('a');
  t.strictSame(world.phases(uid), ['Pending', 'Running', 'Failed']);
  t.strictSame(world.conditions(uid, 'PodReadyToStartContainers'), ['-', 'False', 'True', 'False']);
  t.strictSame(world.conditions(uid, 'Ready'), ['-', 'False', 'True', 'False']);
  t.equal(world.running(uid), 0, 'the object goes after its containers');
  t.ok(world.seenOf(uid).length <= 9, `a life of ${world.seenOf(uid).length} versions`);
  world.run(5 * minute);
  t.equal(world.node.containers().length + world.node.sandboxes().length, 0, 'nothing is left');
  t.equal(world.node.agent.statuses.size + (world.node.agent.api?.statusWrites.pods.size ?? 1), 0);
});

scene('a pod at rest costs no request', (world, t) => {
  for (let i = 0; i < 10; i++) world.create(`p${i}`);
  world.untilReady('p0', 'p9');
  world.run(minute);
  const { now } = world.cluster;
  world.run(10 * minute);
  const about = world.cluster.apiserver.audit.entries.filter(({ at, user, resource }) => at >= now && user.startsWith('system:node:') && resource.startsWith('pods'));
  t.strictSame(
    about.filter(({ verb }) => verb !== 'watch').map(({ verb, resource }) => `${verb} ${resource}`),
    [],
  );
});

scene('deleted by force: its containers are given their own grace, and the name is free at once', (world, t) => {
  const shape = { grace: 20, containers: { c: 'ignore-term' } };
  const uid = world.create('a', shape).metadata.uid;
  world.untilReady('a');
  world.remove('a', 0);
  t.equal(world.get('a'), null);
  const again = world.create('a', shape).metadata.uid;
  world.run(5 * second);
  t.equal(world.running(uid), 1);
  world.untilReady('a');
  t.not(again, uid);
  world.until('the old one has ended', () => world.running(uid) === 0, minute);
  t.equal(world.running(again), 1);
});

scene('a second deletion with less grace shortens the first', (world, t) => {
  const uid = world.create('a', { grace: 300, containers: { c: 'ignore-term' } }).metadata.uid;
  world.untilReady('a');
  world.remove('a');
  world.run(10 * second);
  t.equal(world.running(uid), 1);
  world.remove('a', 2);
  world.untilGone('a', 20 * second);
});

scene('deleted while its image is pulled', (world, t) => {
  const uid = world.create('a').metadata.uid ?? '';
  world.until('it is known', () => world.status('a').startTime !== undefined);
  world.remove('a');
  world.untilGone('a');
  t.equal(world.running(uid), 0);
  t.strictSame(
    world.phases(uid).filter((phase) => phase === 'Running'),
    [],
  );
});

scene('a pod that ends is told to have ended once nothing of it runs', (world, t) => {
  const uid = world.create('a', { policy: 'Never', containers: { c: 'run=5s' }, sidecars: { s: 'term=4s' } }).metadata.uid ?? '';
  world.until('it has succeeded', () => world.status('a').phase === 'Succeeded');
  t.equal(world.running(uid), 0);
  t.strictSame(world.phases(uid), ['Pending', 'Running', 'Succeeded']);
  t.match(
    world.status('a').conditions?.find(({ type }) => type === 'Ready'),
    { status: 'False', reason: 'PodCompleted' },
  );
  world.run(10 * minute);
  t.equal(world.get('a')?.metadata.uid, uid, 'it stays until somebody deletes it');
  world.remove('a');
  world.untilGone('a', 10 * second);
});

scene('readiness gates and conditions of others', (world, t) => {
  world.create('a', { spec: { readinessGates: [{ conditionType: 'example.com/gate' }] } });
  const ready = () => world.status('a').conditions?.find(({ type }) => type === 'Ready');
  const containersReady = () => world.status('a').conditions?.find(({ type }) => type === 'ContainersReady');
  world.until('its containers are ready', () => containersReady()?.status === 'True');
  t.match(ready(), { status: 'False', reason: 'ReadinessGatesNotReady', message: 'corresponding condition of pod readiness gate "example.com/gate" does not exist.' });
  const { conditions = [] } = world.status('a');
  world.patch('a', { status: { conditions: [...conditions, { type: 'example.com/gate', status: 'False' }, { type: 'example.com/other', status: 'Unknown' }] } }, 'status');
  world.run(5 * second);
  t.match(ready(), { status: 'False', message: 'the status of pod readiness gate "example.com/gate" is not "True", but False' });
  const changed = (world.status('a').conditions ?? []).map((condition) => (condition.type === 'example.com/gate' ? { ...condition, status: 'True' } : condition));
  world.patch('a', { status: { conditions: changed } }, 'status');
  world.until('it is ready', () => ready()?.status === 'True', 10 * second);
  t.equal(world.status('a').conditions?.find(({ type }) => type === 'example.com/other')?.status, 'Unknown');
});

scene('a status that others change is made right again, once in ten seconds', (world, t) => {
  const uid = world.create('a').metadata.uid ?? '';
  world.untilReady('a');
  world.run(minute);
  for (let i = 0; i < 20; i++) {
    world.patch('a', { status: { podIP: `9.9.9.${i}`, podIPs: [{ ip: `9.9.9.${i}` }] } }, 'status');
    world.run(second);
  }
  world.run(10 * second);
  t.not(world.status('a').podIP, '9.9.9.19');
  const repairs = world
    .seenOf(uid)
    .filter(({ pod }, i, all) => i > 0 && pod.status?.podIP?.startsWith('9.9.') === false && all[i - 1]?.pod.status?.podIP?.startsWith('9.9.') === true);
  t.ok(repairs.length >= 2 && repairs.length <= 4, `${repairs.length} repairs in half a minute`);
});

scene('a status of a pod that another of its name has replaced is refused once, and not sent again', (world, t) => {
  const { cluster, node } = world;
  const uid = world.create('a').metadata.uid ?? '';
  world.untilReady('a');
  cluster.apiserver.setFaults([{ operation: 'watch.pods', trigger: {}, action: { kind: 'silent' } }], cluster.now, true);
  world.cutWatches();
  world.run(10 * second);
  world.remove('a', 0);
  const other = world.create('a').metadata.uid;
  const from = cluster.now;
  for (let i = 0; i < 3; i++) {
    const running = node.containers().find(({ podUid, state }) => podUid === uid && state === 'running');
    if (running !== undefined) node.runtime.killContainer(running.id, cluster.now);
    world.run(40 * second);
  }
  const requests = cluster.apiserver.audit.entries.filter(
    ({ at, user, resource, name }) => at >= from && user.startsWith('system:node:') && resource.startsWith('pods') && name === 'a',
  );
  t.strictSame(
    requests.map(({ verb, resource, code }) => `${verb} ${resource} ${code}`),
    ['patch pods/status 422', 'get pods 200'],
  );
  cluster.apiserver.setFaults([], cluster.now);
  world.cutWatches();
  world.until('the other one is seen', () => world.running(other) === 1 && world.running(uid) === 0);
});

scene('a pod that can not be admitted fails, and goes when it is deleted', (world, t) => {
  const rows = [
    ['too-large', { containers: quantities('100') }, 'OutOfcpu', "Pod was rejected: Node didn't have enough resource: cpu, requested: 100000, used: 0, capacity: 4000"],
    ['elsewhere', { nodeSelector: { disk: 'ssd' } }, 'NodeAffinity', "Pod was rejected: Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector"],
    ['other-os', { os: { name: 'windows' } }, 'PodOSNotSupported', "Pod was rejected: Failed to admit pod as the OS field doesn't match node OS"],
    ['sysctl', { securityContext: { sysctls: [{ name: 'kernel.msgmax', value: '1' }] } }, 'SysctlForbidden', 'Pod was rejected: forbidden sysctl: "kernel.msgmax" not allowlisted'],
  ] as const;
  for (const [name, spec, reason, message] of rows) {
    const uid = world.create(name, { spec: spec as object }).metadata.uid ?? '';
    world.run(5 * second);
    const status = world.status(name);
    t.strictSame([status.phase, status.reason, status.message], ['Failed', reason, message], name);
    t.ok(status.startTime !== undefined);
    world.run(minute);
    const { observedGeneration: _, qosClass: __, startTime: ___, ...shown } = world.status(name);
    t.strictSame(shown, { phase: 'Failed', reason, message }, 'nothing is said of containers and conditions that it never had');
    t.match(world.node.events(name), [{ record: { type: 'Warning', reason, message: message.slice('Pod was rejected: '.length) } }]);
    t.equal(world.node.sandboxes(uid).length, 0, 'nothing of it was made');
    world.remove(name);
    world.untilGone(name, 30 * second);
  }
});

t.test('a pod that is refused at the first list of the agent', async (t) => {
  const world = new ApiWorld(new SimCluster({ seed: 5, nodes: ['n1'], node: {}, apiserver: {} }), t);
  const refusal = { phase: 'Failed', reason: 'NodeAffinity', message: "Pod was rejected: Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector" };
  world.create('elsewhere', { spec: { nodeSelector: { disk: 'ssd' } } });
  world.run(minute);
  const { observedGeneration: _, qosClass: __, startTime: ___, ...shown } = world.status('elsewhere');
  t.strictSame(shown, refusal, 'no sync of it follows, and nothing is reported of containers and conditions');
});

scene('two pods that want one port of the host', (world, t) => {
  const spec = { containers: [{ name: 'c', image: 'busybox', ports: [{ containerPort: 80, hostPort: 8080 }] }] };
  world.create('a', { spec });
  world.untilReady('a');
  world.create('b', { spec });
  world.run(5 * second);
  t.strictSame([world.status('b').phase, world.status('b').reason], ['Failed', 'NodePorts']);
  t.ok(world.isReady('a'));
});

scene('KB022: what was refused counts for nothing, whatever the API says of it meanwhile', (world, t) => {
  for (let i = 0; i < 50; i++) {
    world.create(`absurd${i}`, { spec: { containers: quantities('1000000000000') } });
    world.run(1_000 * ((i * 37) % 200));
    world.patch(`absurd${i}`, { metadata: { labels: { changed: String(i) } } });
    world.run(1_000 * ((i * 53) % 150));
    world.create(`small${i}`, { policy: 'Never', containers: { c: 'run=1s' }, spec: { containers: quantities('20m') } });
    world.run(200_000);
    t.strictSame([world.status(`absurd${i}`).reason, world.status(`small${i}`).phase === 'Failed'], ['OutOfcpu', false], `round ${i}`);
  }
});

scene('KB021: after a restart what runs is admitted before what came meanwhile', (world, t) => {
  for (const name of ['a', 'b', 'c']) world.create(name, { spec: { containers: quantities('1') } });
  world.create('ended', { policy: 'Never', containers: { c: 'run=5s' }, spec: { containers: quantities('1') } });
  world.untilReady('a', 'b', 'c');
  world.until('it has ended', () => world.status('ended').phase === 'Succeeded');
  world.create('refused', { spec: { containers: quantities('3') } });
  world.until('it is refused', () => world.status('refused').reason === 'OutOfcpu');
  const started = world.node.containers().length;
  world.node.kill();
  // Created later, but by its name first in every list; and they would take what runs away from the others.
  for (const name of ['0-new', '1-new', '2-new', '3-new']) world.create(name, { spec: { containers: quantities('1') } });
  world.node.start();
  world.run(minute);
  for (const name of ['a', 'b', 'c']) t.ok(world.isReady(name), `${name} runs`);
  t.equal(world.node.containers().filter(({ config }) => config.labels['io.kubernetes.pod.name']?.length === 1).length, started - 1, 'and was not restarted');
  t.strictSame(['0-new', '1-new', '2-new', '3-new'].map((name) => world.status(name).phase).sort(), ['Failed', 'Failed', 'Failed', 'Running']);
});

scene('a critical pod makes itself room', (world, t) => {
  world.create('low', { grace: 5, spec: { containers: quantities('3') } });
  world.create('other', { grace: 5, spec: { containers: quantities('500m') } });
  world.untilReady('low', 'other');
  const uid = world.get('low')?.metadata.uid ?? '';
  const critical = world.create('critical', { spec: { containers: quantities('3'), priorityClassName: 'system-node-critical' } });
  world.untilReady('critical');
  t.equal(world.running(uid), 0);
  t.match(world.status('low'), { phase: 'Failed', reason: 'Preempting', message: 'Preempted in order to admit critical pod' });
  t.match(
    world.status('low').conditions?.find(({ type }) => type === 'DisruptionTarget'),
    { status: 'True', reason: 'TerminationByKubelet' },
  );
  t.match(
    world.node
      .events('low')
      .map(({ record }) => record.reason)
      .includes('Preempting'),
    true,
  );
  t.equal(world.node.state.agent.admission.preempted.get(uid), 'cpu', 'what it made room for');
  t.ok(world.isReady('other'));
  t.ok(critical);
  world.remove('low');
  world.untilGone('low');
  world.run(minute);
  t.equal(world.node.state.agent.admission.preempted.size, 0, 'which is forgotten with the pod');
});

const slowEnds = [
  ['ends within its grace', 'run=forever', false],
  ['does not end for a minute', 'run=forever,ignore-term', true],
] as const;
for (const [sentence, behaviour, overdue] of slowEnds) {
  scene(`a pod that is killed for a critical one, and ${sentence}`, (world, t) => {
    world.create('low', { grace: 20, containers: { c: behaviour }, spec: { containers: quantities('3') } });
    world.untilReady('low');
    // The runtime takes far longer to kill than it may.
    if (overdue) world.node.setFaults([{ operation: 'containers.stop', trigger: {}, action: { kind: 'delay', moment: 'before', micros: 40_000_000 } }]);
    world.create('critical', { spec: { containers: quantities('3'), priorityClassName: 'system-node-critical' } });
    world.untilReady('critical');
    const told = world.node.events('low').filter(({ record }) => record.reason === 'ExceededGracePeriod');
    t.equal(told.length, overdue ? 1 : 0);
    if (overdue) t.match(told[0]?.record, { type: 'Warning', message: 'Container runtime did not kill the pod within specified grace period.' });
    world.run(2 * minute);
    t.match(world.status('low'), { phase: 'Failed', reason: 'Preempting' });
  });
}

scene('services in the environment; none of the pods starts before they are known', (world, t) => {
  const body = { apiVersion: 'v1', kind: 'Service', metadata: { name: 'db' }, spec: { clusterIP: '10.96.0.7', ports: [{ port: 5432, name: 'sql' }] } };
  const { code } = world.ask('create', { resource: { group: '', version: 'v1', plural: 'services' }, body });
  t.equal(code, 201);
  world.run(second);
  const uid = world.create('a').metadata.uid;
  world.untilReady('a');
  const [container] = world.node.containers(uid);
  const value = (key: string) => container?.config.envs?.find((variable) => variable.key === key)?.value;
  t.strictSame([value('DB_SERVICE_HOST'), value('DB_SERVICE_PORT_SQL')], ['10.96.0.7', '5432']);
});

scene('an ephemeral container is started in a pod that runs', (world, t) => {
  const uid = world.create('a').metadata.uid;
  world.untilReady('a');
  const before = world.node.containers(uid).map(({ id }) => id);
  world.patch('a', { spec: { ephemeralContainers: [{ name: 'debug', image: 'busybox', targetContainerName: 'c' }] } }, 'ephemeralcontainers');
  world.until('it runs', () => world.status('a').ephemeralContainerStatuses?.[0]?.state?.running !== undefined, minute);
  t.strictSame(world.status('a').ephemeralContainerStatuses?.[0]?.resources, {}, 'its status has the resources of its spec');
  t.ok(
    before.every((id) => world.node.containers(uid).some((container) => container.id === id && container.state === 'running')),
    'the others run on',
  );
});
