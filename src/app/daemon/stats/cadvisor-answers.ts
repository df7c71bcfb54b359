// The metrics of /metrics/cadvisor from a snapshot with all detail. Rendered in slices: thousands of lines must not block the agent.
import { type CadvisorContainer, CadvisorFamilies, type CadvisorFilesystem, type CadvisorMachine, familyTexts } from '../../../adapters/metrics/index.js';
import { LoopShare } from '../../../adapters/time/index.js';
import type { SampledCgroup } from './node-sampler.js';
import type { NodeStats, Snapshot } from './node-stats.js';

export interface CadvisorAnswersOptions {
  readonly stats: NodeStats;
  readonly nowMillis: () => number;
  readonly machine: () => Promise<CadvisorMachine>;
  /** The image of a container or sandbox by the runtime's id; '' if unknown. */
  readonly imageOf: (id: string, isSandbox: boolean) => string;
  readonly rootFilesystems: () => Promise<readonly CadvisorFilesystem[]>;
  /** Of `major:minor`. */
  readonly deviceName: (device: string) => string;
}

export async function cadvisorTexts(options: CadvisorAnswersOptions): Promise<Iterable<string>> {
  const families = new CadvisorFamilies(options.nowMillis(), options.deviceName);
  const [snapshot, machine, filesystems] = await Promise.all([orNull(options.stats.snapshot(true)), orNull(options.machine()), orNull(options.rootFilesystems())]);
  if (machine !== null) families.addMachine(machine);
  if (snapshot !== null) await addContainers(families, snapshot, options, filesystems ?? []);
  families.addScrapeErrors(snapshot === null || snapshot.podsError !== null || !snapshot.rootCgroup.ok, machine === null);
  return familyTexts(families.all());
}

async function addContainers(families: CadvisorFamilies, snapshot: Snapshot, options: CadvisorAnswersOptions, filesystems: readonly CadvisorFilesystem[]): Promise<void> {
  const pods = new Map(snapshot.facts.sandboxes.map(({ uid, name, namespace }) => [podElement(uid), { pod: name, namespace }]));
  const ordered = [...snapshot.cgroups].sort((a, b) => (a.path < b.path ? -1 : 1));
  const share = new LoopShare();
  for (const cgroup of ordered) {
    families.addContainer(shown(cgroup, pods, cgroup.path === '/' ? filesystems : [], options));
    await (share.pause() ?? undefined);
  }
}

function shown(
  cgroup: SampledCgroup,
  pods: ReadonlyMap<string, { readonly pod: string; readonly namespace: string }>,
  filesystems: readonly CadvisorFilesystem[],
  { imageOf, stats }: CadvisorAnswersOptions,
): CadvisorContainer {
  const { path, container, read, interfaces, openFiles } = cgroup;
  const pod = container === null ? pods.get(podElementOfCgroup(path)) : { pod: container.podName, namespace: container.podNamespace };
  const { counters } = read;
  // The root has no limit of its own: the machine is it.
  const limits = path === '/' ? { ...counters.limits, memoryBytes: stats.rootSample(cgroup).memoryLimitBytes } : counters.limits;
  return {
    id: path,
    container: container?.containerName ?? '',
    image: container === null ? '' : imageOf(container.id, container.isSandbox),
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
