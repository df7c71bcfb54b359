// Pods of other agents that run on this host: in the runtime, and among the cgroups that the agent would clean up. Remains (ended
// sandboxes and containers, log directories, empty cgroups) don't count: they are cleaned up, as by the Go kubelet.
import type { ListedPod, RuntimeListing } from '../../ports/model/runtime-listing.js';
import { podUidOfLogDirectory } from '../values/log-paths.js';
import { byCodeUnits } from '../values/text-order.js';

const shownMax = 5;
const cgroupOf = 'cgroup /';

export interface PodsOnHost {
  readonly listing: RuntimeListing;
  readonly logDirectories: readonly string[];
  readonly cgroups: readonly { readonly uid: string; readonly name: readonly string[]; readonly processes: number }[];
}

/** UIDs of which the host has anything. */
export function uidsOnHost({ listing, logDirectories, cgroups }: PodsOnHost): Set<string> {
  return new Set([...listing.pods.map(({ uid }) => uid), ...logDirectories.map(podUidOfLogDirectory), ...cgroups.map(({ uid }) => uid)]);
}

/**
 * Running pods that are not in `known`, one text each; empty if all are known. Containers without a pod are never touched; they
 * only indicate that the runtime has another owner, and so count if it holds nothing of this agent.
 */
export function strangers(host: PodsOnHost, known: ReadonlySet<string>): string[] {
  const found = new Map<string, string>();
  const pods = host.listing.pods
    .filter(isRunning)
    .map(({ uid, namespace, name }) => ({ uid, name: `${namespace}/${name}` }))
    .sort((a, b) => byCodeUnits(a.name, b.name) || byCodeUnits(a.uid, b.uid));
  for (const { uid, name } of pods) if (!known.has(uid)) found.set(uid, name);
  for (const { uid, name, processes } of host.cgroups) if (processes > 0 && !known.has(uid) && !found.has(uid)) found.set(uid, `${cgroupOf}${name.join('/')}`);
  const { foreign } = host.listing;
  const isHome = host.listing.pods.some(({ uid }) => known.has(uid));
  return [...found.values(), ...(foreign === 0 || isHome ? [] : [`${foreign} ${foreign === 1 ? 'container' : 'containers'} of no pod`])];
}

function isRunning({ sandboxes, containers }: ListedPod): boolean {
  return sandboxes.some(({ state }) => state === 'ready') || containers.some(({ state }) => state === 'running');
}

export function strangersRefusal(found: readonly string[], endpoint: string, advice: string): string | null {
  if (found.length === 0) return null;
  const more = found.length - shownMax;
  const names = `${found.slice(0, shownMax).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
  const isRuntimeTheirs = found.some((text) => !text.startsWith(cgroupOf));
  const what = isRuntimeTheirs ? `the runtime at ${endpoint} is in use: it holds` : 'cgroups of pods are in use: processes run in those of';
  return `${what} pods that this agent does not know (${names}); nothing was touched. ${advice}`;
}
