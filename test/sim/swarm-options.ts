// The options of a swarm's seed: the number of nodes and pods, the kinds and frequency of faults, and the order of events.
// Invariant: everything follows from the seed, so that one number repeats a run.
import type { ImageGcPolicy } from '../../src/domain/gc/image-gc.js';
import { defaultImageSettings, type ImageSettings } from '../../src/domain/images/image-manager-state.js';
import type { PortErrorKind } from '../../src/ports/port-error.js';
import type { ApiFaultRule, FaultAction, FaultRule, SimClusterOptions } from '../../src/sim/index.js';
import { Dice } from './dice.js';
import { ms, second } from './sim-pods.js';
import { alignedCluster, alignmentOperations } from './swarm-alignment.js';
import { apiFaultRules } from './swarm-api-faults.js';
import { claimOperations } from './swarm-claims.js';
import { sandboxedClass } from './swarm-pods.js';
import { evictionSettings } from './swarm-pressure.js';

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
  /** The node goes down, or nearly. */
  readonly shutdowns: number;
  /** The nodes are a cluster's: pods come from an apiserver too. */
  readonly inCluster: boolean;
  /** Drivers register, and pods have volumes of theirs. */
  readonly plugins: boolean;
  /** What its apiserver does to the nodes. */
  readonly apiFaults: readonly ApiFaultRule[];
  /** Nodes run short of memory and disk, and evict. */
  readonly pressed: boolean;
  /** Pods have probes and hooks. */
  readonly probed: boolean;
  /** Containers may have CPUs of their own. */
  readonly aligned: boolean;
  /** DRA drivers register, and pods use claims. */
  readonly claims: boolean;
  /** What is fatal to be asked for about some pods; null: no pod ends the agent. */
  readonly deadly: string | null;
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
const measuring = ['nodeStats.summary'] as const;
const shutdownOperations = ['nodeShutdown.inhibit', 'nodeShutdown.release', 'nodeShutdown.readRecord', 'nodeShutdown.writeRecord'] as const;
const quotaOperations = ['projectQuotas.assign', 'projectQuotas.clear'] as const;
const csiCalls = ['csiNode.info', 'csiNode.capabilities', 'csiNode.stage', 'csiNode.publish', 'csiNode.unpublish', 'csiNode.unstage', 'csiNode.expand'] as const;
const pluginCalls = ['pluginSockets.info', 'pluginSockets.notify'] as const;
const deviceOperations = ['blockDevices.map', 'blockDevices.mark', 'blockDevices.unmap', 'blockDevices.users'] as const;
const pluginOperations = [
  ...csiCalls,
  ...pluginCalls,
  'pluginSockets.scan',
  'csiFiles.prepare',
  'csiFiles.read',
  'csiFiles.remove',
  'csiFiles.staged',
  'csiFiles.prepareDevice',
  'csiFiles.removeDevice',
  ...deviceOperations,
] as const;
/** Operations with a time limit, whose answer may be lost. */
export const hangingOperations: readonly string[] = [
  ...limited,
  ...limitedToo,
  ...csiCalls,
  ...pluginCalls,
  ...measuring,
  'nodeShutdown.inhibit',
  'podCertificateKeys.generate',
  'containers.updateResources',
  'draPlugin.prepare',
  'draPlugin.unprepare',
];
/** Those without one, which hang as long as a server of files does that is away for minutes. */
const hangingMounts: readonly string[] = ['podVolumes.*', 'volumeMounts.*', 'hostPaths.*', 'subPaths.*'];
const files = ['podDirectories.*', 'podVolumes.*', 'volumeMounts.*', 'hostPaths.*', 'subPaths.*', 'podLogs.*', 'containerLogs.*', 'podCgroups.*'] as const;
const others = ['images.pull', 'pullRecords.*', 'registryCredentials.*', 'containers.reopenLog', ...files, 'events.record', 'manifestDirectory.*'] as const;
/** Hooks wait for as long as it takes, so the answer to a command may fail or be late, but never be lost. */
const asking = ['containers.execSync', 'probing.http', 'probing.tcp', 'probing.grpc'] as const;
const apiOperations = [
  'apiReader.list',
  'apiReader.get',
  'apiReader.watch',
  'apiWriter.create',
  'apiWriter.update',
  'apiWriter.patch',
  'apiWriter.delete',
  'machine.*',
  'podCertificateKeys.generate',
] as const;
const kinds: readonly PortErrorKind[] = ['unavailable', 'internal', 'unknown', 'deadline-exceeded', 'resource-exhausted'];

export function swarmOptions(seed: number): SwarmOptions {
  const dice = new Dice(seed, 'options');
  const nodes = Array.from({ length: dice.of([1, 1, 1, 2]) }, (_, i) => `n${i}`);
  const settings = { runtimeRequestTimeout: dice.of([5, 20, 120]) * second, maxContainerRestartPeriod: dice.of([null, 5 * second, 60 * second]), cgroupsPerQos: dice.chance(0.8) };
  const logRotation = { maxSizeBytes: 64 * 1024, maxFiles: 3, maxWorkers: 2, monitorInterval: 10 * second };
  const slow = dice.of([1, 1, 3, 20]);
  const latencies = { runSandbox: 150 * ms * slow, createContainer: 20 * ms * slow, startContainer: 60 * ms * slow, look: ms * slow };
  const runtime = { latencies, pullBytesPerSecond: dice.of([50_000_000, 2_000_000]), images: unusedImages, runtimeHandlers: [sandboxedClass] };
  const probed = new Dice(seed, 'probed').chance(0.4);
  const inCluster = new Dice(seed, 'cluster').chance(0.4);
  const plugins = inCluster && new Dice(seed, 'storage').chance(0.7);
  const pressed = inCluster && new Dice(seed, 'pressed').chance(0.5);
  const watchesShutdowns = new Dice(seed, 'shuts down').chance(0.4);
  const projectQuotas = new Dice(seed, 'quotas').chance(0.5);
  const aligned = new Dice(seed, 'aligned').chance(0.4);
  const claims = plugins && new Dice(seed, 'claims').chance(0.6);
  const cluster = {
    seed,
    claims,
    ...(aligned ? alignedCluster(new Dice(seed, 'machine')) : {}),
    nodes,
    settings: {
      ...settings,
      takesPlugins: plugins,
      podCertificateProjection: inCluster,
      logRotation,
      ...(watchesShutdowns ? { shutdownPriorities } : {}),
      ...(pressed ? { eviction: evictionSettings(new Dice(seed, 'eviction')) } : {}),
      ...imageSettingsOf(new Dice(seed, 'images')),
    },
    runtime,
    ...(inCluster ? { apiserver: {}, node: {} } : {}),
    // Where there is an API, the class is one of its objects.
    facts: {
      projectQuotas,
      containerStopSignals: new Dice(seed, 'signals').chance(0.5),
      runtimeClasses: inCluster ? {} : { [sandboxedClass]: sandboxedClass },
    },
    runtimeSendsEvents: dice.chance(0.5),
    faults: [
      ...faultRules(dice),
      ...(probed ? faultRules(new Dice(seed, 'asking'), asking) : []),
      ...(inCluster ? faultRules(new Dice(seed, 'api'), apiOperations) : []),
      ...(pressed ? faultRules(new Dice(seed, 'measuring'), measuring, rareIntensities) : []),
      ...(watchesShutdowns ? faultRules(new Dice(seed, 'shutdowns'), shutdownOperations) : []),
      ...(projectQuotas ? faultRules(new Dice(seed, 'quotas at fault'), quotaOperations, rareIntensities) : []),
      ...(aligned ? faultRules(new Dice(seed, 'aligning'), alignmentOperations) : []),
      ...(claims ? faultRules(new Dice(seed, 'claiming'), claimOperations, rareIntensities) : []),
      ...(plugins ? faultRules(new Dice(seed, 'plugins'), pluginOperations, rareIntensities) : []),
    ],
  };
  return {
    cluster,
    files: dice.between(1, 7),
    actions: dice.between(10, 60),
    pause: dice.of([1, 5, 20]) * second,
    kills: dice.of([0, 0.05, 0.2]),
    outages: dice.of([0, 0.05]),
    deaths: dice.of([0, 0.1]),
    shutdowns: watchesShutdowns ? new Dice(seed, 'going down').of([0.02, 0.08]) : 0,
    inCluster,
    plugins,
    pressed,
    apiFaults: inCluster ? apiFaultRules(new Dice(seed, 'apiserver')) : [],
    probed,
    aligned,
    claims,
    deadly: new Dice(seed, 'deadly').chance(0.2) ? new Dice(seed, 'fatal').of(deadlyOperations) : null,
  };
}

/** In each part of a pod's life, and in the writes about it. */
const deadlyOperations = [
  'podDirectories.prepare',
  'images.status',
  'sandboxes.run',
  'containers.create',
  'containers.start',
  'containers.stop',
  'sandboxes.stop',
  'runtime.inspectPod',
  'apiWriter.patch',
  'podVolumes.list',
  'podDirectories.remove',
] as const;

const shutdownPriorities = [
  { priority: 0, shutdownGracePeriodSeconds: 15 },
  { priority: 2_000_000_000, shutdownGracePeriodSeconds: 5 },
];

/** Images that nothing uses go soon, or when the disk is full, which it always is. */
function imageSettingsOf(dice: Dice): { readonly imageGc: ImageGcPolicy; readonly images: ImageSettings } {
  const minAge = dice.of([0, 30 * second]);
  const imageGc = dice.chance(0.5)
    ? { highThresholdPercent: 1, lowThresholdPercent: 0, minAge, maxAge: 0 }
    : { highThresholdPercent: 85, lowThresholdPercent: 80, minAge, maxAge: minAge + 30 * second };
  return { imageGc, images: dice.chance(0.5) ? defaultImageSettings : { ...defaultImageSettings, credentialProviders: [absentPlugin] } };
}

const unusedImages = Array.from({ length: 5 }, (_, i) => ({ reference: `unused:${i}`, sizeBytes: 1_000_000, present: true }));
/** There is no such program: pulls continue without it. */
const absentPlugin = {
  ...{ name: 'plugin', matchImages: ['docker.io'], defaultCacheDuration: 0, apiVersion: 'credentialprovider.kubelet.k8s.io/v1' },
  ...{ args: [], env: [], tokenAttributes: null },
};

/** Of what is asked for once or twice a pod. */
const rareIntensities = [0, 0.1, 0.3, 0.6];

function faultRules(dice: Dice, operations: readonly string[] = [...limited, ...limitedToo, ...others], intensities: readonly number[] = [0, 0.02, 0.1, 0.3]): FaultRule[] {
  const intensity = dice.of(intensities);
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
  if (kind === 'delay') return { kind, moment, micros: dice.of([100 * ms, hangingMounts.includes(operation) ? 180 * second : 2 * second, 15 * second]) };
  return { kind: 'error', moment, error: dice.of(kinds), message: `planned failure of ${operation}` };
}
