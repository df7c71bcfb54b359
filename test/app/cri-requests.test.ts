// Requests to the runtime, byte for byte from a manifest through the daemon and gRPC to a runtime of each kind: for features that the
// suite's own runtime or host can't run, it checks the request, and the message for a runtime without the feature.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { type MockCriProfile, mockCriProfiles } from '../../src/adapters/mock-cri/index.js';
import { tokens } from '../../src/app/tokens.js';
import type { PodStatus } from '../../src/ports/model/pod-status.js';
import { until } from '../support/until.js';
import { podNamed, Stage } from './stage.js';

t.setTimeout(300_000);

interface Mapped {
  readonly hostId: number;
  readonly containerId: number;
  readonly length: number;
}

interface NamespaceOption {
  readonly usernsOptions?: { readonly mode: number; readonly uids: readonly Mapped[]; readonly gids: readonly Mapped[] };
}

/** The parts of the messages that this test reads. */
interface Sandbox {
  readonly config: {
    readonly metadata: { readonly name: string };
    readonly linux: {
      readonly sysctls: object;
      readonly overhead: object;
      readonly securityContext: { readonly namespaceOptions?: NamespaceOption; readonly supplementalGroupsPolicy: number };
    };
  };
  readonly runtimeHandler: string;
}

interface Created {
  readonly config: {
    readonly labels: Readonly<Record<string, string>>;
    readonly mounts: readonly { readonly containerPath: string; readonly uidMappings: readonly Mapped[]; readonly gidMappings: readonly Mapped[] }[];
    readonly CDIDevices: readonly { readonly name: string }[];
    readonly stopSignal: number;
    readonly linux: {
      readonly resources: object;
      readonly securityContext: { readonly namespaceOptions: NamespaceOption; readonly maskedPaths: readonly string[]; readonly readonlyPaths: readonly string[] };
    };
  };
}

class Requests {
  readonly seen: { readonly method: string; readonly request: unknown }[] = [];

  of<T>(method: string): T[] {
    return this.seen.filter((one) => one.method === method).map(({ request }) => request as T);
  }

  sandbox(pod: string): Sandbox | undefined {
    return this.of<Sandbox>('RunPodSandbox').find(({ config }) => config.metadata.name === `${pod}-n1`);
  }

  container(pod: string): Created['config'] | undefined {
    return this.of<Created>('CreateContainer').find(({ config }) => config.labels['io.kubernetes.pod.name'] === `${pod}-n1`)?.config;
  }
}

async function stageWith(t: Test, profile: MockCriProfile): Promise<{ readonly stage: Stage; readonly requests: Requests }> {
  const requests = new Requests();
  const stage = await Stage.open({ profile, cgroupDriver: 'cgroupfs', observe: (method, request) => requests.seen.push({ method, request }) });
  t.teardown(() => stage.close());
  return { stage, requests };
}

const manifest = (name: string, spec: string, container = '') => `apiVersion: v1
kind: Pod
metadata: {name: ${name}}
spec:
  dnsPolicy: Default
  enableServiceLinks: false
  terminationGracePeriodSeconds: 1
${spec}
  containers:
  - name: c
    image: busybox
    imagePullPolicy: IfNotPresent
${container}
`;

interface Row {
  readonly feature: string;
  readonly spec: string;
  readonly container?: string;
  /** What every runtime is asked for. */
  readonly asks?: (t: Test, requests: Requests, pod: string, root: string, status: PodStatus | undefined) => void;
  /** The beginning of what the pod waits with, on runtimes that don't offer it: a waiting message or an event. */
  readonly lacking?: string;
  readonly offered?: (profile: MockCriProfile) => boolean;
}

const offersHandlers = (profile: MockCriProfile): boolean => mockCriProfiles[profile].reportsHandlers === true;
const volume = '  volumes: [{name: v, hostPath: {path: /, type: Directory}}]';

const rows: readonly Row[] = [
  {
    feature: 'image-volumes',
    spec: '  volumes: [{name: v, image: {reference: "docker.io/library/data:1", pullPolicy: IfNotPresent}}]',
    container: '    volumeMounts: [{name: v, mountPath: /data, readOnly: true, subPath: a}]',
    asks: (t, requests, pod) => {
      const mount = requests.container(pod)?.mounts.find(({ containerPath }) => containerPath === '/data');
      t.match(mount, { hostPath: '', readonly: true, imageSubPath: 'a', image: { image: /^sha256:|docker.io\/library\/data/, userSpecifiedImage: 'docker.io/library/data:1' } });
    },
  },
  {
    feature: 'recursive-read-only',
    spec: volume,
    container: '    volumeMounts: [{name: v, mountPath: /v, readOnly: true, recursiveReadOnly: Enabled}]',
    offered: offersHandlers,
    lacking: 'failed to resolve recursive read-only mode: volume "v" requested recursive read-only mode, but it is not supported by the runtime',
    asks: (t, requests, pod) => t.match(mountOf(requests, pod, '/v'), { readonly: true, recursiveReadOnly: true, propagation: 0 }),
  },
  {
    feature: 'recursive-read-only-if-possible',
    spec: volume,
    container: '    volumeMounts: [{name: v, mountPath: /v, readOnly: true, recursiveReadOnly: IfPossible}]',
    asks: (t, requests, pod) => t.match(mountOf(requests, pod, '/v'), { readonly: true }),
  },
  {
    feature: 'supplemental-groups-policy',
    spec: '  securityContext: {supplementalGroups: [5, 6], supplementalGroupsPolicy: Strict, fsGroup: 7}',
    offered: offersHandlers,
    lacking: 'SupplementalGroupsPolicy=Strict is not supported in this node',
    asks: (t, requests, pod) => {
      t.match(requests.sandbox(pod)?.config.linux.securityContext, { supplementalGroups: [7n, 5n, 6n], supplementalGroupsPolicy: 1 });
      t.match(requests.container(pod)?.linux.securityContext, { supplementalGroups: [7n, 5n, 6n], supplementalGroupsPolicy: 1 });
    },
  },
  {
    feature: 'user-namespaces',
    spec: '  hostUsers: false',
    offered: offersHandlers,
    lacking: "Failed to create pod sandbox: can't set `spec.hostUsers: false`, runtime does not support user namespaces",
    asks: (t, requests, pod) => {
      const options = requests.sandbox(pod)?.config.linux.securityContext.namespaceOptions?.usernsOptions;
      t.match(options, { mode: 0, uids: [{ containerId: 0, length: 65_536 }] });
      t.strictSame(options?.uids, options?.gids);
      t.ok((options?.uids[0]?.hostId ?? 0) >= 65_536 && (options?.uids[0]?.hostId ?? 1) % 65_536 === 0);
      const container = requests.container(pod);
      t.strictSame(container?.linux.securityContext.namespaceOptions.usernsOptions, options);
      t.ok((container?.mounts.length ?? 0) > 0);
      for (const { uidMappings, gidMappings } of container?.mounts ?? []) t.strictSame([uidMappings, gidMappings], [options?.uids, options?.gids]);
    },
  },
  {
    feature: 'proc-mount',
    spec: '  hostUsers: false',
    container: '    securityContext: {procMount: Unmasked}',
    offered: offersHandlers,
    lacking: "Failed to create pod sandbox: can't set `spec.hostUsers: false`, runtime does not support user namespaces",
    asks: (t, requests, pod) => t.match(requests.container(pod)?.linux.securityContext, { maskedPaths: [], readonlyPaths: [] }),
  },
  {
    feature: 'apparmor-localhost',
    spec: '  securityContext: {appArmorProfile: {type: RuntimeDefault}}',
    container: '    securityContext: {appArmorProfile: {type: Localhost, localhostProfile: mine}}',
    asks: (t, requests, pod) => t.match(requests.container(pod)?.linux.securityContext, { apparmor: { profileType: 2, localhostRef: 'mine' }, apparmorProfile: 'localhost/mine' }),
  },
  {
    feature: 'apparmor-of-the-pod',
    spec: '  securityContext: {appArmorProfile: {type: RuntimeDefault}}',
    asks: (t, requests, pod) => t.match(requests.container(pod)?.linux.securityContext, { apparmor: { profileType: 0, localhostRef: '' }, apparmorProfile: 'runtime/default' }),
  },
  {
    feature: 'selinux',
    spec: '  securityContext: {seLinuxOptions: {level: "s0:c1,c2"}}',
    container: '    securityContext: {seLinuxOptions: {user: u, role: r, type: t, level: s0}}',
    asks: (t, requests, pod) => {
      t.match(requests.sandbox(pod)?.config.linux.securityContext, { selinuxOptions: { user: '', role: '', type: '', level: 's0:c1,c2' } });
      t.match(requests.container(pod)?.linux.securityContext, { selinuxOptions: { user: 'u', role: 'r', type: 't', level: 's0' } });
    },
  },
  {
    feature: 'seccomp-localhost',
    spec: '  securityContext: {seccompProfile: {type: RuntimeDefault}}',
    container: '    securityContext: {seccompProfile: {type: Localhost, localhostProfile: profiles/a.json}}',
    asks: (t, requests, pod, root) => {
      t.match(requests.sandbox(pod)?.config.linux.securityContext, { seccomp: { profileType: 0 } });
      t.match(requests.container(pod)?.linux.securityContext, { seccomp: { profileType: 2, localhostRef: join(root, 'seccomp/profiles/a.json') } });
    },
  },
  {
    feature: 'stop-signal',
    spec: '  os: {name: linux}',
    container: '    lifecycle: {stopSignal: SIGRTMIN+3}',
    asks: (t, requests, pod, _root, status) => {
      t.equal(requests.container(pod)?.stopSignal, 38);
      t.equal(status?.containerStatuses?.[0]?.stopSignal, 'SIGRTMIN+3', 'and the status tells it');
    },
  },
  {
    feature: 'oom-score-and-sysctls',
    spec: '  securityContext: {sysctls: [{name: net/ipv4/ip_local_port_range, value: "1024 2000"}]}',
    container: '    resources: {limits: {cpu: 100m, memory: 64Mi}}',
    asks: (t, requests, pod) => {
      t.strictSame(requests.sandbox(pod)?.config.linux.sysctls, { 'net.ipv4.ip_local_port_range': '1024 2000' });
      t.match(requests.container(pod)?.linux.resources, { oomScoreAdj: -997n, memoryLimitInBytes: 67_108_864n, cpuShares: 102n });
    },
  },
];

function mountOf(requests: Requests, pod: string, path: string): object | undefined {
  return requests.container(pod)?.mounts.find(({ containerPath }) => containerPath === path);
}

for (const profile of Object.keys(mockCriProfiles) as MockCriProfile[]) {
  t.test(`requests to ${profile}`, { timeout: 120_000 }, async (t) => {
    const { stage, requests } = await stageWith(t, profile);
    stage.configurationMore = 'featureGates: {ContainerStopSignals: true}\npodCIDR: 10.20.0.0/24\n';
    for (const { feature, spec, container } of rows) stage.manifest(`${feature}.yaml`, manifest(feature, spec, container));
    const daemon = await stage.start();
    for (const { feature, lacking = '', offered = () => true, asks } of rows) {
      await t.test(feature, async (t) => {
        if (offered(profile)) {
          await until(`${feature} runs`, () => podNamed(daemon, `${feature}-n1`)?.status?.phase === 'Running');
          asks?.(t as Test, requests, feature, stage.root, podNamed(daemon, `${feature}-n1`)?.status);
          return;
        }
        const said = () => {
          const { containerStatuses = [], message = '' } = podNamed(daemon, `${feature}-n1`)?.status ?? {};
          const waiting = containerStatuses[0]?.state?.waiting?.message ?? '';
          return (
            waiting.includes(lacking) ||
            message.includes(lacking) ||
            stage.log.lines.some((line) => line.includes(JSON.stringify(lacking).slice(1, -1)) && line.includes(`${feature}-n1`))
          );
        };
        await until(`${feature} waits: ${lacking}`, said);
        t.equal(requests.container(feature), undefined, 'nothing was made without it');
      });
    }
    const ifPossible = mountOf(requests, 'recursive-read-only-if-possible', '/v');
    t.match(ifPossible, { recursiveReadOnly: offersHandlers(profile) }, 'as far as the runtime can');
    await until('the runtime knows the addresses of pods', () => requests.of('UpdateRuntimeConfig').length > 0);
    t.match(requests.of('UpdateRuntimeConfig'), [{ runtimeConfig: { networkConfig: { podCidr: '10.20.0.0/24' } } }]);
    t.equal(requests.of('UpdateRuntimeConfig').length, 1, 'once');
  });
}

t.test('AppArmor as the kernel has it: profiles reach the runtime, or their pods are refused', async (t) => {
  const { stage, requests } = await stageWith(t, 'containerd-2.1');
  stage.manifest('a.yaml', manifest('a', '  securityContext: {appArmorProfile: {type: RuntimeDefault}}'));
  stage.manifest('b.yaml', manifest('b', '  securityContext: {appArmorProfile: {type: Unconfined}}'));
  const daemon = await stage.start({ apparmorEnabled: null });
  await until('the one that asks for nothing runs', () => podNamed(daemon, 'b-n1')?.status?.phase === 'Running');
  t.match(requests.container('b')?.linux.securityContext, { apparmor: { profileType: 1 }, apparmorProfile: 'unconfined' });
  const enabled = existsSync('/sys/kernel/security/apparmor') && /^Y/.test(readFileSync('/sys/module/apparmor/parameters/enabled', 'utf8'));
  await until('the other one is decided upon', () => podNamed(daemon, 'a-n1')?.status?.phase === (enabled ? 'Running' : 'Failed'));
  const refusal = { reason: 'AppArmor', message: 'Pod was rejected: Cannot enforce AppArmor: AppArmor is not enabled on the host' };
  if (enabled) t.match(requests.container('a')?.linux.securityContext, { apparmor: { profileType: 0 } });
  else t.match(podNamed(daemon, 'a-n1')?.status, refusal);
  t.equal(requests.container('a') === undefined, !enabled);
});

t.test('without its gate a stop signal counts for nothing', async (t) => {
  const { stage, requests } = await stageWith(t, 'containerd-2.1');
  stage.manifest('a.yaml', manifest('a', '  os: {name: linux}', '    lifecycle: {stopSignal: SIGUSR1}'));
  const daemon = await stage.start();
  await until('it runs', () => podNamed(daemon, 'a-n1')?.status?.phase === 'Running');
  t.equal(requests.container('a')?.stopSignal, 0);
  t.equal(podNamed(daemon, 'a-n1')?.status?.containerStatuses?.[0]?.stopSignal, undefined);
});

t.test('what devices and the node bring: CDI names, swap, huge pages, CPUs, by the port of the daemon', async (t) => {
  const { stage, requests } = await stageWith(t, 'containerd-2.1');
  const daemon = await stage.start();
  const { sandboxes, containers } = daemon.resolver.get(tokens.ports);
  const calling = () => ({ signal: new AbortController().signal, timeoutMicros: null });
  const labels = { 'io.kubernetes.pod.name': 'p-n1', 'io.kubernetes.pod.namespace': 'n', 'io.kubernetes.pod.uid': 'u' };
  const sandboxConfig = {
    metadata: { name: 'p', namespace: 'n', uid: 'u', attempt: 0 },
    labels,
    annotations: {},
    linux: { overhead: { cpuShares: 51, memoryLimitInBytes: 1024 } },
  };
  const { sandboxId } = await sandboxes.run({ config: sandboxConfig, runtimeHandler: 'runc' }, calling());
  const hugepageLimits = [{ pageSize: '2MB', limit: 4_194_304 }];
  const resources = { hugepageLimits, cpusetCpus: '2-3', cpusetMems: '0', memorySwapLimitInBytes: 4096, unified: { 'memory.swap.max': '0', 'memory.oom.group': '1' } };
  const config = {
    metadata: { name: 'c', attempt: 0 },
    image: { image: 'busybox' },
    labels,
    annotations: {},
    logPath: '',
    cdiDevices: ['vendor.example/gpu=0'],
    linux: { resources },
  };
  await containers
    .create({ sandboxId, config, sandboxConfig }, calling())
    .catch((error: unknown) => t.match(error, { kind: 'not-found' }, 'the mock has no such image, which it says after it was asked'));
  t.match(requests.of<Sandbox>('RunPodSandbox')[0], { runtimeHandler: 'runc', config: { linux: { overhead: { cpuShares: 51n, memoryLimitInBytes: 1024n } } } });
  const sent = requests.container('p');
  t.match(sent?.CDIDevices, [{ name: 'vendor.example/gpu=0' }]);
  t.match(sent?.linux.resources, {
    hugepageLimits: [{ pageSize: '2MB', limit: 4_194_304n }],
    cpusetCpus: '2-3',
    cpusetMems: '0',
    memorySwapLimitInBytes: 4096n,
    unified: { 'memory.swap.max': '0', 'memory.oom.group': '1' },
  });
});

for (const [profile, events] of [
  ['containerd-1.6', false],
  ['containerd-1.7', true],
  ['containerd-2.0', true],
  ['cri-o', false],
] as const) {
  t.test(`a container that dies on ${profile}: ${events ? 'told by the event stream' : 'found by looking'}`, async (t) => {
    const { stage, requests } = await stageWith(t, profile);
    stage.manifest('a.yaml', manifest('a', ''));
    const daemon = await stage.start();
    await until('it runs', () => podNamed(daemon, 'a-n1')?.status?.phase === 'Running');
    t.equal(daemon.resolver.get(tokens.settings).agent.runtimeSendsEvents, events);
    const [id = ''] = stage.running;
    stage.runtime.runtime.killContainer(id, stage.runtime.time.now());
    await until('it was started again', () => podNamed(daemon, 'a-n1')?.status?.containerStatuses?.[0]?.restartCount === 1 && stage.running.length === 1);
    t.equal(requests.of('GetContainerEvents').length > 0, events);
  });
}
