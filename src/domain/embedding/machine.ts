// The agent as a machine, for embedders: validates its initial settings once, when it is created. Later inputs of its kernel are checked by
// the types alone: validating each of millions of steps would cost more than the steps.
import type { ManifestContent } from '../../ports/outbound/manifests.js';
import type { AgentOperations } from '../../ports/outbound/outbound-ports.js';
import * as agents from '../agent/agent.js';
import type { AgentEvent, AgentState } from '../agent/agent-state.js';
import * as agentStates from '../agent/agent-state.js';
import type { KubeletEvent, KubeletOperations, KubeletSettings, KubeletState } from '../agent/kubelet.js';
import * as kubelets from '../agent/kubelet.js';
import type { AgentSettings } from '../agent/settings.js';
import * as defaultFacts from '../containers/default-node-facts.js';
import type { NodeFacts } from '../containers/node-facts.js';
import { AssertionFailed } from '../kernel/assert.js';
import * as canonical from '../kernel/canonical.js';
import type { Machine } from '../kernel/machine.js';
import type { ManifestContext } from '../pod-sources/decode-manifest.js';
import type { ManifestPods } from '../pod-sources/manifest-pods.js';
import * as manifests from '../pod-sources/manifest-pods.js';
import { alignmentShape } from './alignment-shape.js';
import { resourceListShape } from './api-object-shapes.js';
import { draShape } from './dra-shape.js';
import {
  bigInteger,
  checkArgument,
  dictionaryOf,
  expected,
  flag,
  integer,
  isRecord,
  listOf,
  measured,
  nullable,
  oneOf,
  recordOf,
  type Shape,
  someMap,
  text,
  wholeNumber,
} from './shape.js';

const duration = wholeNumber(1, Number.MAX_SAFE_INTEGER);
const rotationShape = recordOf({ maxSizeBytes: measured, maxFiles: wholeNumber(2, 1_000_000), maxWorkers: wholeNumber(1, 1_000_000), monitorInterval: duration });
const limitsShape = recordOf({ parallel: nullable(wholeNumber(1, 1_000_000)), perSecond: measured, burst: measured });
const verificationShape: Shape = (value, path) => {
  const kinds = ['NeverVerify', 'NeverVerifyPreloadedImages', 'AlwaysVerify', 'NeverVerifyAllowlistedImages'];
  const lists = isRecord(value) && value.kind === 'NeverVerifyAllowlistedImages' ? { allowlist: listOf(text) } : {};
  return recordOf({ kind: oneOf(kinds), ...lists })(value, path);
};
const tokensShape = recordOf({
  ...{ serviceAccountTokenAudience: text, cacheType: oneOf(['Token', 'ServiceAccount']), requireServiceAccount: flag },
  ...{ requiredServiceAccountAnnotationKeys: listOf(text), optionalServiceAccountAnnotationKeys: listOf(text) },
});
const providerShape = recordOf({
  ...{ name: text, matchImages: listOf(text), defaultCacheDuration: measured, apiVersion: text, args: listOf(text) },
  ...{ env: listOf(recordOf({ name: text, value: text })), tokenAttributes: nullable(tokensShape) },
});
const percent = wholeNumber(0, 100);
const imageGcShape = recordOf({ highThresholdPercent: percent, lowThresholdPercent: percent, minAge: measured, maxAge: measured });
const imagesShape = recordOf({ limits: limitsShape, verification: nullable(verificationShape), credentialProviders: listOf(providerShape) });
const bootMomentShape = recordOf({ bootId: text, at: integer });
const endFields = {
  ...{ uid: text, namespace: text, name: text, at: integer, sinceBoot: nullable(bootMomentShape) },
  ...{ version: nullable(text), manifestUid: text, wasAside: flag, file: text },
};
const setAsideShape = recordOf({ ends: listOf(recordOf(endFields)), forgiven: nullable(text) });
const observedTimesShape = recordOf({ text: nullable(text), bootId: text, bootedAt: integer });
const userNamespacesShape = recordOf({ idsPerPod: wholeNumber(1, 2 ** 32), firstId: wholeNumber(1, 2 ** 32), slots: wholeNumber(1, 2 ** 32) });
const settingsFields = {
  ...{ nodeName: text, nodeIps: listOf(text), podLogsDirectory: text, containerLogLinks: nullable(text), apiserver: flag },
  ...{ runtimeRequestTimeout: duration, relistPeriod: duration, runtimeSendsEvents: flag, syncFrequency: duration, maxContainerRestartPeriod: nullable(duration) },
  containerGc: recordOf({ minAge: integer, maxPerPodContainer: integer, maxContainers: integer }),
  ...{ logRotation: nullable(rotationShape), images: imagesShape, imageGc: imageGcShape, podCidr: text, userNamespaces: userNamespacesShape, cgroupsPerQos: flag },
  nodeCgroups: recordOf({ pods: recordOf({}), hugePageBytes: listOf(bigInteger), reservedMemoryPercent: nullable(integer), allocatableMemoryBytes: bigInteger }),
  ...{ alignment: nullable(alignmentShape), dra: nullable(draShape), takesPlugins: flag, appArmorProblem: nullable(text), podLevelResources: flag },
  declaredFeatures: nullable(listOf(text)),
  resizeGates: recordOf({ podLevel: flag, initContainers: flag }),
  setAside: setAsideShape,
  observedTimes: observedTimesShape,
};
const settingsShape = recordOf({ ...settingsFields, sources: listOf(oneOf(['api', 'file', 'http'])) });
const factsFields: Readonly<Record<Exclude<keyof NodeFacts, 'memoryQos' | 'swap'>, Shape>> = {
  ...{ cgroupVersion: oneOfNumbers(1, 2), machineMemoryBytes: measured, cpuCfsQuota: flag, cpuCfsQuotaPeriod: duration, singleProcessOomKill: flag },
  hugePageSizes: listOf(text),
  ...{ clusterDns: listOf(text), clusterDomain: text, resolvConf: nullable(text), resolvConfPath: text, nodeIps: listOf(text) },
  ...{ rootDirectory: text, podLogsDirectory: text, cgroupRoot: text, cgroupDriver: oneOf(['cgroupfs', 'systemd']), cgroupsPerQos: flag, podPidsLimit: integer },
  ...{
    hostsFile: text,
    seccompDefault: flag,
    selinuxEnabled: flag,
    seLinuxFileLabel: text,
    seLinuxMount: flag,
    projectQuotas: flag,
    memoryVolumesMaySwap: flag,
    containerStopSignals: flag,
    changesStatusOnRestart: flag,
  },
  ...{ thermalThrottlePaths: listOf(text), runtimeClasses: dictionaryOf(text) },
  runtimeHandlers: listOf(recordOf({ name: text, recursiveReadOnlyMounts: flag, userNamespaces: flag })),
  ...{ nodeAddresses: listOf(recordOf({ type: text, address: text })), allocatable: resourceListShape },
};
const memoryQosShape = recordOf({ reservationPolicy: text, throttlingFactor: fraction, allocatableMemoryBytes: nullable(measured), memoryPageBytes: measured });
const moreFacts = { swap: recordOf({ behavior: text, bytes: measured, controllerAvailable: flag }), memoryQos: nullable(memoryQosShape) };
const factsShape = recordOf({ ...factsFields, ...moreFacts });
const sourceFields = { nodeName: text, preventApiReferences: flag, checkPeriod: duration };
const fileSourceShape = nullable(recordOf({ ...sourceFields, path: text }));
const urlSourceShape = nullable(recordOf({ ...sourceFields, url: text, headers: dictionaryOf(listOf(text)) }));
const agentStateShape = recordOf({
  settings: settingsShape,
  nodeFacts: factsShape,
  probes: recordOf({ results: recordOf({}) }),
  runs: someMap,
  statuses: someMap,
  fileSource: nullable(recordOf({ settings: recordOf({ path: text }) })),
  urlSource: nullable(recordOf({})),
  withdrawn: flag,
});
const kubeletStateShape = recordOf({ agent: agentStateShape });
const contentShape: Shape = (value, path) => {
  const problem = recordOf({ kind: oneOf(['document', 'unreadable', 'skipped', 'absent']) })(value, path);
  if (problem !== null || !isRecord(value)) return problem;
  if (value.kind === 'document') return recordOf({ notes: listOf(text) })(value, path);
  return value.kind === 'absent' ? null : recordOf({ message: text })(value, path);
};
const originShape: Shape = (value, path) =>
  isRecord(value) && value.kind === 'http' ? recordOf({ url: text })(value, path) : recordOf({ kind: oneOf(['file', 'http']), path: text })(value, path);

function fraction(value: unknown, path: string): string | null {
  return typeof value === 'number' && value >= 0 && value <= 1 ? null : expected(path, 'a number from 0 to 1', value);
}

function oneOfNumbers(...numbers: readonly number[]): Shape {
  return (value, path) => (numbers.includes(value as number) ? null : `${path}: expected one of ${numbers.join(', ')}`);
}

/**
 * The inputs of a sandbox's and a container's configuration besides the pod: a small node with overrides.
 * @param given fields of NodeFacts; bytes, microseconds and texts as there
 * @throws AssertionFailed where a field has another type
 */
export function nodeFacts(given: Partial<NodeFacts> = {}): NodeFacts {
  checkArgument('given', given, recordOf({}, { ...factsFields, ...moreFacts }));
  return defaultFacts.nodeFacts(given);
}

/**
 * The state of a new agent: it knows no pod and has not listed the runtime.
 * @param settings durations in microseconds
 * @throws AssertionFailed where a field of an argument has another type
 */
export function newAgentState(settings: AgentSettings, nodeFacts: NodeFacts): AgentState {
  checkArgument('settings', settings, settingsShape);
  checkArgument('nodeFacts', nodeFacts, factsShape);
  return agentStates.newAgentState(settings, nodeFacts);
}

/**
 * The state of a new kubelet of a standalone node: an agent and the sources of its static pods.
 * @param settings durations in microseconds
 * @throws AssertionFailed where a field of an argument has another type
 */
export function newKubeletState(settings: KubeletSettings, nodeFacts: NodeFacts): KubeletState {
  checkArgument(
    'settings',
    settings,
    recordOf({ agent: recordOf(settingsFields), node: nullable(recordOf({ nodeName: text })), fileSource: fileSourceShape, urlSource: urlSourceShape }),
  );
  checkArgument('nodeFacts', nodeFacts, factsShape);
  return kubelets.newKubeletState(settings, nodeFacts);
}

/**
 * The agent of a node without sources: its pods come as events. Give it to a `Kernel`, with the same state.
 * @param state of `newAgentState`, or a copy of such a one
 * @throws AssertionFailed where `state` is none
 */
export function agentMachine(state: AgentState): Machine<AgentState, AgentEvent, AgentOperations> {
  checkArgument('state', state, agentStateShape);
  return agents.agentMachine(state);
}

/**
 * The kubelet of a standalone node: an agent whose pods come from a manifest path and a URL. Give it to a `Kernel`, with the same state.
 * @param state of `newKubeletState`, or a copy of such a one
 * @throws AssertionFailed where `state` is none
 */
export function kubeletMachine(state: KubeletState): Machine<KubeletState, KubeletEvent, KubeletOperations> {
  checkArgument('state', state, kubeletStateShape);
  return kubelets.kubeletMachine(state);
}

/**
 * The pods of one manifest, decoded, defaulted and validated as by a kubelet; or a one-line error with file and field.
 * @param content the parsed file: a document is plain data, as in JSON
 * @param context the node and the manifest's source
 * @throws AssertionFailed where an argument has another type. The content of the document is not checked: it may be anything
 */
export function podsOfManifest(content: ManifestContent, context: ManifestContext): ManifestPods {
  checkArgument('content', content, contentShape);
  checkArgument('context', context, recordOf({ nodeName: text, origin: originShape, preventApiReferences: flag }));
  return manifests.podsOfManifest(content, context);
}

/**
 * One canonical text for one value: keys sorted, Maps, Sets, bigints and bytes tagged. For comparing states and outputs.
 * @param value plain data: objects, arrays, Maps, Sets, bigints, bytes, primitives; undefined members are omitted
 * @throws AssertionFailed for functions, symbols or cycles
 */
export function canonicalJson(value: unknown): string {
  checkArgument('value', value, plainData(new Set()));
  return canonical.canonicalJson(value);
}

/**
 * The value of a text of `canonicalJson`.
 * @throws AssertionFailed where `text` is no such text
 */
export function parseCanonicalJson(text: string): unknown {
  checkArgument('text', text, aText);
  try {
    return canonical.parseCanonicalJson(text);
  } catch (error) {
    throw new AssertionFailed(`text: expected canonical JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/**
 * A hash of a text, 16 hexadecimal digits: for comparing runs, not for security.
 * @param seed an integer; another one gives another hash
 * @throws AssertionFailed where an argument has another type
 */
export function hashText(text: string, seed = 0): string {
  checkArgument('text', text, aText);
  checkArgument('seed', seed, integer);
  return canonical.hashText(text, seed);
}

const aText = text;

function plainData(above: Set<unknown>): Shape {
  return (value, path) => {
    if (typeof value === 'function' || typeof value === 'symbol') return expected(path, 'plain data', value);
    if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return null;
    if (above.has(value)) return `${path}: expected plain data, got a value that contains itself`;
    above.add(value);
    const members = value instanceof Map ? [...value].flat() : value instanceof Set ? [...value] : Object.values(value);
    for (const member of members) {
      const problem = plainData(above)(member, path);
      if (problem !== null) return problem;
    }
    above.delete(value);
    return null;
  };
}
