// Looks for pods on this host: in the runtime, among the cgroups that the agent would clean up, and in its manifests.
// Invariant: the search changes nothing.

import type { KubeletPorts } from '../../domain/agent/kubelet.js';
import type { PodsOnHost } from '../../domain/agent-queries/foreign-pods.js';
import type { FileSourceSettings } from '../../domain/pod-sources/file-source.js';
import { newManifestStore, podsOfStore, takeListing } from '../../domain/pod-sources/manifest-store.js';
import type { Call } from '../../ports/operation.js';

const looking: Call = { signal: new AbortController().signal, timeoutMicros: null };

export async function podsOnHost(ports: KubeletPorts, withCgroups: boolean): Promise<PodsOnHost> {
  const [listing, logDirectories, cgroups] = await Promise.all([
    ports.runtime.listPods({ uid: null }, looking),
    ports.podLogs.listDirectories(null, looking),
    withCgroups ? ports.podCgroups.list(null, looking) : [],
  ]);
  const counted = cgroups.map(async (cgroup) => ({ ...cgroup, processes: await ports.podCgroups.countProcesses({ name: cgroup.name }, looking) }));
  return { listing, logDirectories, cgroups: await Promise.all(counted) };
}

/** UIDs of the pods in the manifest path: a running pod with one of them is no stranger. */
export async function uidsOfManifests(ports: KubeletPorts, source: FileSourceSettings | null): Promise<string[]> {
  if (source === null) return [];
  const listing = await ports.manifestDirectory.list({ path: source.path }, looking);
  const files = listing.kind === 'directory' ? listing.files : listing.kind === 'file' ? [listing.file] : [];
  const store = newManifestStore();
  takeListing(store, files, source);
  return podsOfStore(store).flatMap(({ metadata }) => metadata.uid ?? []);
}
