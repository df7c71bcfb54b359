// Sandbox and container configuration: the traps that the golden vectors leave out.
import t from 'tap';
import type { ContainerRequest } from '../../src/domain/containers/container-config.js';
import type { NodeFacts } from '../../src/domain/containers/node-facts.js';
import { portMappings } from '../../src/domain/containers/port-mappings.js';
import { runtimeConfigs } from '../../src/domain/containers/runtime-configs.js';
import { normalSysctlName } from '../../src/domain/containers/sysctl-name.js';
import { restorePod } from '../../src/domain/pod-sync/restored-pod.js';
import type { Container, ContainerPort } from '../../src/ports/model/container.js';
import type { ContainerConfig } from '../../src/ports/model/container-config.js';
import type { Pod, PodSpec } from '../../src/ports/model/pod.js';
import type { PodRuntimeStatus, RuntimeContainerStatus } from '../../src/ports/model/runtime-status.js';
import type { SandboxConfig } from '../../src/ports/model/sandbox-config.js';

const facts: NodeFacts = {
  rootDirectory: '/var/lib/kubelet',
  podLogsDirectory: '/var/log/pods',
  cgroupVersion: 2,
  cgroupDriver: 'systemd',
  cgroupRoot: '/',
  cgroupsPerQos: true,
  podPidsLimit: -1,
  clusterDns: ['10.96.0.10'],
  clusterDomain: 'cluster.local',
  resolvConf: 'nameserver 8.8.8.8\n',
  resolvConfPath: '/etc/resolv.conf',
  nodeIps: [],
  hostsFile: '127.0.0.1 localhost\n',
  cpuCfsQuota: true,
  cpuCfsQuotaPeriod: 100_000,
  seccompDefault: false,
  machineMemoryBytes: 8 * 2 ** 30,
  hugePageSizes: [],
  swap: { behavior: 'LimitedSwap', bytes: 2 ** 30, controllerAvailable: true },
  memoryQos: null,
  singleProcessOomKill: false,
  selinuxEnabled: true,
  seLinuxFileLabel: '',
  seLinuxMount: false,
  projectQuotas: false,
  memoryVolumesMaySwap: false,
  containerStopSignals: false,
  changesStatusOnRestart: false,
  thermalThrottlePaths: ['/sys/devices/system/cpu/cpu0/thermal_throttle'],
  runtimeClasses: { gvisor: 'runsc' },
  runtimeHandlers: [{ name: '', recursiveReadOnlyMounts: false, userNamespaces: true }],
  nodeAddresses: [],
  allocatable: {},
};
const container: Container = { name: 'c', image: 'busybox' };
const status: PodRuntimeStatus = { uid: 'u-1', name: 'p', namespace: 'n', ips: [], sandboxes: [], containers: [], observedAt: 0 };

function podOf(spec: Partial<PodSpec> = {}): Pod {
  return {
    metadata: { name: 'p', namespace: 'n', uid: 'u-1' },
    spec: { containers: [container], securityContext: {}, enableServiceLinks: false, dnsPolicy: 'ClusterFirst', ...spec },
  };
}

function sandboxOf(pod: Pod, node: Partial<NodeFacts> = {}): SandboxConfig {
  const made = runtimeConfigs({ ...facts, ...node }).sandbox(pod, 0);
  if (!made.ok) throw new Error(made.message);
  return made.value.config;
}

function attempt(request: Partial<ContainerRequest>, node: Partial<NodeFacts> = {}): ReturnType<ReturnType<typeof runtimeConfigs>['container']> {
  const base = { pod: podOf(), container, restartCount: 0, podIps: ['10.0.0.4'], imageRef: 'sha256:1', image: null, terminationFile: '', status };
  return runtimeConfigs({ ...facts, ...node }).container({ ...base, ...request });
}

function configOf(request: Partial<ContainerRequest>, node: Partial<NodeFacts> = {}): ContainerConfig {
  const made = attempt(request, node);
  if (!made.ok) throw new Error(made.message);
  return made.value;
}

t.test('sandboxes', async (t) => {
  const sidecar: Container = { name: 's', restartPolicy: 'Always', ports: [{ containerPort: 80, hostPort: 8080 }], securityContext: { privileged: true } };
  const withSidecar = sandboxOf(podOf({ initContainers: [sidecar] }));
  t.strictSame(withSidecar.portMappings, [], 'host ports of sidecars are not mapped');
  t.equal(withSidecar.linux?.securityContext?.privileged, true, 'one privileged container of any kind makes the sandbox privileged');
  t.equal(sandboxOf(podOf()).linux?.cgroupParent, '/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-podu_1.slice', 'the cgroup in the form of the driver');
  t.equal(sandboxOf(podOf(), { cgroupsPerQos: false }).linux?.cgroupParent, '', 'no cgroup of its own: none is named');
  const labelled = { ...podOf(), metadata: { name: 'p', namespace: 'n', uid: 'u-1', labels: { 'io.kubernetes.pod.uid': 'stolen', app: 'a' } } };
  t.equal(sandboxOf(labelled).labels['io.kubernetes.pod.uid'], 'u-1', "a pod can't take another's identity by a label");
  t.strictSame(sandboxOf(podOf({ resources: { limits: { memory: '16Ei' } } })).linux?.resources?.memoryLimitInBytes, 2 ** 63 - 1024, 'no amount passes an int64');
  const hostNetwork = podOf({ hostNetwork: true, hostname: 'Not valid' });
  t.equal(sandboxOf(hostNetwork).hostname, undefined, 'a host-network pod has the name of its node');
  t.strictSame(sandboxOf(hostNetwork).dnsConfig?.servers, ['8.8.8.8'], 'and its DNS');
  const missing = expectOk(runtimeConfigs({ ...facts, clusterDns: [] }).sandbox(podOf(), 0)).events.map(({ subject, reason }) => `${subject} ${reason}`);
  t.strictSame(missing, ['node MissingClusterDNS', 'pod MissingClusterDNS'], 'what users should know about DNS comes along');
  t.match(
    runtimeConfigs(facts).sandbox(podOf({ runtimeClassName: 'constructor' }), 0),
    { ok: false, message: 'runtimeclass.node.k8s.io "constructor" not found' },
    'classes are data',
  );
});

function expectOk<T>(made: { readonly ok: true; readonly value: T } | { readonly ok: false; readonly message: string }): T {
  if (!made.ok) throw new Error(made.message);
  return made.value;
}

t.test('sysctl names', async (t) => {
  const rows = [
    ['net.ipv4.ip_forward', 'net.ipv4.ip_forward'],
    ['net/ipv4/ip_forward', 'net.ipv4.ip_forward'],
    ['net/ipv4/conf/eth0.1/arp_filter', 'net.ipv4.conf.eth0/1.arp_filter'],
    ['net.ipv4.conf.eth0/1.arp_filter', 'net.ipv4.conf.eth0/1.arp_filter'],
    ['kernel', 'kernel'],
  ] as const;
  for (const [name, want] of rows) t.equal(normalSysctlName(name), want, name);
});

t.test('containers', async (t) => {
  const resources = configOf({ container: { ...container, resources: { limits: { cpu: '0' }, requests: { cpu: '0' } } } }).linux?.resources;
  t.match(resources, { cpuQuota: 0, cpuShares: 2 }, 'a quota of 0 is none');
  t.equal(configOf({ exclusiveCpus: true }).linux?.resources?.cpuQuota, -1, '-1 lifts it');
  t.equal(configOf({ exclusiveCpus: true }, { cpuCfsQuota: false }).linux?.resources?.cpuQuota, undefined, 'but only where quotas are used at all');
  t.match(configOf({}).linux?.resources?.unified, { 'memory.swap.max': '0' }, 'BestEffort never swaps');
  t.match(configOf({}, { cgroupVersion: 1 }).linux?.resources, { memorySwapLimitInBytes: 0 }, 'nor on cgroup v1');

  const written: Container = {
    name: 'c',
    image: 'busybox',
    ports: [{ containerPort: 80, hostPort: 0, name: 'a<b' }],
    lifecycle: { preStop: { httpGet: { path: '/x?a&b', port: 'web' } } },
    terminationMessagePath: '/dev/termination-log',
  };
  const { labels, annotations } = configOf({ pod: podOf({ containers: [written], terminationGracePeriodSeconds: 0 }), container: written });
  const restored = restorePod(labels, annotations);
  t.strictSame(restored.spec.containers[0]?.lifecycle?.preStop, written.lifecycle?.preStop, 'the hook is read back from the annotations');
  t.strictSame(restored.spec.containers[0]?.ports, [{ name: 'a<b', containerPort: 80 }], 'and the ports');
  t.equal(restored.spec.terminationGracePeriodSeconds, 0, 'and a grace period of 0');

  t.strictSame(configOf({ container: written, terminationFile: '' }).mounts?.length, 1, 'without its file a container starts without the mount');
  t.ok(configOf({}).linux?.securityContext?.maskedPaths?.includes('/sys/devices/system/cpu/cpu0/thermal_throttle'), 'what the CPUs tell about others is hidden');
  const unmasked = configOf({ container: { ...container, securityContext: { procMount: 'Unmasked' } } }).linux?.securityContext;
  t.match([unmasked?.maskedPaths, unmasked?.readonlyPaths], [[], []], 'unless asked for');
});

t.test('mounts', async (t) => {
  const mounting = (mount: object, volume: object = {}, node: Partial<NodeFacts> = {}): unknown => {
    const made = attempt({ container: { ...container, volumeMounts: [{ name: 'v', mountPath: '/v', ...mount }] }, volumes: { v: { hostPath: '/h', ...volume } } }, node);
    return made.ok ? made.value.mounts?.[0] : made.message;
  };
  const managed = { managed: true, selinuxRelabel: true };
  t.match(mounting({}, managed), { selinuxRelabel: true }, 'a managed volume is relabelled');
  t.notOk((mounting({}, { ...managed, alreadyLabeledByMountOption: true }) as { selinuxRelabel?: boolean }).selinuxRelabel, 'unless its mount option did it');
  t.notOk((mounting({}, managed, { selinuxEnabled: false }) as { selinuxRelabel?: boolean }).selinuxRelabel, 'or the host has no SELinux');
  t.match(mounting({ readOnly: true, recursiveReadOnly: 'IfPossible' }), { recursiveReadOnly: false }, 'IfPossible forgives a runtime that cannot');
  const cannot = 'failed to resolve recursive read-only mode: volume "v" requested recursive read-only mode, but it is not supported by the runtime';
  t.equal(mounting({ readOnly: true, recursiveReadOnly: 'Enabled' }), cannot, 'Enabled does not');
  t.equal(mounting({ subPathExpr: '$(A)/x' }), 'missing value for A', 'a path never loses a part');
  t.equal(mounting({ subPath: 'a/..' }), "unable to provision SubPath `a/..`: must not contain '..'", 'no way up, even back to the volume');
  t.equal(mounting({ name: 'w' }), 'cannot find volume "w" to mount into container "c"', 'a volume that is not there');
  t.equal(mounting({ name: 'constructor' }), 'cannot find volume "constructor" to mount into container "c"', 'names are data');
  t.match(
    configOf({ container: { ...container, volumeMounts: [{ name: 'v', mountPath: '/v', subPath: 's' }] }, volumes: { v: { hostPath: '/h' } }, subPathMounts: { 0: '/safe' } })
      .mounts?.[0],
    {
      hostPath: '/safe',
    },
  );
  const block = { ...container, volumeDevices: [{ name: 'b', devicePath: '/dev/x' }] };
  t.match(attempt({ container: block }), { message: 'cannot find volume "b" to pass into container "c"' }, 'a device that is not there');
  t.strictSame(configOf({ container: block, blockVolumes: { b: { link: null } } }).devices, [], 'a volume without a device on this node');
});

t.test('identity', async (t) => {
  const image = { uid: null, username: 'app' };
  t.match(configOf({ image }).linux?.securityContext, { runAsUsername: 'app' }, "the image's user by name");
  t.equal(configOf({ image }).linux?.securityContext?.runAsUser, undefined, 'is no number');
  t.equal(configOf({ image, pod: podOf({ securityContext: { runAsUser: 0 } }) }).linux?.securityContext?.runAsUser, 0, 'uid 0 from the pod is a setting');
  const nonRoot = podOf({ securityContext: { runAsNonRoot: true } });
  t.match(attempt({ pod: nonRoot }), { message: 'container has runAsNonRoot and image will run as root (pod: "p_n(u-1)", container: c)' }, 'an image that names no user');
  t.equal(attempt({ pod: nonRoot, container: { ...container, securityContext: { runAsNonRoot: false } } }).ok, true, 'the container overrides the pod');
  const groups = podOf({ securityContext: { fsGroup: 1, supplementalGroups: [2] } });
  t.strictSame(configOf({ pod: groups, volumeSupplementalGroups: [3] }).linux?.securityContext?.supplementalGroups, [1, 2, 3], 'order in containers');
  const sandbox = runtimeConfigs(facts).sandbox(groups, 0, { volumeSupplementalGroups: [3] });
  t.strictSame(sandbox.ok && sandbox.value.config.linux?.securityContext?.supplementalGroups, [1, 3, 2], 'order in sandboxes');

  const debug = { name: 'd', image: 'busybox', targetContainerName: 'c' };
  const debugged = podOf({ ephemeralContainers: [debug] });
  t.match(attempt({ pod: debugged, container: debug }), { message: 'unable to find target container c' }, 'a target that never ran');
  const instances = ['new', 'old'].map((id) => ({ id, name: 'c' }) as RuntimeContainerStatus);
  const joined = configOf({ pod: debugged, container: debug, status: { ...status, containers: instances } });
  t.match(joined.linux?.securityContext?.namespaceOptions, { pid: 'TARGET', targetId: 'new' }, 'the newest instance is joined');
  t.match(attempt({ pod: podOf({ hostUsers: false }) }), { ok: false, message: 'no user namespace is allocated to the pod' }, 'never in the namespace of the node by accident');
  const mapped = configOf({ pod: podOf({ hostUsers: false }), userNamespaceMapping: { hostId: 65_536, length: 65_536 } });
  t.match(mapped.mounts, [{ uidMappings: [{ hostId: 65_536, containerId: 0, length: 65_536 }] }], 'mounts are mapped like processes');
});

t.test('hosts files', async (t) => {
  const { hosts } = runtimeConfigs(facts);
  t.equal(hosts(podOf(), []), null, 'none without an address');
  t.equal(hosts(podOf({ hostname: 'Not valid' }), ['10.0.0.4']), null, 'none without a name');
  t.match(hosts(podOf({ hostNetwork: true }), []), /\(host network\)\.\n127\.0\.0\.1 localhost\n$/, "the node's own on the host network");
});

t.test('KB074: hosts files, with aliases and without', async (t) => {
  const nodeFile = '127.0.0.1 localhost\n192.0.2.9 registry # of the node\n';
  const { hosts } = runtimeConfigs({ ...facts, hostsFile: nodeFile });
  const hostAliases = [
    { ip: '192.0.2.1', hostnames: ['db', 'db.local'] },
    { ip: '2001:db8::1', hostnames: ['cache'] },
  ];
  const aliasPart = '\n# Entries added by HostAliases.\n192.0.2.1\tdb\tdb.local\n2001:db8::1\tcache\n';
  const hostHeader = '# Kubernetes-managed hosts file (host network).\n';
  t.equal(hosts(podOf({ hostNetwork: true, hostAliases }), []), hostHeader + nodeFile + aliasPart, "host network: the node's file to the byte, and the aliases marked");
  t.equal(hosts(podOf({ hostNetwork: true }), []), hostHeader + nodeFile, 'without aliases nothing is added');
  const own = hosts(podOf({ hostAliases, hostname: 'web', subdomain: 'shop' }), ['10.0.0.4', 'fd00::4']) ?? '';
  t.match(own, /^# Kubernetes-managed hosts file\.\n127\.0\.0\.1\tlocalhost\n/, "pod network: generated, nothing of the node's");
  t.notMatch(own, /registry/);
  t.match(own, /\n10\.0\.0\.4\tweb\.shop\.[^\t]+\tweb\nfd00::4\tweb\.shop\.[^\t]+\tweb\n/, 'both addresses, with the whole name and the short one');
  t.ok(own.endsWith(aliasPart));
  const changed = runtimeConfigs({ ...facts, hostsFile: `${nodeFile}192.0.2.10 new\n` }).hosts(podOf({ hostNetwork: true, hostAliases }), []);
  t.equal(changed, `${hostHeader}${nodeFile}192.0.2.10 new\n${aliasPart}`, "a container that starts later gets the node's file as it is then");
});

t.test('ports that the network is told of', async (t) => {
  const rows: readonly (readonly [sentence: string, ports: readonly ContainerPort[], told: readonly string[]])[] = [
    ['without a host port, too', [{ containerPort: 80 }], ['TCP 80 0 -']],
    ['with an address', [{ containerPort: 80, hostPort: 8080, hostIP: '10.0.0.1', protocol: 'UDP' }], ['UDP 80 8080 10.0.0.1']],
    ['SCTP', [{ containerPort: 80, protocol: 'SCTP' }], ['SCTP 80 0 -']],
    ['a protocol that nobody knows is TCP', [{ containerPort: 80, protocol: 'ICMP' as 'TCP' }], ['TCP 80 0 -']],
    ['the same port twice', [{ containerPort: 80 }, { containerPort: 80 }], ['TCP 80 0 -']],
    ['an empty name is none', [{ containerPort: 80, name: '' }, { containerPort: 80 }], ['TCP 80 0 -']],
    ['no host port is host port 0', [{ containerPort: 80, hostPort: 0 }, { containerPort: 80 }], ['TCP 80 0 -']],
    ['another port', [{ containerPort: 80 }, { containerPort: 81 }], ['TCP 80 0 -', 'TCP 81 0 -']],
    [
      'another host port',
      [
        { containerPort: 80, hostPort: 1 },
        { containerPort: 80, hostPort: 2 },
      ],
      ['TCP 80 1 -', 'TCP 80 2 -'],
    ],
    ['another protocol', [{ containerPort: 53 }, { containerPort: 53, protocol: 'UDP' }], ['TCP 53 0 -', 'UDP 53 0 -']],
    [
      'another address',
      [{ containerPort: 80, hostIP: '::1' }, { containerPort: 80, hostIP: '127.0.0.1' }, { containerPort: 80 }],
      ['TCP 80 0 ::1', 'TCP 80 0 127.0.0.1', 'TCP 80 0 -'],
    ],
    [
      'two ports of one name: the first',
      [
        { name: 'web', containerPort: 80 },
        { name: 'web', containerPort: 81 },
      ],
      ['TCP 80 0 -'],
    ],
    ['a name makes it another port', [{ name: 'web', containerPort: 80 }, { containerPort: 80 }], ['TCP 80 0 -', 'TCP 80 0 -']],
  ];
  for (const [sentence, ports, told] of rows) {
    const mappings = portMappings(podOf({ containers: [{ ...container, ports }], initContainers: [{ ...container, ports: [{ containerPort: 9 }] }] }));
    t.strictSame(
      mappings.map(({ protocol, containerPort, hostPort, hostIp }) => `${protocol} ${containerPort} ${hostPort} ${hostIp || '-'}`),
      told,
      sentence,
    );
  }
  t.equal(
    portMappings(
      podOf({
        containers: [
          { ...container, ports: [{ containerPort: 80 }] },
          { ...container, ports: [{ containerPort: 80 }] },
        ],
      }),
    ).length,
    2,
    'of each container',
  );
});
