// The fields of a v1 Pod and their types: the table for decoding manifests, answers of the apiserver and requests to the simulated one.
//
// A type is written as in the API's Go source:
//
//   *T          a pointer: unset differs from zero       []T      a list
//   +T          no `omitempty`: it is always written     map:T    a map with text keys
//   ~T          `omitzero`: a zero struct is omitted
//
// A plain scalar, list or map is omitted when it is zero or empty. A plain struct is always written, even if empty; so are plain times
// (as null), quantities and intOrStrings, which are structs in Go.
// Scalars: string, bool, int32, int64, quantity, time, intOrString, any (kept as it is).

import { volumeStructs } from './volume-schema.js';

const localObjectReference = { name: 'string' };
const optionalReference = { name: 'string', optional: '*bool' };
const keySelector = { ...optionalReference, key: '+string' };
const profile = { type: '+string', localhostProfile: '*string' };
const selectorRequirement = { key: '+string', operator: '+string', values: '[]string' };
const handler = { exec: '*ExecAction', httpGet: '*HTTPGetAction', tcpSocket: '*TCPSocketAction' };

const metadata = {
  ObjectMeta: {
    name: 'string',
    generateName: 'string',
    namespace: 'string',
    selfLink: 'string',
    uid: 'string',
    resourceVersion: 'string',
    generation: 'int64',
    creationTimestamp: '~time',
    deletionTimestamp: '*time',
    deletionGracePeriodSeconds: '*int64',
    labels: 'map:string',
    annotations: 'map:string',
    ownerReferences: '[]OwnerReference',
    finalizers: '[]string',
    managedFields: '[]any',
  },
  OwnerReference: { apiVersion: '+string', kind: '+string', name: '+string', uid: '+string', controller: '*bool', blockOwnerDeletion: '*bool' },
  LabelSelector: { matchLabels: 'map:string', matchExpressions: '[]LabelSelectorRequirement' },
  LabelSelectorRequirement: selectorRequirement,
  LocalObjectReference: localObjectReference,
} as const;

const podSpec = {
  Pod: { metadata: 'ObjectMeta', spec: '+PodSpec', status: 'PodStatus' },
  PodSpec: {
    volumes: '[]Volume',
    initContainers: '[]Container',
    containers: '+[]Container',
    ephemeralContainers: '[]EphemeralContainer',
    restartPolicy: 'string',
    terminationGracePeriodSeconds: '*int64',
    activeDeadlineSeconds: '*int64',
    dnsPolicy: 'string',
    nodeSelector: 'map:string',
    serviceAccountName: 'string',
    serviceAccount: 'string',
    automountServiceAccountToken: '*bool',
    nodeName: 'string',
    hostNetwork: 'bool',
    hostPID: 'bool',
    hostIPC: 'bool',
    shareProcessNamespace: '*bool',
    securityContext: '*PodSecurityContext',
    imagePullSecrets: '[]LocalObjectReference',
    hostname: 'string',
    subdomain: 'string',
    affinity: '*Affinity',
    schedulerName: 'string',
    tolerations: '[]Toleration',
    hostAliases: '[]HostAlias',
    priorityClassName: 'string',
    priority: '*int32',
    dnsConfig: '*PodDNSConfig',
    readinessGates: '[]PodReadinessGate',
    runtimeClassName: '*string',
    enableServiceLinks: '*bool',
    preemptionPolicy: '*string',
    overhead: 'map:quantity',
    topologySpreadConstraints: '[]TopologySpreadConstraint',
    setHostnameAsFQDN: '*bool',
    os: '*PodOS',
    hostUsers: '*bool',
    schedulingGates: '[]PodSchedulingGate',
    resourceClaims: '[]PodResourceClaim',
    resources: '*ResourceRequirements',
    hostnameOverride: '*string',
    // For schedulers only; the kubelet passes it on.
    schedulingGroup: '*PodSchedulingGroup',
  },
  PodSecurityContext: {
    seLinuxOptions: '*SELinuxOptions',
    windowsOptions: '*WindowsSecurityContextOptions',
    runAsUser: '*int64',
    runAsGroup: '*int64',
    runAsNonRoot: '*bool',
    supplementalGroups: '[]int64',
    supplementalGroupsPolicy: '*string',
    fsGroup: '*int64',
    sysctls: '[]Sysctl',
    fsGroupChangePolicy: '*string',
    seccompProfile: '*SeccompProfile',
    appArmorProfile: '*AppArmorProfile',
    seLinuxChangePolicy: '*string',
  },
  SELinuxOptions: { user: 'string', role: 'string', type: 'string', level: 'string' },
  WindowsSecurityContextOptions: { gmsaCredentialSpecName: '*string', gmsaCredentialSpec: '*string', runAsUserName: '*string', hostProcess: '*bool' },
  SeccompProfile: profile,
  AppArmorProfile: profile,
  Sysctl: { name: '+string', value: '+string' },
  Toleration: { key: 'string', operator: 'string', value: 'string', effect: 'string', tolerationSeconds: '*int64' },
  HostAlias: { ip: '+string', hostnames: '[]string' },
  PodDNSConfig: { nameservers: '[]string', searches: '[]string', options: '[]PodDNSConfigOption' },
  PodDNSConfigOption: { name: 'string', value: '*string' },
  PodReadinessGate: { conditionType: '+string' },
  PodOS: { name: '+string' },
  PodSchedulingGate: { name: '+string' },
  PodSchedulingGroup: { podGroupName: '*string' },
  PodResourceClaim: { name: '+string', resourceClaimName: '*string', resourceClaimTemplateName: '*string' },
  TopologySpreadConstraint: {
    maxSkew: '+int32',
    topologyKey: '+string',
    whenUnsatisfiable: '+string',
    labelSelector: '*LabelSelector',
    minDomains: '*int32',
    nodeAffinityPolicy: '*string',
    nodeTaintsPolicy: '*string',
    matchLabelKeys: '[]string',
  },
  Affinity: { nodeAffinity: '*NodeAffinity', podAffinity: '*PodAffinity', podAntiAffinity: '*PodAffinity' },
  NodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: '*NodeSelector', preferredDuringSchedulingIgnoredDuringExecution: '[]PreferredSchedulingTerm' },
  NodeSelector: { nodeSelectorTerms: '+[]NodeSelectorTerm' },
  NodeSelectorTerm: { matchExpressions: '[]NodeSelectorRequirement', matchFields: '[]NodeSelectorRequirement' },
  NodeSelectorRequirement: selectorRequirement,
  PreferredSchedulingTerm: { weight: '+int32', preference: '+NodeSelectorTerm' },
  PodAffinity: { requiredDuringSchedulingIgnoredDuringExecution: '[]PodAffinityTerm', preferredDuringSchedulingIgnoredDuringExecution: '[]WeightedPodAffinityTerm' },
  PodAffinityTerm: {
    labelSelector: '*LabelSelector',
    namespaces: '[]string',
    topologyKey: '+string',
    namespaceSelector: '*LabelSelector',
    matchLabelKeys: '[]string',
    mismatchLabelKeys: '[]string',
  },
  WeightedPodAffinityTerm: { weight: '+int32', podAffinityTerm: '+PodAffinityTerm' },
} as const;

const containerFields = {
  name: '+string',
  image: 'string',
  command: '[]string',
  args: '[]string',
  workingDir: 'string',
  ports: '[]ContainerPort',
  envFrom: '[]EnvFromSource',
  env: '[]EnvVar',
  resources: 'ResourceRequirements',
  resizePolicy: '[]ContainerResizePolicy',
  restartPolicy: '*string',
  restartPolicyRules: '[]ContainerRestartRule',
  volumeMounts: '[]VolumeMount',
  volumeDevices: '[]VolumeDevice',
  livenessProbe: '*Probe',
  readinessProbe: '*Probe',
  startupProbe: '*Probe',
  lifecycle: '*Lifecycle',
  terminationMessagePath: 'string',
  terminationMessagePolicy: 'string',
  imagePullPolicy: 'string',
  securityContext: '*SecurityContext',
  stdin: 'bool',
  stdinOnce: 'bool',
  tty: 'bool',
} as const;

const container = {
  Container: containerFields,
  EphemeralContainer: { ...containerFields, targetContainerName: 'string' },
  ContainerPort: { name: 'string', hostPort: 'int32', containerPort: '+int32', protocol: 'string', hostIP: 'string' },
  EnvFromSource: { prefix: 'string', configMapRef: '*OptionalReference', secretRef: '*OptionalReference' },
  OptionalReference: optionalReference,
  EnvVar: { name: '+string', value: 'string', valueFrom: '*EnvVarSource' },
  EnvVarSource: {
    fieldRef: '*ObjectFieldSelector',
    resourceFieldRef: '*ResourceFieldSelector',
    configMapKeyRef: '*KeySelector',
    secretKeyRef: '*KeySelector',
    fileKeyRef: '*FileKeySelector',
  },
  ObjectFieldSelector: { apiVersion: 'string', fieldPath: '+string' },
  ResourceFieldSelector: { containerName: 'string', resource: '+string', divisor: 'quantity' },
  KeySelector: keySelector,
  FileKeySelector: { volumeName: '+string', path: '+string', key: '+string', optional: '*bool' },
  ResourceRequirements: { limits: 'map:quantity', requests: 'map:quantity', claims: '[]ContainerResourceClaim' },
  // `ResourceClaim` in Go's core package; here that is the object of resource.k8s.io.
  ContainerResourceClaim: { name: '+string', request: 'string' },
  ContainerResizePolicy: { resourceName: '+string', restartPolicy: '+string' },
  ContainerRestartRule: { action: '+string', exitCodes: '*ContainerRestartRuleOnExitCodes' },
  ContainerRestartRuleOnExitCodes: { operator: '+string', values: '[]int32' },
  VolumeMount: {
    name: '+string',
    readOnly: 'bool',
    recursiveReadOnly: '*string',
    mountPath: '+string',
    subPath: 'string',
    mountPropagation: '*string',
    subPathExpr: 'string',
  },
  VolumeDevice: { name: '+string', devicePath: '+string' },
  Probe: {
    ...handler,
    grpc: '*GRPCAction',
    initialDelaySeconds: 'int32',
    timeoutSeconds: 'int32',
    periodSeconds: 'int32',
    successThreshold: 'int32',
    failureThreshold: 'int32',
    terminationGracePeriodSeconds: '*int64',
  },
  Lifecycle: { postStart: '*LifecycleHandler', preStop: '*LifecycleHandler', stopSignal: '*string' },
  LifecycleHandler: { ...handler, sleep: '*SleepAction' },
  ExecAction: { command: '[]string' },
  HTTPGetAction: { path: 'string', port: '+intOrString', host: 'string', scheme: 'string', httpHeaders: '[]HTTPHeader' },
  HTTPHeader: { name: '+string', value: '+string' },
  TCPSocketAction: { port: '+intOrString', host: 'string' },
  GRPCAction: { port: '+int32', service: '*string' },
  SleepAction: { seconds: '+int64' },
  SecurityContext: {
    capabilities: '*Capabilities',
    privileged: '*bool',
    seLinuxOptions: '*SELinuxOptions',
    windowsOptions: '*WindowsSecurityContextOptions',
    runAsUser: '*int64',
    runAsGroup: '*int64',
    runAsNonRoot: '*bool',
    readOnlyRootFilesystem: '*bool',
    allowPrivilegeEscalation: '*bool',
    procMount: '*string',
    seccompProfile: '*SeccompProfile',
    appArmorProfile: '*AppArmorProfile',
  },
  Capabilities: { add: '[]string', drop: '[]string' },
} as const;

const containerStatusFields = { name: 'string', ready: 'bool', restartCount: 'int32', image: 'string', imageID: 'string', containerID: 'string', started: '*bool' } as const;

/** A manifest's status is nearly always absent. Keeps the fields listed here; the kubelet fills the rest. */
const status = {
  PodStatus: {
    observedGeneration: 'int64',
    phase: 'string',
    conditions: '[]PodCondition',
    message: 'string',
    reason: 'string',
    nominatedNodeName: 'string',
    hostIP: 'string',
    hostIPs: '[]IP',
    podIP: 'string',
    podIPs: '[]IP',
    startTime: '*time',
    initContainerStatuses: '[]ContainerStatus',
    containerStatuses: '[]ContainerStatus',
    qosClass: 'string',
    ephemeralContainerStatuses: '[]ContainerStatus',
  },
  PodCondition: {
    type: 'string',
    observedGeneration: 'int64',
    status: 'string',
    lastProbeTime: 'time',
    lastTransitionTime: 'time',
    reason: 'string',
    message: 'string',
  },
  IP: { ip: 'string' },
  ContainerStatus: { ...containerStatusFields, state: '*any', lastState: '*any' },
} as const;

const structs = { ...metadata, ...podSpec, ...container, ...volumeStructs, ...status };

export type Scalar = 'string' | 'bool' | 'int32' | 'int64' | 'quantity' | 'time' | 'intOrString' | 'any';

/** When a field is written, and its value if absent. */
export interface Presence {
  /** Unset differs from zero. */
  readonly isPointer: boolean;
  /** Written also when it is zero. */
  readonly isAlways: boolean;
  /** A zero value may be absent although it is a struct in Go. */
  readonly omitsZero: boolean;
}

export type FieldType = Presence &
  (
    | { readonly kind: 'scalar'; readonly scalar: Scalar }
    | { readonly kind: 'struct'; readonly struct: string }
    | { readonly kind: 'list'; readonly item: FieldType }
    | { readonly kind: 'map'; readonly item: FieldType }
  );

export type StructFields = ReadonlyMap<string, FieldType>;

const scalars: ReadonlySet<string> = new Set<Scalar>(['string', 'bool', 'int32', 'int64', 'quantity', 'time', 'intOrString', 'any']);

/** The marks before a type, and the type without them. */
export function readPresence(text: string): Presence & { readonly bare: string } {
  const marks = /^[+~*]*/.exec(text)?.[0] ?? '';
  return { isPointer: marks.includes('*'), isAlways: marks.includes('+'), omitsZero: marks.includes('~'), bare: text.slice(marks.length) };
}

function readType(text: string, known: ReadonlySet<string>): FieldType {
  const { bare, ...presence } = readPresence(text);
  if (bare.startsWith('[]')) return { kind: 'list', item: readType(bare.slice(2), known), ...presence };
  if (bare.startsWith('map:')) return { kind: 'map', item: readType(bare.slice(4), known), ...presence };
  if (scalars.has(bare)) return { kind: 'scalar', scalar: bare as Scalar, ...presence };
  if (!known.has(bare)) throw new Error(`pod schema: no type ${bare}`);
  return { kind: 'struct', struct: bare, ...presence };
}

function readSchema(): ReadonlyMap<string, StructFields> {
  const known = new Set(Object.keys(structs));
  const schema = new Map<string, StructFields>();
  for (const [name, fields] of Object.entries(structs)) {
    schema.set(name, new Map(Object.entries(fields).map(([field, type]): [string, FieldType] => [field, readType(type, known)])));
  }
  return schema;
}

/** Structure name -> its fields. */
export const podSchema: ReadonlyMap<string, StructFields> = readSchema();
