// Would this node take these pods? And who would have to go for a critical one? Run: node examples/embed/admission.mjs
import { admitPod, podQosClass, podRequests } from 'kubelet-ts/domain';

const node = {
  metadata: { name: 'node-1', labels: { 'kubernetes.io/os': 'linux', disk: 'ssd' } },
  spec: { taints: [{ key: 'maintenance', effect: 'NoExecute' }] },
  status: { allocatable: { cpu: '4', memory: '8Gi', pods: '110' } },
};

function pod(name, cpu, memory, more = {}) {
  const resources = { requests: { cpu, memory } };
  const tolerations = [{ key: 'maintenance', operator: 'Exists' }];
  return { metadata: { name, namespace: 'default', uid: name }, spec: { containers: [{ name: 'main', image: 'app:1', resources }], tolerations, ...more } };
}

const running = [pod('web', '2', '3Gi'), pod('batch', '1500m', '2Gi')];
const asked = [
  pod('small', '500m', '1Gi'),
  pod('large', '1', '1Gi'),
  pod('choosy', '100m', '1Gi', { nodeSelector: { disk: 'hdd' } }),
  pod('touchy', '100m', '1Gi', { tolerations: [] }),
  pod('critical', '1', '1Gi', { priority: 2_000_000_000 }),
];

for (const candidate of asked) {
  const { cpu, memory } = podRequests(candidate);
  const verdict = admitPod({ pod: candidate, otherPods: running, node, freshNode: null });
  const outcome = verdict.kind === 'rejected' ? `${verdict.reason}: ${verdict.message}` : `admitted, preempts [${verdict.preempted.map((victim) => victim.metadata.name)}]`;
  console.log(`${candidate.metadata.name} (${podQosClass(candidate)}, ${cpu} cpu, ${memory}): ${outcome}`);
}
