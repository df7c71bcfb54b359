// The environment of a container on a real containerd: its command, variables, names, addresses and files, read from
// the container's own processes and files. All pods are created at once and then checked one by one.
import { readFileSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { InsideContainer, waiting } from './inside-container.js';
import { freePort, scripted } from './kubelet-process.js';
import { skipWithoutContainerd } from './private-containerd.js';
import { type TestNode, testNode } from './test-node.js';

// For the whole file; a machine that does other things needs several times what it takes.
t.setTimeout(240_000);
const skip = skipWithoutContainerd();

interface Feature {
  readonly what: string;
  /** Puts its pods into the manifest directory. */
  apply(node: TestNode): Promise<void> | void;
  look(t: Test, node: TestNode): Promise<void>;
}

/** The container's first process, once its pod runs. */
async function inside(node: TestNode, pod: string, container = 'main'): Promise<InsideContainer> {
  return InsideContainer.of(node, await node.kubelet.untilRunning(pod), container);
}

const podNetwork = { hostNetwork: false, dnsPolicy: 'Default' };
const field = (name: string, fieldPath: string): object => ({ name, valueFrom: { fieldRef: { fieldPath } } });
const resource = (name: string, resource: string, divisor = '0'): object => ({ name, valueFrom: { resourceFieldRef: { resource, divisor } } });

const commands: Feature = {
  what: 'commands and arguments, with variables',
  apply({ apply, containerd }) {
    const env = [
      { name: 'WHO', value: 'world' },
      { name: 'GREETING', value: 'hello $(WHO) $(LATER)' },
      { name: 'LATER', value: '1' },
    ];
    const { busybox } = containerd.images;
    apply('commands', {
      containers: [
        scripted(containerd, 'both', waiting, { env, args: ['$(GREETING)', '$$(WHO)', '$(NOBODY)', '$(WHO', '$'], workingDir: '/home' }),
        { name: 'arguments', image: busybox, args: ['sleep', '1001'] },
        { name: 'entry', image: containerd.images.pause },
      ],
    });
  },
  async look(t, node) {
    const pod = await node.kubelet.untilRunning('commands');
    const both = InsideContainer.of(node, pod, 'both');
    t.strictSame(both.commandLine, ['sh', '-c', waiting, 'hello world $(LATER)', '$(WHO)', '$(NOBODY)', '$(WHO', '$']);
    t.equal(both.workingDirectory, '/home');
    t.strictSame(InsideContainer.of(node, pod, 'arguments').commandLine, ['sleep', '1001']);
    t.strictSame(InsideContainer.of(node, pod, 'entry').commandLine, ['/pause'], 'the image’s own');
  },
};

const environment: Feature = {
  what: 'environment: values, the pod’s fields, resources; no services where there is no API',
  apply({ apply, containerd }) {
    const env = [
      { name: 'PLAIN', value: 'a b=c' },
      { name: 'EMPTY' },
      field('POD', 'metadata.name'),
      field('NAMESPACE', 'metadata.namespace'),
      field('UID_OF_POD', 'metadata.uid'),
      field('TRACK', "metadata.labels['track']"),
      field('NOTE', "metadata.annotations['note']"),
      field('NODE', 'spec.nodeName'),
      field('ACCOUNT', 'spec.serviceAccountName'),
      field('POD_IP', 'status.podIP'),
      field('HOST_IP', 'status.hostIP'),
      { name: 'AFTER', value: '$(POD)/$(TRACK)' },
      resource('CPU', 'limits.cpu', '1m'),
      resource('CPUS', 'limits.cpu'),
      resource('MEMORY', 'requests.memory', '1Mi'),
      resource('NODE_MEMORY', 'limits.memory'),
    ];
    const resources = { requests: { memory: '24Mi' }, limits: { cpu: '1500m' } };
    apply('surrounded', { ...podNetwork, containers: [scripted(containerd, 'main', waiting, { env, resources })] }, { labels: { track: 'stable' }, annotations: { note: 'n 1' } });
  },
  async look(t, node) {
    const pod = await node.kubelet.untilRunning('surrounded');
    const { environment } = InsideContainer.of(node, pod);
    t.match(environment, {
      PLAIN: 'a b=c',
      EMPTY: '',
      POD: pod.metadata.name,
      NAMESPACE: 'default',
      UID_OF_POD: pod.metadata.uid,
      TRACK: 'stable',
      NOTE: 'n 1',
      NODE: 'node-under-test',
      ACCOUNT: '',
      POD_IP: pod.status?.podIP,
      AFTER: `${pod.metadata.name}/stable`,
      CPU: '1500',
      CPUS: '2',
      MEMORY: '24',
    });
    t.match(environment.HOST_IP, /^\d+\.\d+\.\d+\.\d+$/);
    const total = Number(/MemTotal:\s+(\d+)/.exec(readFileSync('/proc/meminfo', 'utf8'))?.[1]) * 1024;
    t.ok(Number(environment.NODE_MEMORY) > total / 2 && Number(environment.NODE_MEMORY) <= total, 'a limit that is not set is the node’s');
    t.strictSame(
      Object.keys(environment).filter((name) => name.startsWith('KUBERNETES_')),
      [],
    );
    t.equal(environment.HOSTNAME, pod.metadata.name, 'the runtime’s own stays');
  },
};

const envFrom: Feature = {
  what: 'variables from API objects: a static pod that asks for them is refused, and the log says which file and what',
  apply({ apply, containerd }) {
    apply('from-map', { containers: [scripted(containerd, 'main', waiting, { envFrom: [{ configMapRef: { name: 'settings', optional: true } }] })] });
    apply('from-secret', { containers: [scripted(containerd, 'main', waiting, { env: [{ name: 'KEY', valueFrom: { secretKeyRef: { name: 'keys', key: 'k' } } }] })] });
  },
  async look(t, { kubelet }) {
    for (const [file, kind] of [
      ['from-map', 'configmaps'],
      ['from-secret', 'secrets'],
    ]) {
      const refusal = kubelet.logLines().find((line) => JSON.stringify(line).includes(`${file}.json`));
      t.match(JSON.stringify(refusal), `may not reference ${kind}`);
      t.equal(await kubelet.pod(file ?? ''), null);
    }
  },
};

const longName = `${'n'.repeat(46)}-${'d'.repeat(10)}`;

const names: Feature = {
  what: 'host name, subdomain, full name, and the hosts file with aliases',
  apply({ apply, containerd }) {
    const containers = [scripted(containerd, 'main', waiting), scripted(containerd, 'own', waiting, { volumeMounts: [{ name: 'hosts', mountPath: '/etc/hosts' }] })];
    const volumes = [{ name: 'hosts', hostPath: { path: '/etc/hostname' } }];
    const hostAliases = [{ ip: '127.1.2.3', hostnames: ['foo.test', 'bar.test'] }];
    apply('named', { ...podNetwork, hostname: 'web', subdomain: 'sub', hostAliases, volumes, containers });
    apply('full', { ...podNetwork, hostname: 'web', subdomain: 'sub', setHostnameAsFQDN: true, containers: [scripted(containerd, 'main', waiting)] });
    apply(longName, { ...podNetwork, containers: [scripted(containerd, 'main', waiting)] });
    apply('overridden', { ...podNetwork, hostname: 'web', subdomain: 'sub', hostnameOverride: 'other.example.test', containers: [scripted(containerd, 'main', waiting)] });
    apply('of-host', { hostAliases, containers: [scripted(containerd, 'main', waiting)] });
  },
  async look(t, node) {
    const pod = await node.kubelet.untilRunning('named');
    const named = InsideContainer.of(node, pod);
    t.equal(named.enter(['uts'], 'hostname'), 'web\n');
    const generated = `# Kubernetes-managed hosts file.
127.0.0.1\tlocalhost
::1\tlocalhost ip6-localhost ip6-loopback
fe00::0\tip6-localnet
fe00::0\tip6-mcastprefix
fe00::1\tip6-allnodes
fe00::2\tip6-allrouters
${pod.status?.podIP}\tweb.sub.default.svc.cluster.test\tweb
`;
    const aliases = '\n# Entries added by HostAliases.\n127.1.2.3\tfoo.test\tbar.test\n';
    t.equal(named.file('/etc/hosts'), generated + aliases);
    t.equal(InsideContainer.of(node, pod, 'own').file('/etc/hosts'), readFileSync('/etc/hostname', 'utf8'), 'a container’s own mount stays');
    const full = await inside(node, 'full');
    t.equal(full.enter(['uts'], 'hostname'), 'web.sub.default.svc.cluster.test\n');
    t.match(full.file('/etc/hosts'), /\tweb\.sub\.default\.svc\.cluster\.test\tweb\n$/);
    const cut = `${longName}-node-`.slice(0, 63).replace(/-$/, '');
    t.equal((await inside(node, longName)).enter(['uts'], 'hostname'), `${cut}\n`);
    const overridden = await inside(node, 'overridden');
    t.equal(overridden.enter(['uts'], 'hostname'), 'other.example.test\n');
    t.match(overridden.file('/etc/hosts'), /\n[\d.]+\tother\.example\.test\n$/, 'it stands alone');
    const ofHost = await inside(node, 'of-host');
    t.equal(ofHost.file('/etc/hosts'), `# Kubernetes-managed hosts file (host network).\n${readFileSync('/etc/hosts', 'utf8')}${aliases}`);
    t.equal(ofHost.enter(['uts'], 'hostname').trim(), readFileSync('/proc/sys/kernel/hostname', 'utf8').trim());
  },
};

const dns: Feature = {
  what: 'DNS policies and configuration',
  apply({ apply, containerd }) {
    const containers = [scripted(containerd, 'main', waiting)];
    const dnsConfig = { nameservers: ['10.0.0.1', '10.0.0.2', '10.0.0.3'], searches: ['corp.test'], options: [{ name: 'ndots', value: '2' }, { name: 'edns0' }] };
    apply('dns-none', { ...podNetwork, dnsPolicy: 'None', dnsConfig, containers });
    apply('dns-cluster', { ...podNetwork, dnsPolicy: 'ClusterFirst', dnsConfig: { nameservers: dnsConfig.nameservers, searches: ['more.test'] }, containers });
    apply('dns-host', { ...podNetwork, containers });
    apply('dns-host-network', { dnsPolicy: 'ClusterFirst', containers });
    apply('dns-host-cluster', { dnsPolicy: 'ClusterFirstWithHostNet', containers });
  },
  async look(t, node) {
    const lines = async (pod: string): Promise<string[]> => (await inside(node, pod)).file('/etc/resolv.conf').split('\n').slice(0, -1);
    const ofCluster = ['default.svc.cluster.test', 'svc.cluster.test', 'cluster.test'];
    t.strictSame(await lines('dns-none'), ['search corp.test', 'nameserver 10.0.0.1', 'nameserver 10.0.0.2', 'nameserver 10.0.0.3', 'options ndots:2 edns0']);
    const servers = ['10.96.0.10', '10.0.0.1', '10.0.0.2'];
    t.strictSame(await lines('dns-cluster'), [`search ${[...ofCluster, 'host.test', 'more.test'].join(' ')}`, ...servers.map((one) => `nameserver ${one}`), 'options ndots:5']);
    t.equal(
      node.kubelet.events('dns-cluster').find(({ reason }) => reason === 'DNSConfigForming')?.message,
      `Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is: ${servers.join(' ')}`,
    );
    t.strictSame(await lines('dns-host'), ['search host.test', 'nameserver 127.0.0.9']);
    t.strictSame(await lines('dns-host-network'), ['search host.test', 'nameserver 127.0.0.9'], 'on the host’s network the policy is the host’s');
    t.strictSame((await lines('dns-host-cluster'))[1], 'nameserver 10.96.0.10');
  },
};

const answered = (host: string, port: number): Promise<string | null> =>
  new Promise((resolve) => {
    const request = get({ host, port, path: '/name', timeout: 3_000 }, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (part: string) => {
        text += part;
      });
      answer.on('end', () => resolve(text));
    });
    request.on('timeout', () => request.destroy(new Error('timeout'))).on('error', () => resolve(null));
  });

let hostPort = 0;
let otherPort = 0;

const ports: Feature = {
  what: 'ports: reached by host port, on one address where it names one',
  async apply({ apply, containerd }) {
    [hostPort, otherPort] = [await freePort(), await freePort()];
    const serve = (port: number): string => `mkdir /www; echo served > /www/name; exec httpd -f -p ${port} -h /www`;
    const gateway = gatewayOf(containerd);
    apply('served', {
      ...podNetwork,
      containers: [
        scripted(containerd, 'main', serve(80), { ports: [{ name: 'web', containerPort: 80, hostPort }] }),
        scripted(containerd, 'second', serve(81), { ports: [{ containerPort: 81, hostPort: otherPort, hostIP: gateway }] }),
      ],
    });
  },
  async look(t, node) {
    const pod = await node.kubelet.untilRunning('served');
    const gateway = gatewayOf(node.containerd);
    const podIp = pod.status?.podIP ?? '';
    await node.kubelet.until('the pod serves', async () => (await answered(podIp, 80)) === 'served\n' && (await answered(podIp, 81)) === 'served\n');
    t.strictSame(await Promise.all([answered(gateway, hostPort), answered(gateway, otherPort)]), ['served\n', 'served\n']);
    t.equal(await answered('127.0.0.1', hostPort), 'served\n', 'on every address');
    t.equal(await answered('127.0.0.1', otherPort), null, 'on its own address only');
  },
};

/** The host's address on the pods' bridge. */
const gatewayOf = ({ podCidr }: TestNode['containerd']): string => podCidr.replace(/\.\d+\/\d+$/, '.1');

const terminals: Feature = {
  what: 'standard input and terminals',
  apply({ apply, containerd }) {
    const report = 'for i in 0 1; do [ -t $i ] && echo $i >> /tmp/terminals; done; echo done >> /tmp/terminals';
    apply('terminals', {
      containers: [
        scripted(containerd, 'terminal', `${report}; ${waiting}`, { stdin: true, tty: true }),
        scripted(containerd, 'input', `${report}; read line; echo read >> /tmp/terminals; ${waiting}`, { stdin: true }),
        scripted(containerd, 'neither', `${report}; read line; echo eof >> /tmp/terminals; ${waiting}`),
      ],
    });
  },
  async look(t, node) {
    const pod = await node.kubelet.untilRunning('terminals');
    const report = (container: string): string => InsideContainer.of(node, pod, container).file('/tmp/terminals');
    await node.kubelet.until('the one without input has met its end', () => report('neither') === 'done\neof\n');
    await node.kubelet.until('a terminal is one', () => report('terminal') === '0\n1\ndone\n');
    t.equal(report('input'), 'done\n', 'input that nobody has closed');
  },
};

const features: readonly Feature[] = [commands, environment, envFrom, names, dns, ports, terminals];

t.test('what containers find around themselves', { skip, timeout: 240_000 }, async (t) => {
  const node = await testNode(t, false, ({ directory }) => ({ clusterDNS: ['10.96.0.10'], clusterDomain: 'cluster.test', resolvConf: join(directory, 'resolv.conf') }));
  writeFileSync(join(node.containerd.directory, 'resolv.conf'), 'nameserver 127.0.0.9\nsearch host.test\n');
  for (const { apply } of features) await apply(node);
  await node.kubelet.start();
  for (const { what, look } of features) await t.test(what, (t) => look(t, node));
});
