// The values of the cgroups of pods, of their classes and of all pods as pods are added and removed; concurrent writers, failures, and the cost.
import { scenario } from './scenario.js';
import { minute, podOf, second } from './sim-pods.js';

const gibibyte = 1024n ** 3n;
const settings = {
  nodeCgroups: {
    pods: {
      cpuShares: 3072,
      cpuQuotaMicros: null,
      cpuPeriodMicros: null,
      cpusetCpus: '0-3',
      memoryBytes: 7n * gibibyte,
      pidsLimit: 30_000,
      hugePageLimits: new Map(),
      unified: {},
    },
    hugePageBytes: [2n * 1024n ** 2n],
    reservedMemoryPercent: 50,
    allocatableMemoryBytes: 7n * gibibyte,
  },
};
const onFire = { kind: 'error', moment: 'before', error: 'unknown', message: 'disk on fire' } as const;

function podWith(name: string, requests: Record<string, string>, limits: Record<string, string> = {}) {
  const pod = podOf(name, { uid: name, grace: 1 });
  return { ...pod, spec: { ...pod.spec, containers: pod.spec.containers.map((container) => ({ ...container, resources: { requests, limits } })) } };
}

scenario('classes follow their pods', { settings, facts: { cgroupVersion: 1 } }, (stage) => {
  const { t, node } = stage;
  const valuesOf = (path: string) => node.host.state.cgroupValues.get(path);
  stage.until('all three are set at the start', () => ['', '/burstable', '/besteffort'].every((below) => valuesOf(`kubepods${below}`) !== undefined), second);
  t.match(valuesOf('kubepods'), { cpuShares: 3072, memoryBytes: 7n * gibibyte, pidsLimit: 30_000, hugePageLimits: new Map([[2n * 1024n ** 2n, 2n ** 62n]]) });
  t.match(valuesOf('kubepods/besteffort'), { cpuShares: 2, memoryBytes: 7n * gibibyte });
  const told = () => node.events().flatMap(({ record: { type, reason, message } }) => (reason === 'NodeAllocatableEnforced' ? [`${type} ${message}`] : []));
  stage.until('that is told', () => told().length > 0, second);
  t.strictSame(told(), ['Normal Updated Node Allocatable limit across pods']);

  node.put('a.yaml', podWith('a', { cpu: '500m', memory: '1Gi' }));
  node.put('b.yaml', podWith('b', { cpu: '250m', memory: '2Gi' }, { cpu: '1', memory: '3Gi' }));
  node.put('c.yaml', podWith('c', { cpu: '1', memory: '1Gi' }, { cpu: '1', memory: '1Gi' }));
  stage.untilPhase('a', 'Running', minute);
  stage.untilPhase('b', 'Running', minute);
  stage.until('Burstable has what its pods request', () => valuesOf('kubepods/burstable')?.cpuShares === 768, second);
  t.match(valuesOf('kubepods/burstable')?.memoryBytes, (13n * gibibyte) / 2n, 'half of what Guaranteed pods request is kept from it');
  t.match(valuesOf('kubepods/besteffort')?.memoryBytes, 5n * gibibyte);
  t.match(valuesOf('kubepods/burstable/podb'), { cpuShares: 256, cpuQuotaMicros: 100_000, memoryBytes: 3n * gibibyte, hugePageLimits: new Map([[2n * 1024n ** 2n, 0n]]) });
  t.match(valuesOf('kubepods/burstable/poda'), { cpuShares: 512, cpuQuotaMicros: null, memoryBytes: null });
  t.match(valuesOf('kubepods/podc'), { cpuShares: 1024, cpuQuotaMicros: 100_000, memoryBytes: gibibyte });

  const burstable = valuesOf('kubepods/burstable');
  if (burstable !== undefined) node.host.state.cgroupValues.set('kubepods/burstable', { ...burstable, cpuShares: 7 });
  stage.until('what others write is undone', () => valuesOf('kubepods/burstable')?.cpuShares === 768, 2 * minute);
  node.remove('a.yaml');
  stage.until('a pod that goes counts no more', () => valuesOf('kubepods/burstable')?.cpuShares === 256, minute);
});

scenario('a burst of pods costs few writes', { settings }, (stage) => {
  const { t, node } = stage;
  stage.run(second);
  const writes = () => node.model.performed.get('podCgroups.set') ?? 0;
  const before = writes();
  for (let i = 0; i < 40; i++) node.put(`p${i}.yaml`, podWith(`p${i}`, { cpu: '100m' }));
  stage.until('all are counted', () => node.host.state.cgroupValues.get('kubepods/burstable')?.cpuShares === 4096, minute);
  t.ok(writes() - before < 40, `${writes() - before} writes`);
});

const first = { operation: 'podCgroups.ensure', trigger: { nth: 1, times: 1 }, action: onFire } as const;
scenario('limits of all pods that can’t be set are told of, and set later', { settings, faults: [first] }, (stage) => {
  const { t, node } = stage;
  const told = () =>
    node.events().flatMap(({ record: { reason, type, message } }) => (reason.endsWith('Enforced') || reason.endsWith('Enforcement') ? [`${type} ${message}`] : []));
  stage.run(30 * second);
  t.strictSame(told(), ['Warning Failed to update Node Allocatable Limits ["kubepods"]: disk on fire']);
  stage.run(minute);
  t.strictSame(told().slice(1), ['Normal Updated Node Allocatable limit across pods']);
  t.equal(node.host.state.cgroupValues.get('kubepods')?.cpuShares, 3072);
});
