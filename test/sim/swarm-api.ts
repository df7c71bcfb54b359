// The part of a swarm with an apiserver: pods that are created and deleted there, watches that break, and the final state of the API and of
// a watcher.
import { isTerminalPhase } from '../../src/domain/status/phase.js';
import { isMirrorPod, isStaticPod } from '../../src/domain/values/pod-kind.js';
import { podFullNameOf } from '../../src/domain/values/pod-references.js';
import type { Pod } from '../../src/ports/model/pod.js';
import type { SimCluster, SimClusterNode } from '../../src/sim/index.js';
import { ApiWorld } from './api-world.js';
import { Dice } from './dice.js';
import { withOwnCpus } from './swarm-alignment.js';
import { SwarmCertificates, withCertificate } from './swarm-certificates.js';
import { SwarmClaims } from './swarm-claims.js';
import type { SwarmCoverage } from './swarm-coverage.js';
import { SwarmObjects, withObjects } from './swarm-objects.js';
import type { SwarmOptions } from './swarm-options.js';
import { type SwarmPod, swarmPod, withProbesAndHooks } from './swarm-pods.js';
import { press, relieve } from './swarm-pressure.js';
import { SwarmStorage, withStorage } from './swarm-storage.js';

export interface WantedApiPod extends SwarmPod {
  readonly uid: string;
  readonly node: string;
}

/** Reasons of pods that the node has ended, or refused as it goes down. */
const endedByNode: ReadonlySet<string> = new Set(['Evicted', 'Terminated', 'NodeShutdown']);

export class SwarmApi {
  private readonly world: ApiWorld;
  /** By name. */
  readonly wanted = new Map<string, WantedApiPod>();
  private readonly objects: SwarmObjects;
  private readonly certificates: SwarmCertificates;
  /** null: the nodes have no claims for devices. */
  private readonly claims: SwarmClaims | null;
  /** null: the nodes take no plugins. */
  private readonly storage: SwarmStorage | null;
  private version = 0;

  constructor(
    private readonly cluster: SimCluster,
    private readonly options: Pick<SwarmOptions, 'aligned' | 'claims' | 'probed' | 'plugins' | 'pressed' | 'apiFaults' | 'files'>,
  ) {
    this.world = new ApiWorld(cluster, { ok: () => true }).look();
    this.objects = new SwarmObjects(cluster);
    this.certificates = new SwarmCertificates(cluster);
    this.storage = options.plugins ? new SwarmStorage(cluster) : null;
    this.claims = options.claims ? new SwarmClaims(cluster) : null;
    cluster.apiserver.setFaults(options.apiFaults, cluster.now, true);
  }

  /** Something happens to a pod of the node, or to its watches. */
  act(node: SimClusterNode, dice: Dice): void {
    this.storage?.attach();
    // A pod whose certificate is denied never starts, so its creator deletes it.
    for (const name of this.certificates.act(dice)) {
      if (this.wanted.delete(name)) this.world.remove(name);
    }
    this.takeBackEnded();
    if (this.options.pressed && dice.chance(0.2)) {
      press(node, dice);
      return;
    }
    if (this.storage !== null && dice.chance(0.15)) {
      this.storage.act(node, dice);
      return;
    }
    if (this.claims !== null && dice.chance(0.1)) {
      this.claims.act(node, dice);
      return;
    }
    if (dice.chance(0.15)) {
      this.objects.act(dice);
      return;
    }
    const file = dice.below(this.options.files);
    const name = `a${file}-${node.name}`;
    const roll = dice.next();
    if (roll < 0.15) {
      this.world.cutWatches();
      return;
    }
    const known = this.world.get(name);
    if (known === null) this.create(node, name, swarmPod(dice, file, this.version++), file);
    else if (roll < 0.3) this.world.patch(name, { metadata: { labels: { version: String(this.version++) } } });
    else if (roll < 0.36) this.changeImage(known, dice);
    else if (roll < 0.42) this.addEphemeral(known);
    else {
      this.wanted.delete(name);
      this.world.remove(name, dice.of([null, null, 1, 0]));
    }
  }

  /** They never run again, and no caller waits for them. */
  private takeBackEnded(): void {
    for (const name of this.wanted.keys()) {
      if (!endedByNode.has(this.world.get(name)?.status?.reason ?? '')) continue;
      this.wanted.delete(name);
      this.world.remove(name);
    }
  }

  /** The one field of a container that may change. */
  private changeImage({ metadata, spec }: Pod, dice: Dice): void {
    if (metadata.deletionTimestamp != null) return;
    const containers = spec.containers.map((container) => ({ ...container, image: dice.of(['busybox', 'nginx:1', 'app:2']) }));
    this.world.patch(metadata.name, { spec: { containers } });
  }

  private addEphemeral({ metadata, spec }: Pod): void {
    const { ephemeralContainers = [] } = spec;
    if (metadata.deletionTimestamp != null || ephemeralContainers.length > 1) return;
    const added = { name: `debug-${ephemeralContainers.length}`, image: 'busybox', imagePullPolicy: 'IfNotPresent' };
    this.world.patch(metadata.name, { spec: { ephemeralContainers: [...ephemeralContainers, added] } }, 'ephemeralcontainers');
  }

  private create(node: SimClusterNode, name: string, plain: SwarmPod, file: number): void {
    const { pod: probed, expected } = this.options.probed ? withProbesAndHooks(plain, file) : plain;
    const simple = this.options.aligned ? withOwnCpus(probed, new Dice(this.version, 'CPUs')) : probed;
    const key = `${name} ${this.version}`;
    const dressed = withCertificate(withObjects(simple, new Dice(file, `objects of ${key}`)), new Dice(file, `certificate of ${key}`));
    const stored = this.storage === null ? dressed : withStorage(dressed, node.name, new Dice(file, `storage of ${key}`));
    const pod = this.claims?.withClaims(stored, node.name, new Dice(file, `claims of ${key}`)) ?? stored;
    this.objects.admit(pod);
    const created = this.world.createPod({ ...pod, metadata: { ...pod.metadata, name } }, node.name);
    this.claims?.schedule();
    this.wanted.set(name, { pod, expected, uid: created.metadata.uid ?? '', node: node.name });
  }

  /** The server is well from now on, and everything that pods refer to is there. */
  calm(coverage: SwarmCoverage): void {
    const { apiserver, now } = this.cluster;
    for (const [i, count] of apiserver.faultCounts.entries()) coverage.apiStruck(this.options.apiFaults[i], count);
    apiserver.setFaults([], now);
    this.objects.restore();
    relieve(this.cluster);
    this.storage?.restore();
    this.claims?.restore();
  }

  removeAll(): void {
    for (const name of this.wanted.keys()) this.world.remove(name);
    this.wanted.clear();
  }

  /** What the API does not show as it is. */
  differences(): string[] {
    this.storage?.attach();
    this.certificates.issueAll();
    this.takeBackEnded();
    const found: string[] = [];
    for (const [name, { uid, node, pod, expected }] of this.wanted) {
      if (expected !== 'ends') found.push(...this.shownDifferences(this.cluster.node(node), uid, pod).map((difference) => `${name} ${difference}`));
      const shown = this.world.get(name);
      const said = this.cluster.node(node).statusOf(uid);
      if (shown?.metadata.uid !== uid) found.push(`${name} is not in the API`);
      else if (shown.status?.phase !== said?.phase) found.push(`${name} is ${said?.phase}, the API has ${shown.status?.phase}`);
    }
    for (const { metadata, spec, status } of this.world.pods) {
      if (isMirrorPod({ metadata, spec }) || this.wanted.get(metadata.name)?.uid === metadata.uid) continue;
      found.push(`${metadata.name} (${metadata.uid}) is in the API, ${status?.phase}, and nobody wants it`);
    }
    for (const name of this.cluster.nodeNames) found.push(...mirrorProblems(this.cluster.node(name), this.world));
    return found;
  }

  private shownDifferences(node: SimClusterNode, uid: string, pod: Pod): string[] {
    return [
      ...this.objects.differences(node, uid, pod),
      ...this.certificates.differences(node, uid, pod),
      ...(this.storage?.differences(node, uid, pod) ?? []),
      ...(this.claims?.differences(node, uid, pod) ?? []),
    ];
  }

  problems(): string[] {
    return this.world.problems();
  }

  leftovers(): string[] {
    const left = this.world.pods.map(({ metadata, status }) => `${metadata.name} (${metadata.uid}, ${status?.phase}) in the API`);
    for (const name of this.cluster.nodeNames) {
      const { admission, api } = this.cluster.node(name).agent;
      const { made, unmade, deleting } = api?.mirrors ?? { made: new Map(), unmade: new Map(), deleting: new Map() };
      const counts = {
        'status writes': api?.statusWrites.pods.size ?? 0,
        'mirrors asked for': made.size + unmade.size + deleting.size,
        'pods to admit': admission.pending.size + admission.rejected.size,
      };
      for (const [what, count] of Object.entries(counts)) if (count > 0) left.push(`${name}: ${count} ${what}`);
    }
    return left;
  }
}

function mirrorProblems(node: SimClusterNode, world: ApiWorld): string[] {
  const found: string[] = [];
  for (const pod of node.agent.pods.pods.values()) {
    if (!isStaticPod(pod)) continue;
    const said = node.statusOf(pod.metadata.uid ?? '');
    const mirror = world.get(pod.metadata.name);
    // One that was put back while it ended stays as it is, without a worker that could make it a mirror.
    if (mirror === null && isTerminalPhase(said?.phase) && !node.agent.workers.records.has(pod.metadata.uid ?? '')) continue;
    if (mirror === null || !isMirrorPod(mirror)) found.push(`${podFullNameOf(pod)} has no mirror`);
    else if (mirror.status?.phase !== said?.phase) found.push(`${podFullNameOf(pod)} is ${said?.phase}, its mirror ${mirror.status?.phase}`);
  }
  return found;
}
