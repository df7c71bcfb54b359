// The field table, third part: feature gates, swap, container logs, reservations, logging, shutdown, registration, the runtime.
// Order is that of the shown form.
import { nanosPerSecond } from '../values/go-duration.js';
import { memoryReservationKind, shutdownPriorityKind, taintKind, vmoduleKind } from './record-kinds.js';
import {
  bool,
  duration,
  durationOrZero,
  flexibleDuration,
  floatOrZero,
  group,
  int32OrZero,
  list,
  map,
  off,
  optionalDuration,
  optionalGroup,
  optionalInt32,
  optionalInt64,
  optionalText,
  shown,
  text,
  textMap,
  texts,
} from './setting.js';
import { boolKind, quantityKind, uint32Kind } from './value-kind.js';

export const gateFields = {
  featureGates: map(boolKind, 'Features switched on or off by name; AllAlpha and AllBeta stand for all of a stage.', { flag: 'feature-gates' }),
  failSwapOn: bool(true, 'Refuse to start while swap is on.', { flag: 'fail-swap-on' }),
  memorySwap: group({
    swapBehavior: text('', 'NoSwap (also when empty), or LimitedSwap to let Burstable pods swap.', { since: '1.22' }),
  }),
  containerLogMaxSize: text('10Mi', 'Size at which the log of a container is rotated.', { flag: 'container-log-max-size' }),
  containerLogMaxFiles: int32OrZero(5, 'How many log files of a container are kept, 2 or more.', { flag: 'container-log-max-files' }),
  containerLogMaxWorkers: int32OrZero(1, 'How many logs are rotated at a time.', { since: '1.30' }),
  containerLogMonitorInterval: durationOrZero(10 * nanosPerSecond, 'Time between two looks at the sizes of logs, 3s or more.', { since: '1.30' }),
  configMapAndSecretChangeDetectionStrategy: text('Watch', 'How config maps and secrets are kept up to date: Get, Cache or Watch.', { since: '1.13' }),
};

export const reservationFields = {
  systemReserved: textMap('What is kept for the system: cpu, memory, ephemeral-storage, pid.', { flag: 'system-reserved' }),
  kubeReserved: textMap('What is kept for the agent and the runtime: cpu, memory, ephemeral-storage, pid.', { flag: 'kube-reserved' }),
  reservedSystemCPUs: text('', 'CPUs kept for the system, as a list; they replace the cpu of the reservations.', { flag: 'reserved-cpus', since: '1.17' }),
  showHiddenMetricsForVersion: text('', 'Show metrics hidden since this version; only the previous minor one.', { since: '1.18' }),
  systemReservedCgroup: text('', 'cgroup of the system, for enforcing systemReserved.', { flag: 'system-reserved-cgroup' }),
  kubeReservedCgroup: text('', 'cgroup of the agent and the runtime, for enforcing kubeReserved.', { flag: 'kube-reserved-cgroup' }),
  enforceNodeAllocatable: texts(['pods'], 'What is held to its reservation: pods, system-reserved, kube-reserved, the two with -compressible, or none.', {
    flag: 'enforce-node-allocatable',
  }),
  allowedUnsafeSysctls: texts(null, 'Unsafe sysctls that pods may set; a trailing * stands for a family.', { flag: 'allowed-unsafe-sysctls' }),
  volumePluginDir: text('/usr/libexec/kubernetes/kubelet-plugins/volume/exec/', 'Directory of third party volume plugins.', { flag: 'volume-plugin-dir', relativeToFile: true }),
  providerID: text('', 'What the cloud provider calls this node.', { flag: { name: 'provider-id', deprecated: false } }),
  kernelMemcgNotification: off('Let the kernel announce that a memory threshold is crossed.', { flag: 'kernel-memcg-notification' }),
};

const outputRouting = (format: 'text' | 'json') => ({
  splitStream: off('Write errors to standard error and the rest to standard output. Needs the gate LoggingAlphaOptions.', {
    flag: `log-${format}-split-stream`,
    since: '1.23',
  }),
  infoBufferSize: shown(quantityKind, '0', 'Buffer for the messages on standard output. Needs the gate LoggingAlphaOptions.', {
    flag: `log-${format}-info-buffer-size`,
    since: '1.23',
  }),
});

export const loggingFields = {
  logging: group({
    format: text('text', 'text or json.', { flag: 'logging-format', since: '1.19' }),
    flushFrequency: flexibleDuration({ nanos: 5 * nanosPerSecond, asNumber: false }, 'Longest time that a message stays in a buffer.', {
      flag: { name: 'log-flush-frequency', deprecated: false },
      since: '1.23',
    }),
    verbosity: shown(uint32Kind, 0, 'How much is logged; 0 is the least.', { flag: { name: 'v', shorthand: 'v', type: 'level', deprecated: false }, since: '1.23' }),
    vmodule: list(vmoduleKind, null, 'Verbosity of source files that match a pattern.', { flag: { name: 'vmodule', deprecated: false }, since: '1.23' }),
    options: group({ text: group(outputRouting('text')), json: group(outputRouting('json')) }),
  }),
  enableSystemLogHandler: bool(true, 'Serve the logs of the system under /logs/.', { since: '1.19' }),
  enableSystemLogQuery: bool(false, 'Serve queries of the system journal under /logs/.', { since: '1.27' }),
};

export const lifecycleFields = {
  shutdownGracePeriod: duration(0, 'By how much the shutdown of the node is delayed for its pods.', { since: '1.20' }),
  shutdownGracePeriodCriticalPods: duration(0, 'The part of shutdownGracePeriod that is kept for critical pods.', { since: '1.20' }),
  shutdownGracePeriodByPodPriority: list(shutdownPriorityKind, null, 'Shutdown grace periods by pod priority; instead of the two above.', { since: '1.23' }),
  crashLoopBackOff: group({
    maxContainerRestartPeriod: optionalDuration('Longest wait before a crashing container is started again, 1s to 300s.', { since: '1.32' }),
  }),
  reservedMemory: list(memoryReservationKind, null, 'Memory of each NUMA node that is kept from pods.', { flag: 'reserved-memory', since: '1.21' }),
  enableProfilingHandler: bool(true, 'Serve /debug/pprof.', { since: '1.19' }),
  enableDebugFlagsHandler: bool(true, 'Serve /debug/flags/v, which changes the verbosity.', { since: '1.19' }),
  seccompDefault: bool(false, 'Give containers that name no seccomp profile the one of the runtime.', { since: '1.22' }),
  memoryThrottlingFactor: floatOrZero(0.9, 'Share of the memory limit at which a container is throttled, above 0, at most 1.', { since: '1.22' }),
  memoryReservationPolicy: text('None', 'None, or TieredReservation to protect the requested memory; needs the gate MemoryQoS.', { since: '1.36' }),
  registerWithTaints: list(taintKind, null, 'Taints that the node registers with.', { flag: 'register-with-taints', since: '1.23' }),
  registerNode: bool(true, 'Register the node with the apiserver.', { flag: 'register-node', since: '1.23' }),
  tracing: optionalGroup({
    endpoint: optionalText('Collector that spans are sent to, localhost:4317 when unset.', { since: '1.25' }),
    samplingRatePerMillion: optionalInt32('How many of a million spans are sent.', { since: '1.25' }),
  }),
  localStorageCapacityIsolation: bool(true, 'Account for and limit ephemeral storage.', { flag: 'local-storage-capacity-isolation', since: '1.26' }),
  containerRuntimeEndpoint: text('unix:///run/containerd/containerd.sock', 'Socket of the container runtime.', { flag: 'container-runtime-endpoint', since: '1.27' }),
  imageServiceEndpoint: text('', 'Socket of the image service; empty for the one of the runtime.', { flag: 'image-service-endpoint', since: '1.27' }),
  failCgroupV1: bool(true, 'Refuse to start on a host with cgroup v1.', { flag: { name: 'fail-cgroupv1', deprecated: false }, since: '1.31' }),
  userNamespaces: optionalGroup({
    idsPerPod: optionalInt64('How many user and group ids a pod in its own user namespace gets, a multiple of 65536.', { since: '1.33' }),
  }),
};
