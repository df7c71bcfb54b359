// Warnings about the host for its operator: recorded as events of the node at the start, and when they change;
// and that the whole node ran out of memory, which no pod's status shows.
import type { NodeFacts } from '../../containers/node-facts.js';
import { resolvConfEvents } from '../../dns/pod-dns.js';
import { type OomKill, systemOomMessage, systemOomReason } from '../../oom/oom-parser.js';
import type { NodeFactsContext } from './slice.js';

const migration = 'https://git.k8s.io/enhancements/keps/sig-node/5573-remove-cgroup-v1';
const cgroupV1Text = `cgroup v1 detected. cgroup v1 support is deprecated and will be removed in a future release. Please migrate to cgroup v2. More information at ${migration}`;

const swappedText =
  'The tmpfs noswap option is not supported. Memory-backed volumes (e.g. secrets, emptyDirs, etc.) might be swapped to disk and should no longer be considered secure.';

/** @param before the facts that were known until now; null: none, the agent starts */
export function warnOfNode(context: NodeFactsContext, before: NodeFacts | null): void {
  const { nodeFacts } = context.state;
  if (before === null && nodeFacts.cgroupVersion === 1) context.nodeWarning('CgroupV1', cgroupV1Text);
  if (before === null && nodeFacts.memoryVolumesMaySwap) context.nodeWarning('PossibleMemoryBackedVolumesOnDisk', swappedText);
  if (before?.resolvConf === nodeFacts.resolvConf) return;
  for (const { reason, message } of resolvConfEvents(nodeFacts)) context.nodeWarning(reason, message);
}

/** A cgroup that hit its own limit is its container's affair. */
export function recordOomKill(context: NodeFactsContext, kill: OomKill): void {
  const message = systemOomMessage(kill);
  if (message !== null) context.nodeWarning(systemOomReason, message);
}
