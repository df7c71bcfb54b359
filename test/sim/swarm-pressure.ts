// The part of a swarm that makes nodes short of memory and disk: what pods use, and what is in use beside them. Who made a pod that was evicted
// takes it back.
import type { AgentSettings } from '../../src/domain/agent/settings.js';
import { parseEvictionThresholds } from '../../src/domain/eviction/thresholds.js';
import type { SimCluster, SimClusterNode } from '../../src/sim/index.js';
import type { Dice } from './dice.js';
import { second } from './sim-pods.js';

const gibi = 1024 ** 3;
const usual = { memoryBytes: gibi, otherBytes: 10 * gibi };

export function evictionSettings(dice: Dice): AgentSettings['eviction'] {
  const texts = {
    evictionHard: { 'memory.available': '1Gi', 'nodefs.available': '10%' },
    evictionSoft: { 'memory.available': '3Gi' },
    evictionSoftGracePeriod: { 'memory.available': '20s' },
  };
  const parsed = parseEvictionThresholds({ ...texts, evictionMinimumReclaim: {}, enforceNodeAllocatable: [] });
  if (!parsed.ok) throw new Error(parsed.error);
  const pressureTransitionPeriod = dice.of([0, 30 * second]);
  return { thresholds: parsed.value, policy: { pressureTransitionPeriod, maxPodGracePeriodSeconds: dice.of([0, 3]), localStorageCapacityIsolation: true } };
}

export function press({ host, runtime }: SimClusterNode, dice: Dice): void {
  const { usage, disk } = host.state;
  const uids = [...new Set([...runtime.state.containers.values()].map(({ podUid }) => podUid))];
  if (uids.length > 0 && dice.chance(0.7)) {
    const bytes = dice.of([0, gibi, 8 * gibi, 40 * gibi]);
    usage.pods.set(dice.of(uids), { memoryBytes: bytes, rootfsBytes: dice.chance(0.5) ? bytes : 0, volumes: {} });
  } else if (dice.chance(0.5)) usage.memoryBytes = dice.of([gibi, 13.5 * gibi, 15.5 * gibi]);
  else disk.otherBytes = dice.of([10 * gibi, 60 * gibi, 95 * gibi]);
}

/** There is room again. */
export function relieve(cluster: SimCluster): void {
  for (const name of cluster.nodeNames) {
    const { usage, disk } = cluster.node(name).host.state;
    usage.pods.clear();
    usage.memoryBytes = usual.memoryBytes;
    disk.otherBytes = usual.otherBytes;
  }
}
