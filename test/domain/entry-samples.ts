// Good arguments for each function of the package entry `kubelet-ts/domain`: the base of the tests of bad input.
import * as domain from '../../src/domain/index.js';
import type { Pod } from '../../src/ports/model/pod.js';

const core = (cpu: number) => ({ numaNode: 0, socket: 0, uncoreCache: null, threads: [cpu] });
/** Resource managers on a machine of two CPUs. */
const alignment = {
  ...domain.noAlignmentPolicies,
  ...{ cpuManagerPolicy: 'static', cpuManagerPolicyOptions: { 'full-pcpus-only': 'true' }, topologyManagerPolicy: 'restricted', memoryManagerPolicy: 'Static' },
  ...{ reservation: { cpu: '1', memory: '1Gi' }, reservedMemory: [{ numaNode: 0, limits: { memory: '1Gi' } }] },
  machine: { cores: [core(0), core(1)], numaNodes: [{ id: 0, memoryBytes: 2 ** 32, hugePages: [{ pageSizeKiB: 2048, numPages: 1 }], distances: [10] }] },
  ...{ stateDirectory: '/var/lib/kubelet', stateFiles: { cpu: null, memory: null }, containers: new Map([['id', { podUid: 'a', containerName: 'c' }]]) },
};

export const samplePod: Pod = {
  metadata: { name: 'web', namespace: 'default', uid: 'uid-1', labels: { app: 'web' }, annotations: {} },
  spec: {
    nodeName: 'node-1',
    priority: 5,
    nodeSelector: { disk: 'ssd' },
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions: [{ key: 'disk', operator: 'In', values: ['ssd'] }], matchFields: [] }] },
      },
    },
    tolerations: [{ key: 'a', operator: 'Exists', effect: 'NoSchedule' }],
    securityContext: { sysctls: [{ name: 'net.core.somaxconn', value: '1' }] },
    volumes: [{ name: 'scratch', emptyDir: {} }],
    initContainers: [{ name: 'init', image: 'init:1', resources: { requests: { cpu: '1' } } }],
    containers: [
      {
        name: 'main',
        image: 'app:1',
        ports: [{ containerPort: 80, hostPort: 80, protocol: 'TCP' }],
        resources: { requests: { cpu: '500m', memory: '1Gi' }, limits: { cpu: '1', memory: '2Gi' } },
        livenessProbe: { httpGet: { path: '/', port: 80 } },
      },
    ],
    overhead: { cpu: '10m' },
    restartPolicy: 'Always',
    terminationGracePeriodSeconds: 30,
  },
  status: {
    phase: 'Running',
    conditions: [{ type: 'Ready', status: 'True' }],
    containerStatuses: [
      {
        ...{ name: 'main', image: 'app:1', imageID: '', ready: true, restartCount: 0, containerID: 'containerd://c1' },
        state: { running: { startedAt: '2026-01-01T00:00:00Z' } },
        resources: { requests: { cpu: '500m' } },
      },
    ],
  },
};

const container = samplePod.spec.containers[0]!;
const node = {
  metadata: { name: 'node-1', labels: { disk: 'ssd' } },
  spec: { taints: [{ key: 'a', effect: 'NoSchedule' }] },
  status: { allocatable: { cpu: '4', memory: '8Gi', pods: '10' } },
};
const podStats = { podRef: { name: 'web', namespace: 'default', uid: 'uid-1' }, memory: { workingSetBytes: 5 }, containers: [{ name: 'main', rootfs: { usedBytes: 1 } }] };
const fs = { time: '2026-01-01T00:00:00Z', availableBytes: 5, capacityBytes: 9, inodesFree: 1, inodes: 2 };
const summary = { node: { nodeName: 'node-1', memory: { availableBytes: 1, workingSetBytes: 2 }, fs, rlimit: { maxpid: 9, curproc: 1 } }, pods: [podStats] };
const eviction = {
  ...{ evictionHard: { 'memory.available': '100Mi' }, evictionSoft: { 'nodefs.available': '15%' }, evictionSoftGracePeriod: { 'nodefs.available': '1m' } },
  ...{ evictionMinimumReclaim: { 'memory.available': '1Mi' }, enforceNodeAllocatable: ['pods'] },
};
const thresholds = domain.parseEvictionThresholds(eviction);
const cores = [0, 1, 2, 3].map((core) => ({ numaNode: core >> 1, socket: 0, uncoreCache: null, threads: [core, core + 4] }));
const discovery = domain.discoverCpuTopology(cores);
const managerConfig = { policy: 'best-effort', scope: 'container', policyOptions: {}, numaNodes: [0, 1].map((id) => ({ id, distances: [10, 20] })) };
const manager = domain.newTopologyManager(managerConfig);
if (!thresholds.ok || !discovery.ok || !manager.ok) throw new Error('the samples are not good');
const quantity = (text: string): domain.Quantity => {
  const parsed = domain.parseQuantity(text);
  if (!parsed.ok) throw new Error(parsed.error);
  return parsed.quantity;
};
const observations = domain.observeSignals(summary);
const pressure = domain.observePressure(domain.noPressure, thresholds.value, observations, 300, 1_000);
const runtime = {
  ...{ uid: 'uid-1', name: 'web', namespace: 'default', ips: ['10.0.0.1'], observedAt: 9 },
  sandboxes: [{ id: 's1', attempt: 0, state: 'ready', networkMode: 'pod', hasNetwork: true, ip: '10.0.0.1', createdAt: 1 }],
  containers: [
    {
      ...{ id: 'c1', sandboxId: 's1', name: 'main', state: 'running', createdAt: 1, startedAt: 2, finishedAt: null, exitCode: 0, reason: '', message: '' },
      ...{ restartCount: 0, hash: 'ab', image: 'app:1', imageRef: 'x', imageId: 'x', user: { uid: 1, gid: 1, supplementalGroups: [1] } },
      resources: { cpuRequest: '500m', cpuLimit: null, memoryRequest: null, memoryLimit: '2Gi' },
    },
  ],
};
const actionsInput = {
  ...{ pod: samplePod, status: runtime, restartAllContainers: false, livenessResults: new Map([['c1', 'success']]), startupResults: new Map() },
  actuated: { containers: new Map([['main', container.resources]]), pod: null },
};
const statusInput = {
  ...{ pod: samplePod, cachedStatus: samplePod.status, runtime, runtimeType: 'containerd', runtimeSupportsRecursiveReadOnly: false, podIsTerminal: false },
  containerStopSignals: true,
  startFailures: new Map([['init', { reason: 'a', message: 'b' }]]),
  probes: { readiness: new Map([['c1', 'success']]), startup: new Map(), hasWorker: () => true, kubeletStartedAt: 1 },
  node: { addresses: [{ type: 'InternalIP', address: '10.0.0.9' }], configuredIps: ['10.0.0.9'] },
  resizeConditions: [{ type: 'PodResizePending', status: 'True' }],
  podCgroup: { cpuShares: 1, cpuQuotaMicros: null, cpuPeriodMicros: null, memoryLimitBytes: 5 },
  now: 10,
};
const pullCredentials = {
  credentials: { username: 'u', password: 'p', serverAddress: '', identityToken: '', registryToken: '' },
  source: { kind: 'secret', namespace: 'default', name: 's', uid: 'uid-s' },
} as const;
const pulledRecord = domain.recordOfPull(null, 'example.com/app:1', 'sha256:1', pullCredentials, 5);
const ensuring = domain.advanceEnsureImage(
  domain.beginEnsureImage({ podUid: 'uid-1', image: 'app:1', pullPolicy: 'Always' }).run,
  { kind: 'credentials', credentials: [pullCredentials] },
  domain.newImagePullBackoff(),
  5,
).run;
const conditions = [{ type: 'Ready', status: 'False', lastHeartbeatTime: '2026-01-01T00:00:00Z', lastTransitionTime: null, reason: 'a', message: 'b' }];
const amounts = { cpu: '4', memory: '8Gi', pods: '110', 'example.com/gpu': '1' };
const projected = {
  name: 'all',
  projected: {
    defaultMode: 0o644,
    sources: [
      { secret: { name: 's', items: [{ key: 'k', path: 'secret/k' }] } },
      { configMap: { name: 'c', optional: true } },
      {
        downwardAPI: {
          items: [
            { path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } },
            { path: 'cpu', resourceFieldRef: { containerName: 'main', resource: 'limits.cpu' } },
          ],
        },
      },
      { serviceAccountToken: { path: 'token', expirationSeconds: 3_600, audience: 'a' } },
    ],
  },
};
const apiData = {
  secrets: new Map([['s', { kind: 'found', object: { metadata: { name: 's' }, data: { k: 'YQ==' } } }]]),
  configMaps: new Map<string, unknown>([
    ['c', { kind: 'found', object: { metadata: { name: 'c' }, data: { a: 'b' }, binaryData: { d: 'YQ==' } } }],
    ['absent', { kind: 'absent' }],
    ['failed', { kind: 'failed', message: 'no' }],
  ]),
  ...{ tokens: [{ ok: true, token: 't' }], nodeAllocatable: amounts, fsGroup: 5, fsUser: null },
};
const volumeDirectory = {
  path: '/v',
  entries: new Map<string, unknown>([
    ['..data', { kind: 'symlink', target: '..2026_01_01_00_00_00.1' }],
    ['..2026_01_01_00_00_00.1', { kind: 'directory' }],
    ['a', { kind: 'file' }],
  ]),
  generationPaths: ['old', 'a', 'a/b'],
  readings: new Map<string, unknown>([
    ['a/b', { kind: 'file', bytes: new Uint8Array([1]) }],
    ['c', { kind: 'absent' }],
  ]),
};
const payload = new Map([
  ['a/b', { bytes: new Uint8Array([1, 2]), mode: 0o644, fsUser: 1000 }],
  ['c', { bytes: new Uint8Array(), mode: 0o600, fsUser: null }],
]);
function probeWorker(state: 'idle' | 'probing', kind: 'liveness' | 'readiness' = 'liveness') {
  const probed = { ...container, readinessProbe: { periodSeconds: 5, failureThreshold: 2 } };
  return { ...domain.newProbeWorker(samplePod, probed, kind, 5, 0.5, 9), state, containerId: 'c1', result: 'success', lastResult: 'success', resultRun: 1, attempt: 1 };
}

const { sources: _sources, ...agentSettings } = domain.defaultSettings;
const kubeletSettings = {
  agent: agentSettings,
  node: null,
  fileSource: { nodeName: 'node-1', preventApiReferences: true, checkPeriod: 20_000_000, path: '/m' },
  urlSource: { nodeName: 'node-1', preventApiReferences: true, checkPeriod: 20_000_000, url: 'http://a/', headers: { a: ['b'] } },
};

/** Created for each use: these are changed in place. */
export const entrySamples: Readonly<Record<string, () => unknown[]>> = {
  addQuantities: () => [quantity('1'), quantity('2Ki')],
  admitPod: () => [{ pod: samplePod, otherPods: [samplePod], node, freshNode: null, allocatedDevices: new Map([['example.com/gpu', 1]]) }],
  admitUnderPressure: () => [samplePod, ['MemoryPressure']],
  advanceEnsureImage: () => [ensuring, { kind: 'recorded' }, domain.newImagePullBackoff(), 9],
  agentMachine: () => [domain.newAgentState(domain.defaultSettings, domain.nodeFacts())],
  apiDataPayload: () => [projected, samplePod, apiData],
  apiPodStatus: () => [statusInput],
  assignCpus: () => [discovery.topology, domain.noCpuOptions, [0, 1, 4, 5], 2],
  beginEnsureImage: () => [{ podUid: 'uid-1', image: 'app:1', pullPolicy: 'IfNotPresent' }],
  canonicalJson: () => [{ a: [1, 2n, new Map([['k', new Set([1])]]), new Uint8Array([1])], b: null }],
  checkHostPath: () => ['/srv', 'DirectoryOrCreate', 'absent'],
  compareQuantities: () => [quantity('1'), quantity('2Ki')],
  computePodActions: () => [actionsInput],
  cpuSetDifference: () => [[0, 1], [1]],
  cpuSetIntersection: () => [[0, 1], [1]],
  cpuSetOf: () => [[3, 1, 3]],
  cpuSetUnion: () => [[0, 1], [1]],
  decideCrashLoop: () => [domain.newCrashLoopBackoff(null), samplePod, container, 5, 9],
  defaultPullPolicy: () => ['app:1'],
  discoverCpuTopology: () => [cores],
  formatCpuSet: () => [[0, 1, 5]],
  generationName: () => [1_800_000_000_000_000, '123'],
  hashText: () => ['text', 5],
  imagePullFailed: () => [domain.newImagePullBackoff(), 'uid-1', 'app:1', 'not found', 5],
  imagePullWait: () => [domain.newImagePullBackoff(), 'uid-1', 'app:1', 5],
  isCriticalPod: () => [samplePod],
  isTerminalPhase: () => ['Running'],
  kubeletMachine: () => [domain.newKubeletState(kubeletSettings, domain.nodeFacts())],
  matchesLabelSelector: () => [{ matchLabels: { a: 'b' }, matchExpressions: [{ key: 'c', operator: 'Exists' }] }, { a: 'b' }],
  matchesNodeAffinity: () => [samplePod, 'node-1', { disk: 'ssd' }],
  mergeHints: () => [manager.manager, [null, new Map([['cpu', [{ numaNodes: [0], preferred: true }]]])]],
  mountedVolumes: () => [{ ...samplePod, spec: { ...samplePod.spec, containers: [{ ...container, volumeMounts: [{ name: 'scratch', mountPath: '/s' }] }] } }, '/var/lib/kubelet'],
  mustPullToVerify: () => [
    { image: 'example.com/app:1', imageRef: 'sha256:1', record: pulledRecord, hasIntent: false },
    [pullCredentials],
    { kind: 'NeverVerifyAllowlistedImages', allowlist: ['a/*'] },
    9,
  ],
  newAgentState: () => [
    { ...domain.defaultSettings, alignment, dra: { checkpoint: null } },
    domain.nodeFacts({ swap: { behavior: 'NoSwap', bytes: 1, controllerAvailable: true } }),
  ],
  newCrashLoopBackoff: () => [5_000_000],
  newImagePullBackoff: () => [],
  newKubeletState: () => [kubeletSettings, domain.nodeFacts({ runtimeHandlers: [{ name: '', recursiveReadOnlyMounts: true, userNamespaces: true }] })],
  newProbeWorker: () => [samplePod, container, 'liveness', 5, 0.5, 9],
  newTopologyManager: () => [managerConfig],
  nodeFacts: () => [{ clusterDns: ['10.0.0.1'], nodeAddresses: [{ type: 'InternalIP', address: '10.0.0.9' }], allocatable: amounts, runtimeClasses: { a: 'b' } }],
  nodeResources: () => [
    { capacity: amounts, allocatable: amounts },
    {
      machine: { cpus: 4, memoryBytes: 2 ** 33, hugePages: [{ pageSizeKiB: 2048, numPages: 2 }] },
      ...{
        maxPods: 110,
        podsPerCore: 0,
        ephemeralStorage: '10Gi',
        devices: { capacity: { 'a.b/c': '1' }, allocatable: { 'a.b/c': '1' }, removed: ['x.y/z'] },
        reservation: { memory: '1Gi' },
      },
    },
  ],
  normalizeImageName: () => ['app'],
  observePressure: () => [pressure, thresholds.value, observations, 300, 2_000],
  observeSignals: () => [summary],
  oomScoreAdj: () => [samplePod, container, 8n * 2n ** 30n],
  parseCanonicalJson: () => ['{"$int":"5"}'],
  parseCpuOptions: () => [{ 'full-pcpus-only': 'true' }, { alpha: true, beta: true }],
  parseCpuSet: () => ['0-3,5'],
  parseDuration: () => ['1m30s'],
  parseEvictionThresholds: () => [eviction],
  parseImageReference: () => ['example.com/app:1'],
  parseQuantity: () => ['1500m'],
  parseRfc3339: () => ['2026-01-01T00:00:00Z'],
  planAtomicWrite: () => [payload, volumeDirectory, '..2026_01_01_00_00_01.2', 7],
  podLimits: () => [samplePod, { excludeOverhead: true }],
  podQosClass: () => [samplePod],
  podRequests: () => [samplePod, { useStatus: true }],
  podsOfManifest: () => [
    { kind: 'document', value: { apiVersion: 'v1', kind: 'Pod', ...samplePod }, notes: ['odd'] },
    { nodeName: 'node-1', origin: { kind: 'file', path: '/m/a.yaml' }, preventApiReferences: true },
  ],
  podsToPreempt: () => [{ ...samplePod, spec: { ...samplePod.spec, priority: 9 } }, [samplePod], [{ resource: 'cpu', amount: 100n }]],
  probeAnswered: () => [probeWorker('probing'), { kind: 'result', result: 'failure', output: 'no' }],
  probeDue: () => [probeWorker('idle'), samplePod.status, 10_000_000],
  probeWakeAt: () => [probeWorker('idle'), samplePod.status, 9],
  quantityMilliValue: () => [quantity('1')],
  quantityOf: () => [5, 'BinarySI'],
  quantityText: () => [quantity('1')],
  quantityValue: () => [quantity('1')],
  rankPods: () => [[samplePod], new Map([['uid-1', podStats]]), 'memory.available', { dedicatedImageFs: false, splitContainerFs: false }],
  recordOfPull: () => [pulledRecord, 'example.com/app:1', 'sha256:2', pullCredentials, 9],
  skipMissedTicks: () => [probeWorker('idle'), 9],
  stopProbeWorker: () => [probeWorker('idle')],
  subtractQuantities: () => [quantity('1'), quantity('2Ki')],
  triggerProbe: () => [probeWorker('idle', 'readiness'), 9],
  untoleratedTaint: () => [[{ key: 'a', effect: 'NoExecute' }], [{ key: 'a', operator: 'Exists' }], ['NoExecute']],
  withPressures: () => ['node-1', conditions, { memory: true, disk: false, pid: false }, 9],
  withReady: () => [
    'node-1',
    conditions,
    { runtime: ['down'], network: [], storage: [], shuttingDown: true, capacity: amounts, localStorageCapacityIsolation: true, softRequirements: 'x' },
    9,
  ],
};

/** Checked by types only: inputs of a kernel are not validated, since there are millions. */
export const machineParts: readonly string[] = ['Kernel', 'replay', 'outputText', 'AssertionFailed'];
