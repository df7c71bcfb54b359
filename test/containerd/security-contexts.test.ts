// The real identity and restrictions of containers on a containerd: users, groups, capabilities, seccomp, namespaces, kernel
// parameters and cgroups, read from the kernel. All pods are created at once and then checked one by one.
import { existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { InsideContainer, waiting } from './inside-container.js';
import { idOf, scripted, statusOf } from './kubelet-process.js';
import { skipWithoutContainerd } from './private-containerd.js';
import { type TestNode, testNode } from './test-node.js';

// For the whole file; a machine that does other things needs several times what it takes.
t.setTimeout(240_000);
const skip = skipWithoutContainerd();

interface Feature {
  readonly what: string;
  readonly skip?: string | false;
  /** Puts its pods into the manifest directory. */
  apply(node: TestNode): void;
  look(t: Test, node: TestNode): Promise<void>;
}

const podNetwork = { hostNetwork: false, dnsPolicy: 'Default' };
const numberOf: Readonly<Record<string, bigint>> = { CHOWN: 0n, KILL: 5n, NET_BIND_SERVICE: 10n, NET_ADMIN: 12n, SYS_ADMIN: 21n };
const has = (set: string, capability: string): boolean => ((BigInt(`0x${set}`) >> (numberOf[capability] ?? 63n)) & 1n) === 1n;
const held = (container: InsideContainer): string[] => Object.keys(numberOf).filter((name) => has(container.status('CapEff'), name));

/** The first process of each of a pod's containers, by the container's name, once all of them run. */
async function inside(node: TestNode, name: string): Promise<(container?: string) => InsideContainer> {
  const pod = await node.kubelet.untilRunning(name);
  return (container = 'main') => InsideContainer.of(node, pod, container);
}

const container = ({ containerd }: TestNode, name: string, securityContext: object, more: object = {}, script = waiting): object =>
  scripted(containerd, name, script, { securityContext, ...more });

const users: Feature = {
  what: 'users and groups, and whose a volume is',
  apply(node) {
    const volumeMounts = [{ name: 'data', mountPath: '/data' }];
    node.apply('users', {
      securityContext: { runAsUser: 1000, runAsGroup: 2000, supplementalGroups: [3000], fsGroup: 4000 },
      volumes: [{ name: 'data', emptyDir: {} }],
      containers: [
        container(node, 'of-pod', {}, { volumeMounts }, `echo x > /data/file; ${waiting}`),
        container(node, 'own', { runAsUser: 1001, runAsGroup: 2001 }, { volumeMounts }),
      ],
    });
    node.apply('not-root', {
      containers: [container(node, 'asked', { runAsNonRoot: true, runAsUser: 0 }), container(node, 'by-image', { runAsNonRoot: true }), container(node, 'neighbour', {})],
    });
  },
  async look(t, node) {
    const of = await inside(node, 'users');
    const [ofPod, own] = [of('of-pod'), of('own')];
    t.match([ofPod.status('Uid'), ofPod.status('Gid')], ['1000 1000 1000 1000', '2000 2000 2000 2000']);
    t.match([own.status('Uid'), own.status('Gid')], ['1001 1001 1001 1001', '2001 2001 2001 2001']);
    for (const one of [ofPod, own]) t.match(new Set(one.status('Groups').split(' ')), new Set(['3000', '4000']));
    const file = statSync(ofPod.path('/data/file'));
    t.strictSame([file.uid, file.gid], [1000, 4000]);
    const pod = await node.kubelet.untilPod('not-root', (pod) => statusOf(pod, 'neighbour').state?.running != null && statusOf(pod, 'by-image').state?.waiting?.message != null);
    const problem = (message: string) => ({ state: { waiting: { reason: 'CreateContainerConfigError', message: new RegExp(`^${message} \\(pod: ".*", container: `) } } });
    t.match(statusOf(pod, 'asked'), problem("container's runAsUser breaks non-root policy"));
    t.match(statusOf(pod, 'by-image'), problem('container has runAsNonRoot and image will run as root'));
  },
};

const capabilities: Feature = {
  what: 'capabilities, privileges, escalation',
  apply(node) {
    node.apply('capable', {
      containers: [
        container(node, 'usual', {}),
        container(node, 'changed', { capabilities: { add: ['NET_ADMIN'], drop: ['CHOWN'] } }),
        container(node, 'one', { capabilities: { drop: ['ALL'], add: ['NET_BIND_SERVICE'] }, allowPrivilegeEscalation: false }),
        container(node, 'privileged', { privileged: true }),
      ],
    });
  },
  async look(t, node) {
    const of = await inside(node, 'capable');
    const [usual, changed, one, privileged] = [of('usual'), of('changed'), of('one'), of('privileged')];
    t.strictSame(held(usual), ['CHOWN', 'KILL', 'NET_BIND_SERVICE']);
    t.strictSame(held(changed), ['KILL', 'NET_BIND_SERVICE', 'NET_ADMIN']);
    t.strictSame([held(one), one.status('CapBnd')], [['NET_BIND_SERVICE'], (1n << 10n).toString(16).padStart(16, '0')]);
    t.equal(privileged.status('CapEff'), ofThisProcess('CapBnd'), 'all that there is');
    t.strictSame(
      [usual, one, privileged].map((each) => each.status('NoNewPrivs')),
      ['0', '1', '0'],
    );
    const devices = (each: InsideContainer): number => readdirSync(each.path('/dev')).length;
    t.ok(devices(privileged) > devices(usual), 'the host’s devices');
    t.match([usual.mount('/sys'), privileged.mount('/sys')], [/ ro,/, / rw,/]);
  },
};

const ofThisProcess = (field: string): string => new RegExp(`^${field}:\\s+(.*)$`, 'm').exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '';

const noMkdir = { defaultAction: 'SCMP_ACT_ALLOW', syscalls: [{ names: ['mkdir', 'mkdirat'], action: 'SCMP_ACT_ERRNO' }] };

const seccomp: Feature = {
  what: 'seccomp profiles: none, the runtime’s, one of the node’s, one that is missing',
  apply(node) {
    const profiles = join(node.kubelet.root, 'seccomp/profiles');
    mkdirSync(profiles, { recursive: true });
    writeFileSync(join(profiles, 'no-mkdir.json'), JSON.stringify(noMkdir));
    const localhost = (localhostProfile: string): object => ({ seccompProfile: { type: 'Localhost', localhostProfile } });
    const report = `mkdir /tmp/made; echo $? > /tmp/result; ${waiting}`;
    node.apply('filtered', {
      containers: [
        container(node, 'none', {}),
        container(node, 'unconfined', { seccompProfile: { type: 'Unconfined' } }),
        container(node, 'runtime', { seccompProfile: { type: 'RuntimeDefault' } }),
        container(node, 'localhost', localhost('profiles/no-mkdir.json'), {}, report),
      ],
    });
    node.apply('filtered-all', { securityContext: { seccompProfile: { type: 'RuntimeDefault' } }, containers: [container(node, 'main', {})] });
    node.apply('unfiltered', { containers: [container(node, 'main', localhost('profiles/missing.json'))] });
  },
  async look(t, node) {
    const of = await inside(node, 'filtered');
    const main = (await inside(node, 'filtered-all'))();
    const localhost = of('localhost');
    t.strictSame(
      [of('none'), of('unconfined'), of('runtime'), localhost, main].map((each) => each.status('Seccomp')),
      ['0', '0', '2', '2', '2'],
    );
    await node.kubelet.until('the one with a profile has tried', () => localhost.file('/tmp/result') === '1\n');
    const pod = await node.kubelet.untilPod('unfiltered', (pod) => statusOf(pod, 'main').state?.waiting?.reason === 'CreateContainerError');
    t.match(statusOf(pod, 'main').state?.waiting?.message, /seccomp\/profiles\/missing\.json/);
  },
};

const files: Feature = {
  what: 'a root that can only be read; what is hidden of /proc',
  apply(node) {
    node.apply('read-only', {
      containers: [
        container(node, 'main', { readOnlyRootFilesystem: true }, { volumeMounts: [{ name: 'work', mountPath: '/work' }] }, `touch /file; echo $? > /work/result; ${waiting}`),
        container(node, 'writable', { procMount: 'Default' }),
      ],
      volumes: [{ name: 'work', emptyDir: {} }],
    });
  },
  async look(t, node) {
    const of = await inside(node, 'read-only');
    const [main, writable] = [of(), of('writable')];
    t.match([main.mount('/'), writable.mount('/')], [/ ro,/, / rw,/]);
    await node.kubelet.until('it has tried to write', () => main.file('/work/result') === '1\n');
    const masked = ['/proc/kcore', '/proc/keys', '/proc/timer_list', '/proc/interrupts'].filter((path) => existsSync(path));
    t.ok(masked.length > 0);
    for (const path of masked) t.equal(writable.file(path), '', path);
    t.match(writable.mount('/proc/sys'), / ro,/);
  },
};

const namespaces: Feature = {
  what: 'namespaces: of one’s own, of the pod, of the host',
  apply(node) {
    node.apply('apart', { ...podNetwork, containers: [container(node, 'one', {}), container(node, 'two', {})] });
    node.apply('shared', { ...podNetwork, shareProcessNamespace: true, containers: [container(node, 'one', {}), container(node, 'two', {})] });
    node.apply('hostly', { hostPID: true, hostIPC: true, containers: [container(node, 'one', {})] });
  },
  async look(t, node) {
    const ofHost = (kind: string): string => readlinkSync(`/proc/self/ns/${kind}`);
    const of = await inside(node, 'apart');
    const [one, two] = [of('one'), of('two')];
    t.strictSame([one.namespace('net'), one.namespace('ipc'), one.namespace('uts')], [two.namespace('net'), two.namespace('ipc'), two.namespace('uts')]);
    t.not(one.namespace('pid'), two.namespace('pid'));
    for (const kind of ['net', 'ipc', 'uts', 'pid', 'mnt'] as const) t.not(one.namespace(kind), ofHost(kind), kind);
    const shared = await inside(node, 'shared');
    t.equal(shared('one').namespace('pid'), shared('two').namespace('pid'));
    t.equal(shared('one').file('/proc/1/cmdline'), '/pause\0', 'whose first process is the sandbox’s');
    const hostly = await inside(node, 'hostly');
    for (const kind of ['net', 'ipc', 'pid'] as const) t.equal(hostly('one').namespace(kind), ofHost(kind), kind);
  },
};

const sysctls: Feature = {
  what: 'kernel parameters: safe ones, allowed ones, refused ones',
  apply(node) {
    const set = (values: Readonly<Record<string, string>>): object => ({ sysctls: Object.entries(values).map(([name, value]) => ({ name, value })) });
    const containers = [container(node, 'main', {})];
    node.apply('tuned', {
      ...podNetwork,
      securityContext: set({ 'kernel.shm_rmid_forced': '1', 'net/ipv4/ip_local_port_range': '40000 50000', 'kernel.msgmax': '4097' }),
      containers,
    });
    node.apply('untuned', { ...podNetwork, securityContext: set({ 'net.core.somaxconn': '4097' }), containers });
  },
  async look(t, node) {
    const main = (await inside(node, 'tuned'))();
    const value = (name: string): string | undefined => main.enter(['net', 'ipc'], 'cat', `/proc/sys/${name}`).trim().replace(/\s+/g, ' ');
    t.strictSame(['kernel/shm_rmid_forced', 'net/ipv4/ip_local_port_range', 'kernel/msgmax'].map(value), ['1', '40000 50000', '4097']);
    const refused = await node.kubelet.untilPod('untuned', ({ status }) => status?.phase === 'Failed');
    t.match(refused.status, { reason: 'SysctlForbidden', message: /forbidden sysctl: "net\.core\.somaxconn"/ });
  },
};

const cgroups: Feature = {
  what: 'cgroups: where containers are, and what they may use at most',
  skip: existsSync('/sys/fs/cgroup/cgroup.controllers') && 'files of cgroup v1 are looked at here',
  apply(node) {
    node.apply('limited', {
      containers: [container(node, 'main', {}, { resources: { requests: { cpu: '250m', memory: '32Mi' }, limits: { cpu: '500m', memory: '64Mi' } } }), container(node, 'free', {})],
    });
    node.apply('unlimited', { containers: [container(node, 'main', {})] });
    const exact = { cpu: '100m', memory: '48Mi' };
    node.apply('guaranteed', { containers: [container(node, 'main', {}, { resources: { requests: exact, limits: exact } })] });
  },
  async look(t, node) {
    const of = await inside(node, 'limited');
    const [main, free] = [of(), of('free')];
    const pod = await node.kubelet.untilRunning('limited');
    const podCgroup = `kubepods/burstable/pod${pod.metadata.uid}`;
    t.ok(main.cgroup('cpu').endsWith(`${node.containerd.cgroupRoot}/${podCgroup}/${idOf(pod)}`), main.cgroup('cpu'));
    const cpu = (each: InsideContainer, file: string): string => each.cgroupFile('cpu', `cpu.${file}`);
    t.strictSame([cpu(main, 'shares'), cpu(main, 'cfs_quota_us'), cpu(main, 'cfs_period_us')], ['256', '50000', '100000']);
    t.strictSame([cpu(free, 'shares'), cpu(free, 'cfs_quota_us')], ['2', '-1']);
    t.equal(main.cgroupFile('memory', 'memory.limit_in_bytes'), String(64 * 1024 * 1024));
    const capacity = Number(/MemTotal:\s+(\d+)/.exec(readFileSync('/proc/meminfo', 'utf8'))?.[1]) * 1024;
    const burstable = 1000 - Math.floor((1000 * 32 * 1024 * 1024) / capacity);
    t.equal(main.oomScoreAdj(), Math.min(burstable, 999));
    t.equal((await inside(node, 'unlimited'))().oomScoreAdj(), 1000);
    const guaranteed = (await inside(node, 'guaranteed'))();
    t.equal(guaranteed.oomScoreAdj(), Math.max(-997, Number(readFileSync('/proc/self/oom_score_adj', 'utf8'))), 'as low as this host lets it be');
    t.match(guaranteed.cgroup('cpu'), /\/kubepods\/pod[^/]+\/[^/]+$/);
  },
};

const features: readonly Feature[] = [users, capabilities, seccomp, files, namespaces, sysctls, cgroups];

t.test('identity and restrictions of containers', { skip, timeout: 240_000 }, async (t) => {
  const node = await testNode(t, false, () => ({ allowedUnsafeSysctls: ['kernel.msg*'] }));
  for (const { apply } of features) apply(node);
  await node.kubelet.start();
  for (const { what, look, skip = false } of features) await t.test(what, { skip }, (t) => look(t, node));
});
