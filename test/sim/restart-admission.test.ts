// Running pods are not admitted again: a restarted agent on a node whose labels, taints, allocatable, settings or features changed refuses and
// kills none of them. A new pod with the same spec is refused.

import type { AgentSettings } from '../../src/domain/agent/settings.js';
import type { Container, ResourceList } from '../../src/ports/model/container.js';
import type { Pod } from '../../src/ports/model/pod.js';
import type { MachineReading } from '../../src/ports/outbound/machine.js';
import { scene } from './api-scene.js';
import type { ApiWorld } from './api-world.js';
import { minute, podOf, second } from './sim-pods.js';

interface Change {
  readonly settings?: Partial<AgentSettings>;
  readonly machine?: Partial<MachineReading>;
  readonly maxPods?: number;
  /** What the daemon gives the agent at its start. */
  readonly allocatable?: ResourceList;
  /** A merge patch of the Node. */
  readonly node?: object;
}

interface Row {
  readonly name: string;
  readonly spec: Partial<Pod['spec']>;
  readonly before?: Change;
  readonly change: Change;
  readonly neverRestarts?: boolean;
  /** Why a new pod is refused. */
  readonly reason: string;
}

const asks = (requests: Record<string, string>): Partial<Pod['spec']> => ({
  containers: [{ name: 'c', image: 'busybox', resources: { requests, limits: requests } }],
});
const restartsAll = { restartPolicy: 'Never', restartPolicyRules: [{ action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [7] } }] } as Partial<Container>;

const rows: readonly Row[] = [
  {
    name: 'label',
    spec: { nodeSelector: { disk: 'ssd' } },
    before: { node: { metadata: { labels: { disk: 'ssd' } } } },
    change: { node: { metadata: { labels: { disk: null } } } },
    reason: 'NodeAffinity',
  },
  { name: 'taint', spec: {}, change: { node: { spec: { taints: [{ key: 'k', effect: 'NoExecute' }] } } }, reason: 'TaintToleration' },
  { name: 'cpu', spec: asks({ cpu: '3' }), before: { machine: { cpus: 16 } }, change: { machine: { cpus: 2 }, allocatable: { cpu: '2' } }, reason: 'OutOfcpu' },
  { name: 'memory', spec: asks({ memory: '2Gi' }), change: { machine: { memoryBytes: 1024 ** 3 }, allocatable: { memory: '1Gi' } }, reason: 'OutOfmemory' },
  { name: 'pods', spec: {}, change: { maxPods: 0, allocatable: { pods: '0' } }, reason: 'OutOfpods' },
  {
    name: 'sysctl',
    spec: { securityContext: { sysctls: [{ name: 'net.core.somaxconn', value: '1024' }] } },
    before: { settings: { allowedSysctls: ['net.core.*'] } },
    change: { settings: { allowedSysctls: [] } },
    reason: 'SysctlForbidden',
  },
  { name: 'pod-level', spec: { resources: { limits: { memory: '64Mi' } } }, change: { settings: { podLevelResources: false } }, reason: 'PodLevelResourcesNotSupported' },
  {
    name: 'feature',
    spec: { containers: [{ name: 'c', image: 'busybox', ...restartsAll }] },
    neverRestarts: true,
    change: { settings: { declaredFeatures: [] } },
    reason: 'PodFeatureUnsupported',
  },
];

const nodeSettings = { maxPods: 110 };
const facts: { allocatable: ResourceList } = { allocatable: {} };

/** Restarts the agent on a changed node. */
function startOn(world: ApiWorld, { settings, machine, maxPods = 110, allocatable = {}, node }: Change): void {
  world.node.kill();
  nodeSettings.maxPods = maxPods;
  facts.allocatable = allocatable;
  const host = world.node.host.state.machine;
  host.reading = { ...host.reading, ...machine };
  const target = { resource: { group: '', version: 'v1', plural: 'nodes' }, namespace: null, name: 'node' };
  if (node !== undefined && world.ask('patch', { ...target, body: node }).code !== 200) throw new Error('the Node was not patched');
  world.node.start();
  Object.assign(world.node.state.agent.settings, settings);
  world.run(10 * second);
}

for (const { name, spec, before, change, reason, neverRestarts = false } of rows) {
  scene(
    `${name} changed while the agent was away: running pods continue, a new pod is refused`,
    (world, t) => {
      startOn(world, before ?? {});
      const names = ['runs', ...(neverRestarts ? [] : ['crashes']), 'ends'];
      world.create('runs', { spec });
      // Its container waits for its back-off when the agent begins; its sandbox is there.
      if (!neverRestarts) world.create('crashes', { containers: { c: 'run=1s,exit=1' }, spec: { ...spec, restartPolicy: 'Always' } });
      world.create('ends', { grace: 3600, containers: { c: 'ignore-term' }, spec });
      world.node.put('manifest.yaml', podOf('static', { spec }));
      world.untilReady('runs', 'ends', 'static-node');
      world.until('one is in a crash loop', () => neverRestarts || (world.status('crashes').containerStatuses?.[0]?.restartCount ?? 0) > 2);
      world.remove('ends');
      world.run(5 * second);
      const uids = new Map([...names, 'static-node'].map((each) => [each, world.get(each)?.metadata.uid]));
      const running = (): string[] => world.node.containers().flatMap(({ id, state, config }) => (state === 'running' && config.metadata.name === 'c' ? [id] : []));
      const had = running().filter((id) => !world.status('crashes').containerStatuses?.[0]?.containerID?.endsWith(id));
      startOn(world, change);
      world.run(10 * minute);
      for (const each of [...names, 'static-node']) {
        t.strictSame([world.status(each).phase, world.get(each)?.metadata.uid], ['Running', uids.get(each)], each);
        t.notOk(world.phases(uids.get(each) ?? '').includes('Failed'), each);
      }
      t.strictSame(
        had.filter((id) => !running().includes(id)),
        [],
        'no container was ended',
      );
      world.create('new', { spec });
      world.until('the new pod is refused', () => world.status('new').phase === 'Failed');
      t.equal(world.status('new').reason, reason);
    },
    { node: nodeSettings, facts },
  );
}

const alignment = { cpuManagerPolicy: 'none', reservation: { cpu: '1' } };
scene(
  'exclusive CPUs are assigned from now on: running pods continue without where there are not enough, a new pod is refused',
  (world, t) => {
    const spec = asks({ cpu: '2', memory: '64Mi' });
    for (const name of ['a', 'b']) world.create(name, { spec });
    world.untilReady('a', 'b');
    const ids = world.node.containers().map(({ id }) => id);
    world.node.kill();
    alignment.cpuManagerPolicy = 'static';
    world.node.host.state.stateFiles.delete('cpu_manager_state');
    world.node.start();
    alignment.cpuManagerPolicy = 'none';
    world.run(5 * minute);
    t.strictSame([world.status('a').phase, world.status('b').phase], ['Running', 'Running']);
    t.strictSame(
      world.node.containers().map(({ id }) => id),
      ids,
      'no container was ended',
    );
    const sets = world.node.containers().map(({ resources }) => resources?.cpusetCpus);
    t.strictSame(sets.sort(), ['0,3', '1-2'], 'one has exclusive CPUs, the other the shared pool');
    world.create('new', { spec });
    world.until('the new pod is refused', () => world.status('new').phase === 'Failed');
    t.equal(world.status('new').reason, 'UnexpectedAdmissionError');
  },
  { machine: { cores: 4 }, alignment },
);

scene('a rebooted host: nothing runs, and a pod that no longer fits is refused', (world, t) => {
  startOn(world, { node: { metadata: { labels: { disk: 'ssd' } } } });
  world.create('a', { spec: { nodeSelector: { disk: 'ssd' } } });
  world.untilReady('a');
  world.node.kill();
  for (const { id } of world.node.sandboxes()) world.node.runtime.handle('sandboxes.stop', { sandboxId: id }, world.cluster.now);
  startOn(world, { node: { metadata: { labels: { disk: null } } } });
  world.until('it is refused', () => world.status('a').phase === 'Failed');
  t.equal(world.status('a').reason, 'NodeAffinity');
});
