// Exclusive CPUs and memory of containers: their allocation, the updates of other containers, the state on disk, and that restarts,
// kills and faults allocate nothing twice.
import t from 'tap';
import { podResourceQueries } from '../../src/domain/agent/resource-managers/pod-holdings.js';
import { readCpuCheckpoint } from '../../src/domain/checkpoints/cpu-checkpoint.js';
import { parseCpuSet } from '../../src/domain/values/cpu-set.js';
import type { Container, ResourceList } from '../../src/ports/model/container.js';
import { SimCluster, type SimClusterNode, type SimClusterOptions } from '../../src/sim/index.js';
import { scenario } from './scenario.js';
import { minute, podOf, second } from './sim-pods.js';

t.setTimeout(300_000);

const twoNodes = { sockets: 2, cores: 4 };
const pinned: Partial<SimClusterOptions> = { machine: twoNodes, alignment: { cpuManagerPolicy: 'static', reservation: { cpu: '1' } } };

const container = (name: string, list: ResourceList | null, more: Partial<Container> = {}): Container => ({
  name,
  image: 'busybox',
  ...(list === null ? {} : { resources: { requests: list, limits: list } }),
  ...more,
});
const cpus = (cpu: string, memory = '64Mi'): ResourceList => ({ cpu, memory });
const alignedPod = (uid: string, ...containers: Container[]) => podOf(uid, { uid, spec: { containers } });

/** The last CPU set that the runtime got for a running container. */
function told(node: SimClusterNode, uid: string, name = 'c'): string {
  const found = node.containers(uid).find(({ config, state }) => config.metadata.name === name && state === 'running');
  return found?.resources?.cpusetCpus ?? '';
}

function fileOf(node: SimClusterNode, name = 'cpu_manager_state') {
  const text = node.host.state.stateFiles.get(name) ?? '';
  const read = readCpuCheckpoint(text, new Map());
  return read.ok ? read.value : null;
}

scenario('whole CPUs of a Guaranteed pod are its own, the others keep to the rest, and get it back', pinned, (stage) => {
  const { t, node } = stage;
  node.put('shared.yaml', alignedPod('shared', container('c', null)));
  stage.untilPhase('shared', 'Running', minute);
  t.equal(told(node, 'shared'), '0-7');
  node.put('a.yaml', alignedPod('a', container('c', cpus('2')), container('half', cpus('500m'))));
  stage.untilPhase('a', 'Running', minute);
  t.equal(told(node, 'a'), '1-2', 'never the reserved CPU');
  t.equal(node.containers('a').find(({ config }) => config.metadata.name === 'c')?.resources?.cpuQuota, -1, 'and no quota on them');
  t.equal(told(node, 'a', 'half'), '0,3-7');
  stage.until('the other pod is told', () => told(node, 'shared') === '0,3-7', 5 * second);
  t.match(fileOf(node), { policyName: 'static', defaultCpuSet: '0,3-7' });
  const holdings = podResourceQueries(node.agent);
  t.match(holdings.get('default', holdings.list().find(({ name }) => name.startsWith('a'))?.name ?? ''), {
    containers: [
      { containerName: 'c', cpus: [1, 2] },
      { containerName: 'half', cpus: [] },
    ],
  });
  t.equal(holdings.list().length, 2);
  t.equal(holdings.get('default', 'nobody'), null);
  t.strictSame(holdings.allocatable(), { cpus: [1, 2, 3, 4, 5, 6, 7], memory: [] });
  t.equal(fileOf(node)?.entries?.get('a')?.get('c'), '1-2');
  node.remove('a.yaml');
  stage.untilGone('a', minute);
  stage.until('it has all again', () => told(node, 'shared') === '0-7' && fileOf(node)?.defaultCpuSet === '0-7', 30 * second);
  const asked = () => ['containers.updateResources', 'stateFiles.write'].map((op) => node.model.performed.get(op));
  // A pass of the housekeeping drops the times that are kept of the other pod.
  stage.run(6 * minute);
  const before = asked();
  stage.run(10 * minute);
  t.match(node.agent.alignment?.reconcile, { dirty: false, retryAt: null }, 'nothing ticks');
  t.strictSame(asked(), before);
});

scenario('a pod that finds no CPUs left is refused in the reference’s words', pinned, (stage) => {
  const { t, node } = stage;
  node.put('a.yaml', alignedPod('a', container('c', cpus('6'))));
  stage.untilPhase('a', 'Running', minute);
  node.put('b.yaml', alignedPod('b', container('c', cpus('2'))));
  stage.untilPhase('b', 'Failed', minute);
  t.match(node.status('b'), {
    reason: 'UnexpectedAdmissionError',
    message: 'Pod was rejected: Allocate failed due to not enough cpus available to satisfy request: requested=2, available=1, which is unexpected',
  });
  t.ok(stage.reasons('b').includes('UnexpectedAdmissionError'));
});

const wholeCores: Partial<SimClusterOptions> = {
  machine: { cores: 4, threads: 2 },
  alignment: { ...pinned.alignment, cpuManagerPolicyOptions: { 'full-pcpus-only': 'true' } },
};

scenario('pods that run on the last whole cores are admitted again by a fresh agent; who wants half a core is refused', wholeCores, (stage) => {
  const { t, node } = stage;
  node.put('a.yaml', alignedPod('a', container('c', cpus('4'))));
  node.put('b.yaml', alignedPod('b', container('c', cpus('2'))));
  for (const name of ['a', 'b']) stage.untilPhase(name, 'Running', minute);
  node.put('odd.yaml', alignedPod('odd', container('c', cpus('1'))));
  stage.untilPhase('odd', 'Failed', minute);
  t.match(node.status('odd'), { reason: 'SMTAlignmentError', message: 'Pod was rejected: SMT Alignment Error: requested 1 cpus not multiple cpus per core = 2' });
  const counters = node.agent.alignment?.counters;
  t.strictSame(Object.fromEntries(counters?.aligned ?? []), { 'container physical_cpu': 2, 'container uncore_cache': 2 });
  t.strictSame(Object.fromEntries(counters?.unaligned ?? []), { 'container physical_cpu': 1 });
  const had = [told(node, 'a'), told(node, 'b')];
  node.start();
  stage.run(minute);
  t.strictSame(
    ['a', 'b'].map((name) => node.status(name)?.phase),
    ['Running', 'Running'],
  );
  t.strictSame([told(node, 'a'), told(node, 'b')], had);
});

const oneNode: Partial<SimClusterOptions> = { ...pinned, alignment: { ...pinned.alignment, topologyManagerPolicy: 'single-numa-node' } };

scenario('CPUs come from one NUMA node or not at all', oneNode, (stage) => {
  const { t, node } = stage;
  node.put('a.yaml', alignedPod('a', container('c', cpus('3'))));
  node.put('b.yaml', alignedPod('b', container('c', cpus('3'))));
  for (const name of ['a', 'b']) stage.untilPhase(name, 'Running', minute);
  t.strictSame([told(node, 'a'), told(node, 'b')].sort(), ['1-3', '4-6']);
  node.put('c.yaml', alignedPod('c', container('c', cpus('2'))));
  stage.untilPhase('c', 'Failed', minute);
  t.match(node.status('c'), { reason: 'TopologyAffinityError', message: 'Pod was rejected: Resources cannot be allocated with Topology locality' });
  const counters = node.agent.alignment?.counters;
  t.equal(counters?.aligned.get('container numa_node'), 2);
  t.strictSame(Object.fromEntries(counters?.unaligned ?? []), { 'container physical_cpu': 0, 'container numa_node': 1 });
});

const gibibyte = 1024 ** 3;
const withMemory: Partial<SimClusterOptions> = {
  machine: { ...twoNodes, memoryBytes: 4 * gibibyte },
  alignment: {
    ...oneNode.alignment,
    memoryManagerPolicy: 'Static',
    reservation: { cpu: '1', memory: '1Gi' },
    reservedMemory: [{ numaNode: 0, limits: { memory: '1Gi' } }],
  },
};

scenario('memory comes from the NUMA node of the CPUs, and what an init container had is there for the others', withMemory, (stage) => {
  const { t, node } = stage;
  const init = container('init', cpus('1', '2Gi'));
  node.put('a.yaml', podOf('a', { uid: 'a', init: { init: 'run=2s,exit=0' }, spec: { initContainers: [init], containers: [container('c', cpus('2', '2Gi'))] } }));
  stage.untilPhase('a', 'Running', minute);
  const mems = () => node.containers('a').map(({ resources }) => resources?.cpusetMems);
  t.strictSame([...new Set(mems())], ['0']);
  t.match(JSON.parse(node.host.state.stateFiles.get('memory_manager_state') ?? '{}'), {
    policyName: 'Static',
    entries: { a: { c: [{ numaAffinity: [0], type: 'memory', size: 2 * gibibyte }] } },
  });
  node.put('b.yaml', alignedPod('b', container('c', cpus('1', '3Gi'))));
  stage.untilPhase('b', 'Running', minute);
  t.equal(node.containers('b')[0]?.resources?.cpusetMems, '1');
  for (let life = 0; life < 2; life++) {
    node.start();
    stage.run(minute);
    t.strictSame(
      ['a', 'b'].map((name) => node.status(name)?.phase),
      ['Running', 'Running'],
      'a fresh agent admits them again, though nothing is left for the init container',
    );
  }
});

scenario('a fresh agent goes on from the file: running pods keep their CPUs, pods that went meanwhile lose them', pinned, (stage) => {
  const { t, node } = stage;
  for (const name of ['a', 'b']) node.put(`${name}.yaml`, alignedPod(name, container('c', cpus('2'))));
  for (const name of ['a', 'b']) stage.untilPhase(name, 'Running', minute);
  const [a, b] = [told(node, 'a'), told(node, 'b')];
  node.kill();
  node.remove('b.yaml');
  stage.run(minute);
  node.start();
  node.put('c.yaml', alignedPod('c', container('c', cpus('5'))));
  stage.run(2 * minute);
  t.equal(told(node, 'a'), a);
  t.match(node.status('c'), { phase: /Running|Failed/ });
  stage.until('the CPUs of the pod that is gone are free', () => fileOf(node)?.entries?.has('b') === false, minute);
  t.not(b, '');
});

t.test('a container that has CPUs of its own is created when the file that says so is on disk, not before', async (t) => {
  const failing = {
    operation: 'stateFiles.write',
    trigger: { probability: 1 },
    action: { kind: 'error', moment: 'before', error: 'resource-exhausted', message: 'no space left on device' },
  } as const;
  const cluster = new SimCluster({ seed: 5, ...pinned });
  const node = cluster.node();
  cluster.run(second);
  node.setFaults([failing]);
  node.put('a.yaml', alignedPod('a', container('c', cpus('2'))));
  node.put('s.yaml', alignedPod('s', container('c', null)));
  cluster.run(2 * minute);
  t.strictSame(node.containers('a'), [], 'it has no container');
  t.match(node.status('a')?.containerStatuses?.[0]?.state?.waiting, {
    reason: 'PreCreateHookError',
    message: /could not save the state of the resource managers: no space left on device/,
  });
  t.equal(node.status('s')?.phase, 'Running', 'who shares is not concerned');
  node.setFaults([]);
  t.ok(cluster.runUntil(() => node.status('a')?.phase === 'Running', 5 * minute));
  t.strictSame(cluster.violations, []);
});

t.test('an agent that is killed at any moment never gives a CPU to two', async (t) => {
  for (let seed = 0; seed < 20; seed++) {
    const cluster = new SimCluster({ seed, ...pinned, runtimeSendsEvents: seed % 2 === 0 });
    const node = cluster.node();
    for (let round = 0; round < 6; round++) {
      node.put(`p${round}.yaml`, alignedPod(`p${round}`, container('c', cpus(String(1 + ((seed + round) % 3))))));
      if (round > 2) node.remove(`p${round - 3}.yaml`);
      cluster.run(40_000 * (seed + 1) * (round + 1));
      node.start();
    }
    cluster.run(2 * minute);
    t.strictSame(cluster.violations, [], `seed ${seed}`);
    const given = [...(fileOf(node)?.entries?.values() ?? [])]
      .flatMap((containers) => [...containers.values()])
      .flatMap((text) => {
        const parsed = parseCpuSet(text);
        return parsed.ok ? parsed.value : [];
      });
    t.equal(new Set(given).size, given.length, 'nor does the file');
  }
});

t.test('an update that fails is made again after the period', async (t) => {
  const failing = {
    operation: 'containers.updateResources',
    trigger: { probability: 1 },
    action: { kind: 'error', moment: 'before', error: 'unavailable', message: 'not now' },
  } as const;
  const cluster = new SimCluster({ seed: 3, ...pinned });
  const node = cluster.node();
  node.put('s.yaml', alignedPod('s', container('c', null)));
  cluster.run(20 * second);
  node.setFaults([failing]);
  node.put('a.yaml', alignedPod('a', container('c', cpus('1'))));
  cluster.run(25 * second);
  t.equal(told(node, 's'), '0-7');
  const tries = node.model.performed.get('containers.updateResources') ?? 0;
  t.ok(tries >= 2 && tries <= 4, `${tries} tries in 25 s`);
  node.setFaults([]);
  t.ok(cluster.runUntil(() => told(node, 's') === '0,2-7', 11 * second));
});
