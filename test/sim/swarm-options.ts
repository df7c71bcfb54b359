// What a swarm's seed stands for: how many nodes and pods, what goes wrong and how often, and in which order things happen.
// Invariant: everything follows from the seed, so that one number repeats a run.
import type { ImageGcPolicy } from '../../src/domain/gc/image-gc.js';
import { defaultImageSettings, type ImageSettings } from '../../src/domain/images/image-manager-state.js';
import { draw, streamOf } from '../../src/domain/kernel/random.js';
import type { Container, LifecycleHandler, Probe } from '../../src/ports/model/container.js';
import type { Pod } from '../../src/ports/model/pod.js';
import type { PortErrorKind } from '../../src/ports/port-error.js';
import type { FaultAction, FaultRule, SimClusterOptions } from '../../src/sim/index.js';
import { ms, podOf, second } from './sim-pods.js';

/** A stream of draws for one purpose. */
export class Dice {
  private n = 0;
  private readonly stream: number;

  constructor(seed: number, purpose: string) {
    this.stream = streamOf(seed, 'swarm', purpose);
  }

  next(): number {
    return draw(this.stream, this.n++);
  }

  below(limit: number): number {
    return Math.floor(this.next() * limit);
  }

  between(least: number, most: number): number {
    return least + this.below(most - least + 1);
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  of<T>(choices: readonly T[]): T {
    return choices[this.below(choices.length)] as T;
  }
}

export interface SwarmOptions {
  readonly cluster: SimClusterOptions;
  readonly files: number;
  /** Things that happen in the first phase, each after a pause of up to `pause`. */
  readonly actions: number;
  readonly pause: number;
  /** How likely an action is one of these; else a manifest changes. */
  readonly kills: number;
  readonly outages: number;
  readonly deaths: number;
  /** The nodes are a cluster's: pods come from an apiserver too. */
  readonly inCluster: boolean;
  /** Pods have probes and hooks. */
  readonly probed: boolean;
}

const limited = ['runtime.version', 'runtime.status', 'runtime.listPods', 'runtime.inspectPod', 'sandboxes.run', 'sandboxes.stop', 'sandboxes.remove'] as const;
const limitedToo = [
  'containers.create',
  'containers.start',
  'containers.stop',
  'containers.remove',
  'images.status',
  'images.list',
  'images.remove',
  'images.fsInfo',
  'filesystemUsage.usage',
] as const;
/** Operations with a time limit, whose answer may be lost. */
export const hangingOperations: readonly string[] = [...limited, ...limitedToo];
const files = ['podDirectories.*', 'podVolumes.*', 'volumeMounts.*', 'hostPaths.*', 'subPaths.*', 'podLogs.*', 'containerLogs.*', 'podCgroups.*'] as const;
const others = ['images.pull', 'pullRecords.*', 'registryCredentials.*', 'containers.reopenLog', ...files, 'events.record', 'manifestDirectory.*'] as const;
/** Hooks wait for as long as it takes, so the answer to a command may fail or be late, but never be lost. */
const asking = ['containers.execSync', 'probing.http', 'probing.tcp', 'probing.grpc'] as const;
const apiOperations = ['apiReader.list', 'apiReader.get', 'apiReader.watch', 'apiWriter.create', 'apiWriter.update', 'apiWriter.patch', 'apiWriter.delete', 'machine.*'] as const;
const kinds: readonly PortErrorKind[] = ['unavailable', 'internal', 'unknown', 'deadline-exceeded', 'resource-exhausted'];

export function swarmOptions(seed: number): SwarmOptions {
  const dice = new Dice(seed, 'options');
  const nodes = Array.from({ length: dice.of([1, 1, 1, 2]) }, (_, i) => `n${i}`);
  const settings = { runtimeRequestTimeout: dice.of([5, 20, 120]) * second, maxContainerRestartPeriod: dice.of([null, 5 * second, 60 * second]), cgroupsPerQos: dice.chance(0.8) };
  const logRotation = { maxSizeBytes: 64 * 1024, maxFiles: 3, maxWorkers: 2, monitorInterval: 10 * second };
  const slow = dice.of([1, 1, 3, 20]);
  const latencies = { runSandbox: 150 * ms * slow, createContainer: 20 * ms * slow, startContainer: 60 * ms * slow, look: ms * slow };
  const runtime = { latencies, pullBytesPerSecond: dice.of([50_000_000, 2_000_000]), images: unusedImages };
  const probed = new Dice(seed, 'probed').chance(0.4);
  const inCluster = new Dice(seed, 'cluster').chance(0.4);
  const cluster = {
    seed,
    nodes,
    settings: { ...settings, logRotation, ...imageSettingsOf(new Dice(seed, 'images')) },
    runtime,
    ...(inCluster ? { apiserver: {}, node: {} } : {}),
    runtimeTellsChanges: dice.chance(0.5),
    faults: [...faultRules(dice), ...(probed ? faultRules(new Dice(seed, 'asking'), asking) : []), ...(inCluster ? faultRules(new Dice(seed, 'api'), apiOperations) : [])],
  };
  return {
    cluster,
    files: dice.between(1, 7),
    actions: dice.between(10, 60),
    pause: dice.of([1, 5, 20]) * second,
    kills: dice.of([0, 0.05, 0.2]),
    outages: dice.of([0, 0.05]),
    deaths: dice.of([0, 0.1]),
    inCluster,
    probed,
  };
}

/** Images that nothing uses go soon, or when the disk is full, which it always is. */
function imageSettingsOf(dice: Dice): { readonly imageGc: ImageGcPolicy; readonly images: ImageSettings } {
  const minAge = dice.of([0, 30 * second]);
  const imageGc = dice.chance(0.5)
    ? { highThresholdPercent: 1, lowThresholdPercent: 0, minAge, maxAge: 0 }
    : { highThresholdPercent: 85, lowThresholdPercent: 80, minAge, maxAge: minAge + 30 * second };
  return { imageGc, images: dice.chance(0.5) ? defaultImageSettings : { ...defaultImageSettings, credentialProviders: [absentPlugin] } };
}

const unusedImages = Array.from({ length: 5 }, (_, i) => ({ reference: `unused:${i}`, sizeBytes: 1_000_000, present: true }));
/** There is no such program: pulls go on without it. */
const absentPlugin = {
  ...{ name: 'plugin', matchImages: ['docker.io'], defaultCacheDuration: 0, apiVersion: 'credentialprovider.kubelet.k8s.io/v1' },
  ...{ args: [], env: [], tokenAttributes: null },
};

function faultRules(dice: Dice, operations: readonly string[] = [...hangingOperations, ...others]): FaultRule[] {
  const intensity = dice.of([0, 0.02, 0.1, 0.3]);
  if (intensity === 0) return [];
  return operations.flatMap((operation): FaultRule[] => {
    if (!dice.chance(0.6)) return [];
    return [{ operation, trigger: { probability: intensity * dice.next() }, action: faultAction(dice, operation) }];
  });
}

function faultAction(dice: Dice, operation: string): FaultAction {
  const kind = dice.of(['error', 'error', 'delay', 'hang'] as const);
  const moment = dice.of(['before', 'after'] as const);
  if (kind === 'hang' && hangingOperations.includes(operation)) return { kind, moment };
  if (kind === 'delay') return { kind, moment, micros: dice.of([100 * ms, 2 * second, 15 * second]) };
  return { kind: 'error', moment, error: dice.of(kinds), message: `planned failure of ${operation}` };
}

/** What a pod has to come to when nothing goes wrong any more. */
export type Expectation = 'runs' | 'ends' | 'crashes';
export interface SwarmPod {
  readonly pod: Pod;
  readonly expected: Expectation;
}

/**
 * A pod as a person might write it; `version` makes one manifest's versions differ. Under one uid of its own only images and environment
 * change, as an API server would have it: scripts come with the sandbox, and a pod that has ended stays so.
 */
export function swarmPod(actions: Dice, file: number, version: number): SwarmPod {
  const made = plainPod(actions, file, version);
  // By what doesn't change under one uid.
  const key = made.pod.metadata.uid ?? String(version);
  const featured = withFeatures(made, new Dice(file, `features of ${key}`));
  const mounts = new Dice(file, key).chance(0.3);
  const pod = withSurroundings(featured.pod, new Dice(file, `surroundings of ${key}`));
  return { ...featured, pod: mounts ? withVolumes(pod) : pod };
}

/** A pod with some of what else a spec may ask for. */
function withFeatures({ pod, expected }: SwarmPod, dice: Dice): SwarmPod {
  const { spec } = pod;
  const env = [
    { name: 'NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
    { name: 'LIMIT', valueFrom: { resourceFieldRef: { resource: 'limits.memory' } } },
    { name: 'BOTH', value: '$(NAME)-$(LIMIT)' },
  ];
  const roll = dice.below(8);
  switch (roll) {
    case 0:
      return { expected: 'ends', pod: { ...pod, spec: { ...spec, activeDeadlineSeconds: dice.between(1, 40) } } };
    case 1:
      return {
        expected,
        pod: {
          ...pod,
          spec: { ...spec, shareProcessNamespace: true, containers: spec.containers.map((container) => ({ ...container, env: [...(container.env ?? []), ...env] })) },
        },
      };
    case 2:
      return {
        expected,
        pod: { ...pod, spec: { ...spec, securityContext: { runAsUser: 1000, runAsNonRoot: true, supplementalGroups: [5] }, setHostnameAsFQDN: true, subdomain: 'sub' } },
      };
    case 3:
      // A container that runs for good starts again whatever its pod's policy says.
      return expected === 'runs' && spec.initContainers === undefined
        ? { expected, pod: { ...pod, spec: { ...spec, restartPolicy: 'Never', containers: spec.containers.map((container) => ({ ...container, restartPolicy: 'Always' })) } } }
        : { pod, expected };
    case 4:
      return expected === 'runs' ? { expected, pod: restartedWhole(pod) } : { pod, expected };
    default:
      return { pod, expected };
  }
}

/** Namespaces, groups and pull policies, drawn apart from everything else. */
function withSurroundings({ metadata, spec }: Pod, dice: Dice): Pod {
  // Users of its own and a namespace of the host exclude each other.
  const namespaces = spec.hostNetwork === true ? dice.of([{}, { hostPID: true }]) : dice.of([{}, {}, { hostUsers: false }, { hostIPC: true }, { hostPID: true, hostIPC: true }]);
  const fsGroup = dice.of([null, null, 'Always', 'OnRootMismatch'] as const);
  const groups = fsGroup === null ? {} : { securityContext: { ...spec.securityContext, fsGroup: 2000, fsGroupChangePolicy: fsGroup } };
  const pulled = (container: Container): Container => (dice.chance(0.2) ? { ...container, imagePullPolicy: 'Always' } : container);
  const { containers, initContainers } = spec;
  const inits = initContainers === undefined ? {} : { initContainers: initContainers.map(pulled) };
  return { metadata, spec: { ...spec, ...(spec.shareProcessNamespace === true ? {} : namespaces), ...groups, containers: containers.map(pulled), ...inits } };
}

/** One container ends with a code that has all of them start again. */
function restartedWhole({ metadata, spec }: Pod): Pod {
  const [first, ...others] = spec.containers;
  if (first === undefined) return { metadata, spec };
  const rule = { action: 'RestartAllContainers' as const, exitCodes: { operator: 'In' as const, values: [42] } };
  const annotations = { ...metadata.annotations, [`sim.kubelet-ts/${first.name}`]: 'run=3s,exit=42; run=forever' };
  return { metadata: { ...metadata, annotations }, spec: { ...spec, containers: [{ ...first, restartPolicy: 'Always', restartPolicyRules: [rule] }, ...others] } };
}

/** Every container mounts every kind of volume that the node has, and a part of one. */
function withVolumes({ metadata, spec }: Pod): Pod {
  const items = [{ path: 'name', fieldRef: { fieldPath: 'metadata.name' } }];
  const volumes = [
    { name: 'disk', emptyDir: {} },
    { name: 'memory', emptyDir: { medium: 'Memory' } },
    { name: 'info', downwardAPI: { defaultMode: 0o644, items } },
    { name: 'host', hostPath: { path: '/srv/swarm', type: 'DirectoryOrCreate' } },
    { name: 'share', nfs: { server: 'files', path: '/share' } },
  ];
  const volumeMounts = [...volumes.map(({ name }) => ({ name, mountPath: `/${name}` })), { name: 'disk', mountPath: '/part', subPath: 'a/part' }];
  const mounting = (container: Container): Container => ({ ...container, volumeMounts });
  const { containers, initContainers } = spec;
  return { metadata, spec: { ...spec, volumes, containers: containers.map(mounting), ...(initContainers === undefined ? {} : { initContainers: initContainers.map(mounting) }) } };
}

function plainPod(actions: Dice, file: number, version: number): SwarmPod {
  const name = `p${file}`;
  const uid = actions.chance(0.4) ? `uid-${file}-${actions.below(2)}` : undefined;
  const image = actions.of(['busybox', 'nginx:1', 'app:2']);
  const dice = uid === undefined ? actions : new Dice(file, uid);
  const common = {
    ...(uid === undefined ? {} : { uid }),
    grace: dice.of([0, 1, 3, 8]),
    env: String(version),
    image,
    spec: { hostNetwork: dice.chance(0.2) },
  };
  const stop = dice.of(['term=0s', 'term=1s,log=40/s', 'term=20s', 'ignore-term']);
  switch (dice.below(6)) {
    case 0:
      return { expected: 'ends', pod: podOf(name, { ...common, policy: 'Never', containers: { c: `run=${dice.between(1, 20)}s,exit=${dice.below(2)}`, d: 'run=3s' } }) };
    case 1:
      return { expected: 'ends', pod: podOf(name, { ...common, policy: 'OnFailure', containers: { c: `run=2s,exit=1; run=${dice.between(1, 9)}s` }, sidecars: { s: stop } }) };
    case 2:
      return { expected: 'crashes', pod: podOf(name, { ...common, containers: { c: 'run=2s,exit=1', d: stop } }) };
    case 3:
      return { expected: 'runs', pod: podOf(name, { ...common, init: { i: 'run=1s,exit=1; run=2s', j: 'run=1s' }, containers: { c: stop } }) };
    case 4:
      return {
        expected: 'runs',
        pod: podOf(name, { ...common, sidecars: { s: stop, t: 'term=1s' }, init: { i: 'run=1s' }, containers: { c: stop, d: 'run=30s,exit=1; run=forever' } }),
      };
    default:
      return { expected: 'runs', pod: podOf(name, { ...common, containers: { c: stop, d: stop } }) };
  }
}

/** The same pod with probes and hooks, drawn apart from everything else. */
export function withProbesAndHooks({ pod, expected }: SwarmPod, file: number): SwarmPod {
  const dice = new Dice(file, `probes of ${pod.metadata.uid ?? ''}`);
  const handlers: readonly Probe[] = [{ exec: { command: ['check'] } }, { httpGet: { port: 80 } }, { tcpSocket: { port: 80 } }, { grpc: { port: 80 } }];
  const probe = (failureThreshold: number): Probe => ({ ...dice.of(handlers), periodSeconds: dice.between(1, 5), timeoutSeconds: 2, failureThreshold });
  // The node of a world has no address of its own, without which a hook on the host's network has nobody to ask.
  const httpGet = { port: 80, ...(pod.spec.hostNetwork === true ? { host: '127.0.0.1' } : {}) };
  const hook = (): LifecycleHandler => dice.of([{ exec: { command: ['hook'] } }, { httpGet }, { sleep: { seconds: dice.between(0, 3) } }]);
  const dressed = (container: Container): Container => ({
    ...container,
    ...(dice.chance(0.5) ? { readinessProbe: probe(2) } : {}),
    ...(dice.chance(0.5) ? { livenessProbe: probe(3) } : {}),
    ...(dice.chance(0.3) ? { startupProbe: probe(30) } : {}),
    lifecycle: { ...(dice.chance(0.3) ? { postStart: hook() } : {}), ...(dice.chance(0.5) ? { preStop: hook() } : {}) },
  });
  const { containers, initContainers } = pod.spec;
  const sidecars = initContainers?.map((container) => (container.restartPolicy === 'Always' ? dressed(container) : container));
  return { expected, pod: { ...pod, spec: { ...pod.spec, containers: containers.map(dressed), ...(sidecars === undefined ? {} : { initContainers: sidecars }) } } };
}
