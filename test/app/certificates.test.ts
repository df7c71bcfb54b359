// A daemon's client certificate: bootstrapped, reused, renewed, and with every state of its directory (KB071).
import { existsSync, mkdirSync, readFileSync, readlinkSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { FileCertificateStore, pairProblem } from '../../src/adapters/certificates/index.js';
import { base64, type Pair } from '../adapters/api-peer.js';
import { until } from '../support/until.js';
import { CsrPeer } from './csr-peer.js';
import { Stage } from './stage.js';

interface Place {
  readonly stage: Stage;
  readonly server: CsrPeer;
  readonly kubeconfig: string;
  readonly current: string;
  readonly pki: string;
}

async function place(t: { readonly teardown: (run: () => unknown) => unknown }, more: { readonly rotates?: boolean; readonly bootstrap?: boolean } = {}): Promise<Place> {
  const stage = await Stage.open();
  const server = await CsrPeer.open(t);
  t.teardown(() => stage.close());
  const kubeconfig = join(stage.directory, 'kubelet.conf');
  const bootstrap = server.peer.kubeconfig({ token: 'bootstrap-token' }, {}, 'bootstrap.conf');
  stage.configurationMore = `rotateCertificates: ${more.rotates !== false}\n`;
  const pki = join(stage.directory, 'pki');
  stage.flags.push(`--kubeconfig=${kubeconfig}`, `--cert-dir=${pki}`, ...(more.bootstrap === false ? [] : [`--bootstrap-kubeconfig=${bootstrap}`]));
  return { stage, server, kubeconfig, current: join(pki, 'kubelet-client-current.pem'), pki };
}

const asNode = (server: CsrPeer): boolean => server.callers.some((caller) => caller.startsWith('system:node:n1 GET /api/v1/nodes'));

t.test('bootstrap beside the agent, and a restart that finds what it left', async (t) => {
  const { stage, server, kubeconfig, current } = await place(t);
  server.approves = false;
  const daemon = await stage.start();
  await until('a request waits', () => server.requests.length === 1);
  t.match(server.requests[0], { metadata: { name: 'csr-0' }, spec: { signerName: 'kubernetes.io/kube-apiserver-client-kubelet', usages: ['digital signature', 'client auth'] } });
  t.ok(existsSync(kubeconfig), 'the kubeconfig is written before there is a certificate');
  t.equal(statSync(kubeconfig).mode & 0o777, 0o600);
  t.equal(
    readFileSync(kubeconfig, 'utf8'),
    `apiVersion: v1
clusters:
  - cluster:
      certificate-authority-data: ${base64(server.peer.authority.certificate)}
      server: ${server.peer.url}
    name: default-cluster
contexts:
  - context:
      cluster: default-cluster
      namespace: default
      user: default-auth
    name: default-context
current-context: default-context
kind: Config
users:
  - name: default-auth
    user:
      client-certificate: ${current}
      client-key: ${current}
`,
  );
  await until('it watches its request', () => server.peer.requests.some(({ url }) => url.includes('watch=true')));
  server.approve();
  await until('it is let in as the node', () => asNode(server));
  const pem = readFileSync(current, 'utf8');
  t.equal(pairProblem(pem, pem), null);
  t.ok(
    server.callers.every((caller) => !caller.startsWith('bootstrap GET /api/v1/nodes')),
    'the bootstrap token is for the request only',
  );
  await daemon.stop();
  const lines = stage.log.lines.join('\n');
  t.notMatch(lines, /bootstrap-token|PRIVATE KEY/);

  server.callers.length = 0;
  const again = await stage.start();
  await until('it is let in at once', () => asNode(server));
  t.equal(server.requests.length, 1, 'and asks for nothing');
  await again.stop();
});

t.test('bootstrap before the agent', async (t) => {
  const { stage, server, kubeconfig, current, pki } = await place(t, { rotates: false });
  server.approves = false;
  const starting = stage.start();
  await until('a request waits', () => server.requests.length === 1);
  t.match(server.requests[0]?.metadata.name, /^node-csr-/);
  t.ok(existsSync(join(pki, 'kubelet-client.key.tmp')));
  t.notOk(existsSync(kubeconfig), 'nothing says that the node is one before it is');
  await until('it watches its request', () => server.peer.requests.some(({ url }) => url.includes('watch=true')));
  server.approve();
  const daemon = await starting;
  await until('it is let in as the node', () => asNode(server));
  t.ok(existsSync(kubeconfig) && existsSync(current));
  t.notOk(existsSync(join(pki, 'kubelet-client.key.tmp')));
  await daemon.stop();
});

t.test('bad bootstraps are refused', async (t) => {
  const absent = await place(t, { bootstrap: false });
  await t.rejects(absent.stage.start(), { message: /^failed to run Kubelet: unable to load kubeconfig: stat .*kubelet\.conf: no such file or directory$/ });
  absent.stage.flags.push('--bootstrap-kubeconfig=/absent/bootstrap.conf');
  await t.rejects(absent.stage.start(), { message: 'failed to run Kubelet: unable to load bootstrap kubeconfig: stat /absent/bootstrap.conf: no such file or directory' });
});

const day = 86_400_000;
interface State {
  readonly sentence: string;
  make(place: Place): void;
  /** With a bootstrap kubeconfig: a new request is made at once. */
  readonly asks: boolean;
  /** Without one: the start is refused with this, or continues (null). */
  readonly refusal: RegExp | null;
}

function put({ pki }: Place, pair: Pair): void {
  new FileCertificateStore(pki, 'kubelet-client').update(pair);
}

const states: readonly State[] = [
  { sentence: 'valid', make: (p) => put(p, p.server.peer.authority.client()), asks: false, refusal: null },
  { sentence: 'expired', make: (p) => put(p, p.server.peer.authority.client('system:node:n1', -3, -1)), asks: true, refusal: null },
  { sentence: 'not valid yet', make: (p) => put(p, p.server.peer.authority.client('system:node:n1', 1, 3)), asks: true, refusal: null },
  { sentence: 'valid for 5 more minutes', make: (p) => put(p, p.server.peer.authority.client('system:node:n1', -1, 300_000 / day)), asks: true, refusal: null },
  {
    sentence: 'without a key',
    make: (p) => spoil(p, p.server.peer.authority.client().certificate),
    asks: true,
    refusal: /tls: failed to find any PEM data in key input \(.*kubelet-client-current\.pem\)$/,
  },
  {
    sentence: 'with the key of another pair',
    make: (p) => spoil(p, p.server.peer.authority.client().certificate + p.server.peer.authority.client().key),
    asks: true,
    refusal: /tls: private key does not match public key \(.*kubelet-client-current\.pem\)$/,
  },
  {
    sentence: 'a link that leads nowhere',
    make: (p) => {
      put(p, p.server.peer.authority.client());
      rmSync(readlinkSync(p.current));
    },
    asks: true,
    refusal: /unable to read client-cert .*kubelet-client-current\.pem for default-auth due to open .*: no such file or directory/,
  },
  { sentence: 'nothing at all', make: (p) => rmSync(p.pki, { recursive: true, force: true }), asks: true, refusal: /unable to read client-cert .*: no such file or directory/ },
];

function spoil(p: Place, text: string): void {
  put(p, p.server.peer.authority.client());
  writeFileSync(readlinkSync(p.current), text);
}

function nodeKubeconfig({ server, kubeconfig, current }: Place): void {
  const user = { 'client-certificate': current, 'client-key': current };
  const text = readFileSync(server.peer.kubeconfig(user, {}, 'node.conf'), 'utf8')
    .replace('"name":"u"', '"name":"default-auth"')
    .replace('"user":"u"', '"user":"default-auth"');
  writeFileSync(kubeconfig, text);
}

t.test('KB071: what the directory may hold, with a bootstrap kubeconfig', async (t) => {
  for (const { sentence, make, asks } of states) {
    const p = await place(t);
    make(p);
    nodeKubeconfig(p);
    const daemon = await p.stage.start();
    await until(`${sentence}: it is let in as the node`, () => asNode(p.server));
    if (asks) await until(`${sentence}: a request is made`, () => p.server.requests.length === 1);
    t.equal(p.server.requests.length, asks ? 1 : 0, sentence);
    const pem = readFileSync(p.current, 'utf8');
    t.equal(pairProblem(pem, pem), null, `${sentence}: a whole pair is in use`);
    await daemon.stop();
  }
});

t.test('KB071: and without one', async (t) => {
  for (const { sentence, make, refusal } of states) {
    const p = await place(t, { bootstrap: false });
    make(p);
    nodeKubeconfig(p);
    if (refusal === null) {
      const daemon = await p.stage.start();
      await daemon.stop();
    } else await t.rejects(p.stage.start(), { name: 'StartRefusal', message: refusal }, sentence);
  }
});

t.test('KB071: a file where the link should be', async (t) => {
  const p = await place(t);
  mkdirSync(p.pki);
  writeFileSync(p.current, 'a file');
  nodeKubeconfig(p);
  const daemon = await p.stage.start();
  await until('it says so', () => p.stage.log.find('to be a symlink but it is a file'));
  t.equal(readFileSync(p.current, 'utf8'), 'a file', "it is nobody's to overwrite");
  await daemon.stop();
});

t.test('an expired certificate, no bootstrap, and a server that answers: the daemon ends with a line', async (t) => {
  const p = await place(t, { bootstrap: false });
  put(p, p.server.peer.authority.client('system:node:n1', -3, -1));
  nodeKubeconfig(p);
  const daemon = await p.stage.start();
  t.match(await daemon.ended, { kind: 'failed' });
  t.ok(p.stage.log.find('The currently active client certificate has expired and the server is responsive, exiting.'));
  t.ok(
    p.server.callers.every((caller) => caller.startsWith('nobody')),
    'the expired one was never shown',
  );
});

t.test('a pair within the kubeconfig goes to the store, and is renewed at once', async (t) => {
  const p = await place(t, { bootstrap: false });
  const pair = p.server.peer.authority.client();
  writeFileSync(
    p.kubeconfig,
    readFileSync(p.server.peer.kubeconfig({ 'client-certificate-data': base64(pair.certificate), 'client-key-data': base64(pair.key) }, {}, 'embedded.conf')),
  );
  const daemon = await p.stage.start();
  await until('another one is in use', () => p.server.requests.length === 1 && existsSync(p.current) && !readFileSync(p.current, 'utf8').includes(pair.certificate));
  t.ok(p.server.callers.includes('system:node:n1 POST /apis/certificates.k8s.io/v1/certificatesigningrequests'), 'asked for by the node itself');
  await daemon.stop();
});

t.test('what a kill left of a switch is finished', async (t) => {
  const p = await place(t, { bootstrap: false });
  put(p, p.server.peer.authority.client());
  const target = readlinkSync(p.current);
  rmSync(p.current);
  symlinkSync(target, join(p.pki, 'kubelet-client-updated.pem'));
  nodeKubeconfig(p);
  const daemon = await p.stage.start();
  await until('it is let in as the node', () => asNode(p.server));
  t.equal(readlinkSync(p.current), target);
  await daemon.stop();
});
