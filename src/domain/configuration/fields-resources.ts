// The field table, second part: cgroups, the resource managers, limits on pods, the client of the apiserver.
// Order is that of the shown form.
import { nanosPerMillisecond, nanosPerMinute, nanosPerSecond } from '../values/go-duration.js';
import { bool, duration, durationOrZero, int32, int32OrZero, int64, int64OrZero, off, optionalBool, optionalInt32, text, textMap, textOrEmpty } from './setting.js';

export const cgroupFields = {
  kubeletCgroups: text('', 'cgroup that the agent runs in.', { flag: 'kubelet-cgroups' }),
  systemCgroups: text('', 'cgroup for all processes that are in none.', { flag: 'system-cgroups' }),
  cgroupRoot: text('', 'cgroup under which those of pods are made; empty for the root.', { flag: 'cgroup-root' }),
  cgroupsPerQOS: bool(true, 'Give each QoS class a cgroup.', { flag: 'cgroups-per-qos' }),
  cgroupDriver: text('cgroupfs', 'Who owns the cgroup tree, cgroupfs or systemd; the runtime knows better where it says so.', { flag: 'cgroup-driver' }),
};

export const managerFields = {
  cpuManagerPolicy: text('none', 'none, or static to give Guaranteed pods with whole CPUs their own.', { flag: 'cpu-manager-policy' }),
  singleProcessOOMKill: optionalBool('On the OOM kill of a process spare the others of its container. Unset: false on cgroup v2, true on v1.', { since: '1.32' }),
  cpuManagerPolicyOptions: textMap('Options of the CPU manager policy.', { flag: { name: 'cpu-manager-policy-options', type: 'one-pair' }, since: '1.22' }),
  cpuManagerReconcilePeriod: duration(10 * nanosPerSecond, 'Time between two checks that containers run on their CPUs.', { flag: 'cpu-manager-reconcile-period' }),
  memoryManagerPolicy: text('None', 'None, or Static to give Guaranteed pods memory of chosen NUMA nodes.', { flag: 'memory-manager-policy', since: '1.21' }),
  topologyManagerPolicy: text('none', 'How resources of one pod are aligned: none, best-effort, restricted, single-numa-node.', {
    flag: 'topology-manager-policy',
    since: '1.18',
  }),
  topologyManagerScope: text('container', 'What is aligned together: container or pod.', { flag: 'topology-manager-scope', since: '1.20' }),
  topologyManagerPolicyOptions: textMap('Options of the topology manager policy.', { flag: { name: 'topology-manager-policy-options', type: 'one-pair' }, since: '1.26' }),
  qosReserved: textMap('Share of a resource that is kept for higher QoS classes, e.g. memory: 50%.', { flag: 'qos-reserved' }),
};

export const podLimitFields = {
  runtimeRequestTimeout: duration(2 * nanosPerMinute, 'Deadline of requests to the runtime, except pulls and streams.', { flag: 'runtime-request-timeout' }),
  hairpinMode: text('promiscuous-bridge', 'Accepted for compatibility; the network plugin decides.', { flag: 'hairpin-mode' }),
  maxPods: int32(110, 'How many pods may run on the node.', { flag: 'max-pods' }),
  podCIDR: text('', 'Addresses of pods in standalone mode.', { flag: 'pod-cidr' }),
  podPidsLimit: int64OrZero(-1, 'How many processes a pod may have; negative for the allocatable ones of the node.', { flag: 'pod-max-pids' }),
  resolvConf: textOrEmpty('/etc/resolv.conf', 'Resolver file that those of pods are made from; empty for none.', { flag: 'resolv-conf', relativeToFile: true }),
  runOnce: off('Refused: the mode that ran static pods once and ended.', { flag: 'runonce' }),
  cpuCFSQuota: bool(true, 'Enforce CPU limits.', { flag: 'cpu-cfs-quota' }),
  cpuCFSQuotaPeriod: durationOrZero(100 * nanosPerMillisecond, 'Period over which CPU limits are enforced, 1ms to 1s.', { flag: 'cpu-cfs-quota-period' }),
  nodeStatusMaxImages: int32OrZero(50, 'How many images the node status lists; -1 for all.', { flag: 'node-status-max-images' }),
  maxOpenFiles: int64(1_000_000, 'How many files the agent may have open.', { flag: 'max-open-files' }),
  contentType: text('application/vnd.kubernetes.protobuf', 'Encoding asked of the apiserver.', { flag: 'kube-api-content-type' }),
  kubeAPIQPS: int32OrZero(50, 'Requests to the apiserver a second; 0 for the client default of 5.', { flag: 'kube-api-qps' }),
  kubeAPIBurst: int32(100, 'Requests to the apiserver at once beyond kubeAPIQPS.', { flag: 'kube-api-burst' }),
  serializeImagePulls: bool(true, 'Pull one image at a time. Unset: false where maxParallelImagePulls is 2 or more.', { flag: 'serialize-image-pulls' }),
  maxParallelImagePulls: optionalInt32('How many images are pulled at a time; unset for no limit.', { since: '1.27' }),
};

export const nodeFields = {
  podsPerCore: int32(0, 'How many pods may run for each core; 0 for no such limit.', { flag: 'pods-per-core' }),
  enableControllerAttachDetach: bool(true, "Leave attaching volumes to the controller manager's controller.", { flag: 'enable-controller-attach-detach' }),
  protectKernelDefaults: off('Refuse to start where kernel tunables differ from what the agent needs, instead of setting them.', { flag: 'protect-kernel-defaults' }),
  makeIPTablesUtilChains: bool(true, 'Make the KUBE-IPTABLES-HINT and KUBE-FIREWALL chains.', { flag: 'make-iptables-util-chains' }),
  iptablesMasqueradeBit: int32OrZero(14, 'Accepted for compatibility; kube-proxy has its own.'),
  iptablesDropBit: int32OrZero(15, 'Accepted for compatibility; the chain is gone.'),
};
