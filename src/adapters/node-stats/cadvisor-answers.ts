// The metrics of /metrics/cadvisor from a snapshot with all detail. Rendered in slices: thousands of lines must not block the agent.
import { type CadvisorContainer, CadvisorFamilies, type CadvisorFilesystem, type CadvisorMachine, familyTexts } from '../metrics/index.js';
import { LoopShare } from '../time/index.js';
import type { SampledCgroup } from './node-sampler.js';
import type { NodeStats, Snapshot } from './node-stats.js';

export interface CadvisorAnswersOptions {
  readonly stats: NodeStats;
  readonly nowMillis: () => number;
  readonly machine: () => Promise<CadvisorMachine>;
  /** Bytes of the machine's memory: the root cgroup has no limit of its own. */
  readonly memoryBytes: number;
  /** Images of containers by the runtime's id, read once an answer. */
  readonly images: () => ReadonlyMap<string, string>;
  /** The image of sandboxes; '' if unknown. */
  readonly sandboxImage: () => string;
  readonly rootFilesystems: () => Promise<readonly CadvisorFilesystem[]>;
  /** Of `major:minor`. */
  readonly deviceName: (device: string) => string;
}

export async function cadvisorTexts(options: CadvisorAnswersOptions): Promise<Iterable<string>> {
  const families = new CadvisorFamilies(options.nowMillis(), options.deviceName);
  const [snapshot, machine, filesystems] = await Promise.all([orNull(options.stats.snapshot(true)), orNull(options.machine()), orNull(options.rootFilesystems())]);
  if (machine !== null) families.addMachine(machine);
  if (snapshot !== null) await addContainers(families, snapshot, options, filesystems ?? []);
  families.addScrapeErrors(snapshot === null || !snapshot.listing.ok || !snapshot.readings.ok || !snapshot.cgroups.some(({ path }) => path === '/'), machine === null);
  return familyTexts(families.all());
}

async function addContainers(families: CadvisorFamilies, snapshot: Snapshot, options: CadvisorAnswersOptions, filesystems: readonly CadvisorFilesystem[]): Promise<void> {
  const pods = new Map((snapshot.listing.ok ? snapshot.listing.value.pods : []).map(({ uid, name, namespace }) => [podElement(uid), { pod: name, namespace }]));
  const ordered = [...snapshot.cgroups].sort((a, b) => (a.path < b.path ? -1 : 1));
  const images = options.images();
  const share = new LoopShare();
  for (const cgroup of ordered) {
    families.addContainer(shown(cgroup, pods, cgroup.path === '/' ? filesystems : [], options, images));
    await (share.pause() ?? undefined);
  }
}

function shown(
  cgroup: SampledCgroup,
  pods: ReadonlyMap<string, { readonly pod: string; readonly namespace: string }>,
  filesystems: readonly CadvisorFilesystem[],
  { sandboxImage, memoryBytes }: CadvisorAnswersOptions,
  images: ReadonlyMap<string, string>,
): CadvisorContainer {
  const { path, container, read, interfaces, openFiles } = cgroup;
  const pod = container === null ? pods.get(podElementOfCgroup(path)) : { pod: container.podName, namespace: container.podNamespace };
  const { counters } = read;
  const limits = path === '/' ? { ...counters.limits, memoryBytes: BigInt(memoryBytes) } : counters.limits;
  return {
    id: path,
    container: container?.containerName ?? '',
    image: container === null ? '' : container.isSandbox ? sandboxImage() : (images.get(container.id) ?? ''),
    name: container?.id ?? '',
    namespace: pod?.namespace ?? '',
    pod: pod?.pod ?? '',
    readAtMillis: read.readAtMillis,
    startedAtMillis: read.createdAtMillis,
    counters: { ...counters, limits },
    interfaces,
    openFiles,
    filesystems,
  };
}

function podElement(uid: string): string {
  return `pod${uid}`;
}

/** `pod<uid>`, also of systemd's slice. */
function podElementOfCgroup(path: string): string {
  const element = path.slice(path.lastIndexOf('/') + 1);
  if (!element.endsWith('.slice')) return element;
  const slice = element.slice(0, -'.slice'.length);
  return slice.slice(slice.lastIndexOf('-') + 1).replaceAll('_', '-');
}

async function orNull<T>(value: Promise<T>): Promise<T | null> {
  return value.catch(() => null);
}
