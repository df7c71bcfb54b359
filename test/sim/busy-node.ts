// A node of a cluster with nearly every port in use: pods with volumes of each kind, claims, certificates, probes and hooks, drivers beside it.
// A test takes a copy of it, breaks one thing and watches the others.
import { defaultImageSettings } from '../../src/domain/images/image-manager-state.js';
import type { Pod } from '../../src/ports/model/pod.js';
import { SimCluster, type SimClusterNode, type SimClusterOptions } from '../../src/sim/index.js';
import { ApiWorld } from './api-world.js';
import { Dice } from './dice.js';
import { minute, podOf, second } from './sim-pods.js';
import { SwarmCertificates, withCertificate } from './swarm-certificates.js';
import { SwarmClaims } from './swarm-claims.js';
import { administrator, SwarmObjects, withObjects } from './swarm-objects.js';
import { withProbesAndHooks } from './swarm-pods.js';
import { SwarmStorage, withStorage } from './swarm-storage.js';

const rich = 6;
const logRotation = { maxSizeBytes: 64 * 1024, maxFiles: 3, maxWorkers: 2, monitorInterval: 10 * second };
/** There is no such program: pulls continue without it. */
const plugin = {
  ...{ name: 'plugin', matchImages: ['docker.io'], defaultCacheDuration: 0, apiVersion: 'credentialprovider.kubelet.k8s.io/v1' },
  ...{ args: [], env: [], tokenAttributes: null },
};
const shutdownPriorities = [{ priority: 0, shutdownGracePeriodSeconds: 15 }];

/** Pods `rich-0` to `rich-5`, and `plain-0` and so on, all of them running. */
export function busyNode(plain: number, options: Partial<SimClusterOptions> = {}): SimCluster {
  const cluster = new SimCluster({
    seed: 5,
    nodes: ['n0'],
    claims: true,
    apiserver: {},
    node: {},
    checkers: [],
    ...options,
    facts: { projectQuotas: true, runtimeClasses: {} },
    settings: {
      takesPlugins: true,
      podCertificateProjection: true,
      logRotation,
      shutdownPriorities,
      images: { ...defaultImageSettings, limits: { parallel: null, perSecond: 50, burst: 50 }, credentialProviders: [plugin] },
      ...options.settings,
    },
  });
  const world = new ApiWorld(cluster, { ok: () => true });
  new SwarmObjects(cluster);
  const certificates = new SwarmCertificates(cluster);
  const storage = new SwarmStorage(cluster);
  new SwarmClaims(cluster);
  cluster.run(5 * second);
  storage.attach();
  for (let i = 0; i < rich; i++) {
    createRich(cluster, `rich-${i}`, i);
  }
  for (let i = 0; i < plain; i++) world.createPod(plainPod(`plain-${i}`), 'n0');
  cluster.node().put('static.yaml', podOf('static'));
  for (let i = 0; i < 20; i++) {
    cluster.run(10 * second);
    certificates.issueAll();
    if (allRun(cluster)) break;
  }
  if (!allRun(cluster)) throw new Error(`of ${world.pods.map(({ metadata, status }) => `${metadata.name} ${status?.phase}`).join()} some do not run`);
  cluster.run(minute);
  return cluster;
}

/** A pod with a combination of features that the number selects. */
export function createRich(cluster: SimCluster, name: string, i: number): void {
  const dice = new Dice(i, 'rich');
  const base = withProbesAndHooks({ pod: podOf(name, { image: `${name}:1`, ...(i % 2 === 0 ? { init: { i: 'run=1s' } } : {}) }), expected: 'runs' }, i).pod;
  const stored = withStorage(withCertificate(withObjects(base, dice), dice), 'n0', dice);
  new ApiWorld(cluster, { ok: () => true }).createPod(claiming(stored, [[], ['shared'], ['pair'], ['shared', 'pair']][i % 4] ?? []), 'n0');
  reserveClaims(cluster);
}

function claiming(pod: Pod, claims: readonly string[]): Pod {
  const { containers } = pod.spec;
  const used = claims.map((claim) => ({ name: claim }));
  const using = containers.map((container) => ({ ...container, resources: { ...container.resources, claims: used } }));
  return claims.length === 0
    ? pod
    : { ...pod, spec: { ...pod.spec, containers: using, resourceClaims: claims.map((claim) => ({ name: claim, resourceClaimName: `${claim}-n0` })) } };
}

/** As the scheduler does it: no node is given a pod whose claims are not reserved for it. */
function reserveClaims(cluster: SimCluster): void {
  const admin = administrator(cluster);
  const { pods } = new ApiWorld(cluster, { ok: () => true });
  for (const name of ['shared-n0', 'pair-n0']) {
    const users = pods.filter(({ spec }) => spec.resourceClaims?.some(({ resourceClaimName }) => resourceClaimName === name) === true);
    const reservedFor = users.map(({ metadata }) => ({ resource: 'pods', name: metadata.name, uid: metadata.uid }));
    admin.patch('resourceclaims', name, { status: { reservedFor } }, 'status', 'default');
  }
}

/** A pod with files of its own, whose image no other pod has. */
export function plainPod(name: string): Pod {
  const volumes = [
    { name: 'disk', emptyDir: {} },
    { name: 'settings', configMap: { name: 'settings' } },
  ];
  const volumeMounts = volumes.map((volume) => ({ name: volume.name, mountPath: `/${volume.name}` }));
  const pod = podOf(name, { image: `${name}:1`, grace: 1 });
  return { ...pod, spec: { ...pod.spec, volumes, containers: pod.spec.containers.map((container) => ({ ...container, volumeMounts })) } };
}

export function allRun(cluster: SimCluster): boolean {
  return new ApiWorld(cluster, { ok: () => true }).pods.every(({ status }) => status?.phase === 'Running');
}

/** The only container of a pod that runs. */
export function runningContainer(node: SimClusterNode, uid: string): string | null {
  return node.containers(uid).find(({ state }) => state === 'running')?.id ?? null;
}
