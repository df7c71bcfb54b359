// A sandbox's and a container's configuration with every field of the model set to something.
import type { ContainerConfig } from '../../src/ports/model/container-config.js';
import type { SandboxConfig } from '../../src/ports/model/sandbox-config.js';

export const fullSandbox: SandboxConfig = {
  metadata: { name: 'p', uid: 'u', namespace: 'n', attempt: 2 },
  hostname: 'p',
  logDirectory: '/logs/n_p_u',
  dnsConfig: { servers: ['10.0.0.10'], searches: ['n.svc'], options: ['ndots:5'] },
  portMappings: [{ protocol: 'UDP', containerPort: 53, hostPort: 5353, hostIp: '127.0.0.1' }],
  labels: { a: 'b' },
  annotations: { c: 'd' },
  linux: {
    cgroupParent: '/kubepods/pod-u',
    sysctls: { 'net.core.somaxconn': '1024' },
    securityContext: {
      namespaceOptions: {
        network: 'NODE',
        pid: 'CONTAINER',
        ipc: 'POD',
        usernsOptions: { mode: 'POD', uids: [{ hostId: 65_536, containerId: 0, length: 65_536 }], gids: [{ hostId: 65_536, containerId: 0, length: 65_536 }] },
      },
      selinuxOptions: { user: 'u', role: 'r', type: 't', level: 'l' },
      runAsUser: 0,
      runAsGroup: 5,
      readonlyRootfs: true,
      supplementalGroups: [1, 2],
      supplementalGroupsPolicy: 'Strict',
      privileged: true,
      seccomp: { profileType: 'RuntimeDefault' },
      apparmor: { profileType: 'Localhost', localhostRef: 'x' },
    },
    overhead: { cpuShares: 2 },
    resources: { cpuPeriod: 100_000, cpuQuota: -1, cpuShares: 1024, memoryLimitInBytes: 2 ** 40, oomScoreAdj: -997, hugepageLimits: [{ pageSize: '2MB', limit: 4 }] },
  },
};

export const fullContainer: ContainerConfig = {
  metadata: { name: 'c', attempt: 1 },
  image: { image: 'sha256:1', userSpecifiedImage: 'busybox', annotations: { e: 'f' }, runtimeHandler: 'kata' },
  command: ['sh'],
  args: ['-c', 'true'],
  workingDir: '/',
  envs: [{ key: 'A', value: 'ä' }],
  mounts: [
    {
      containerPath: '/data',
      hostPath: '/host',
      readonly: true,
      selinuxRelabel: true,
      propagation: 'PROPAGATION_BIDIRECTIONAL',
      recursiveReadOnly: true,
      uidMappings: [{ hostId: 1, containerId: 2, length: 3 }],
      gidMappings: [{ hostId: 4, containerId: 5, length: 6 }],
    },
    { containerPath: '/image', hostPath: '', image: { image: 'i' }, imageSubPath: 'sub' },
  ],
  devices: [{ containerPath: '/dev/a', hostPath: '/dev/b', permissions: 'mrw' }],
  cdiDevices: ['vendor.example/class=name'],
  labels: { a: 'b' },
  annotations: { c: 'd' },
  logPath: 'c/1.log',
  stdin: true,
  stdinOnce: true,
  tty: true,
  linux: {
    resources: { cpusetCpus: '0-1', cpusetMems: '0', unified: { 'memory.oom.group': '1' }, memorySwapLimitInBytes: 5 },
    securityContext: {
      capabilities: { addCapabilities: ['NET_ADMIN'], dropCapabilities: ['ALL'], addAmbientCapabilities: ['NET_BIND_SERVICE'] },
      privileged: true,
      namespaceOptions: { network: 'POD', pid: 'TARGET', ipc: 'POD', targetId: 'x' },
      runAsUser: 7,
      runAsGroup: 8,
      runAsUsername: 'me',
      readonlyRootfs: true,
      supplementalGroups: [3],
      noNewPrivs: true,
      maskedPaths: ['/proc/kcore'],
      readonlyPaths: ['/proc/sys'],
      seccomp: { profileType: 'Localhost', localhostRef: '/s.json' },
      apparmor: { profileType: 'Unconfined' },
    },
  },
};
