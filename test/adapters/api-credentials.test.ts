// Whom a client shows itself as and whom it trusts: certificates, tokens and programs of a kubeconfig, as they change, expire or are wrong.

import { chmodSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { join } from 'node:path';
import t from 'tap';
import { instantOf } from '../../src/domain/values/instant.js';
import type { Instant } from '../../src/ports/instant.js';
import { failureOf } from '../support/port-failures.js';
import { until } from '../support/until.js';
import { ApiPeer, answer, base64, calling, nodes, type Pair, pods, speaksHttp2, TestAuthority } from './api-peer.js';

const node = { resource: nodes, namespace: null, name: 'n1', client: 'main', resourceVersion: null } as const;
const good = (_request: unknown, response: Parameters<typeof answer>[0]): void => answer(response, 200, { metadata: { name: 'n1' } });

function embedded({ certificate, key }: Pair): object {
  return { 'client-certificate-data': base64(certificate), 'client-key-data': base64(key) };
}

/** Both clocks, which a test moves on together. */
class Hands {
  ahead = 0;
  readonly now = (): number => Date.now() * 1000 + this.ahead;
  readonly wall = (): Instant => instantOf(this.now());
}

t.test('a client certificate, embedded and in files beside the kubeconfig', async (t) => {
  const peer = await ApiPeer.open(t, good, { needsCertificate: true });
  const pair = peer.authority.client();
  peer.write('c.pem', pair.certificate + pair.key);
  peer.write('ca.crt', peer.authority.certificate);
  for (const path of [
    peer.kubeconfig(embedded(pair)),
    peer.kubeconfig({ 'client-certificate': 'c.pem', 'client-key': './c.pem' }, { 'certificate-authority': 'ca.crt' }),
    peer.kubeconfig({ ...embedded(pair), 'client-certificate': 'absent' }, { 'tls-server-name': 'localhost' }),
  ]) {
    const { reader } = peer.clients(t, path);
    await reader.get(node, calling());
    t.equal(peer.requests.pop()?.commonName, 'system:node:n1');
  }
});

t.test('servers that are not to be trusted', async (t) => {
  const other = new TestAuthority('another-ca');
  const peer = await ApiPeer.open(t, good);
  const failed = (path: string) => failureOf(peer.clients(t, path).reader.get(node, calling()));
  const unverified = `Get "${peer.url}/api/v1/nodes/n1": tls: failed to verify certificate: x509: `;
  const wrongAuthority = await failed(peer.kubeconfig({}, { 'certificate-authority-data': base64(other.certificate) }));
  t.match(wrongAuthority, { kind: 'unavailable', message: `${unverified}certificate signed by unknown authority` });
  const noAuthority = await failed(peer.kubeconfig({}, { 'certificate-authority-data': '' }));
  t.match(noAuthority, { kind: 'unavailable', message: `${unverified}certificate signed by unknown authority` }, 'the authorities of the host');
  const wrongName = await failed(peer.kubeconfig({}, { 'tls-server-name': 'other.example' }));
  t.match(wrongName, { kind: 'unavailable', message: /x509: certificate is not valid for 127\.0\.0\.1.*other\.example/ });
  const expired = await ApiPeer.open(t, good, { tls: peer.authority.server(-3, -1) });
  const trusting = expired.kubeconfig({}, { 'certificate-authority-data': base64(peer.authority.certificate) });
  t.match(await failureOf(expired.clients(t, trusting).reader.get(node, calling())), {
    message: /x509: certificate has expired or is not yet valid: the current time is after its end$/,
  });
  const early = await ApiPeer.open(t, good, { tls: peer.authority.server(1, 3) });
  const toEarly = early.kubeconfig({}, { 'certificate-authority-data': base64(peer.authority.certificate) });
  t.match(await failureOf(early.clients(t, toEarly).reader.get(node, calling())), { message: /not yet valid: the current time is before its begin$/ });
  await expired.clients(t, expired.kubeconfig({}, { 'certificate-authority-data': '', 'insecure-skip-tls-verify': true })).reader.get(node, calling());
  t.pass('unless they need not be verified');
  const plain = await ApiPeer.open(t, good, { tls: null });
  const secureToPlain = plain.kubeconfig({}, { server: plain.url.replace('http:', 'https:') });
  t.match(await failureOf(plain.clients(t, secureToPlain).reader.get(node, calling())), { message: /http: server gave HTTP response to HTTPS client$/ });
  await plain.clients(t, plain.kubeconfig()).reader.get(node, calling());
  t.pass('a server without TLS');
});

t.test('nobody listens', async (t) => {
  const peer = await ApiPeer.open(t, good, { tls: null });
  const path = peer.kubeconfig();
  const { reader } = peer.clients(t, path);
  const { port } = peer;
  peer.server.close();
  const failure = await failureOf(reader.get(node, calling()));
  t.match(failure, { kind: 'unavailable', message: `Get "http://127.0.0.1:${port}/api/v1/nodes/n1": dial tcp 127.0.0.1:${port}: connect: connection refused` });
});

t.test('a certificate that has expired is not shown', async (t) => {
  const peer = await ApiPeer.open(t, (request, response) => {
    const { authorized } = request.socket as { authorized?: boolean };
    answer(response, authorized === true ? 200 : 401, { kind: 'Status', message: 'Unauthorized', code: 401, metadata: {} });
  });
  const told: string[] = [];
  const { reader } = peer.clients(t, peer.kubeconfig(embedded(peer.authority.client('system:node:n1', -3, -1))), { problem: (text) => told.push(text) });
  for (let i = 0; i < 2; i++) t.match(await failureOf(reader.get(node, calling())), { kind: 'unauthenticated', message: 'Unauthorized' });
  t.match(told, [/^the client certificate has expired at 20\S+Z, it is not shown to the server$/]);
  t.equal(told.length, 1, 'told once');
  t.equal(peer.requests[0]?.commonName, null);

  const hands = new Hands();
  const { reader: later } = peer.clients(t, peer.kubeconfig(embedded(peer.authority.client('system:node:n1', -1, 1))), { now: hands.now, wall: hands.wall });
  await later.get(node, calling());
  hands.ahead = 86_400_000_000 + 1_000_000;
  t.match(await failureOf(later.get(node, calling())), { kind: 'unauthenticated' }, 'also when it expires meanwhile');
});

t.test('a certificate is replaced: what goes on ends on the old one, watches are begun anew, and a bad pair is not taken', async (t) => {
  let finish = (): void => {};
  const peer = await ApiPeer.open(
    t,
    (request, response) => {
      if (request.url?.includes('watch')) response.writeHead(200).write('\n');
      else if (request.url?.endsWith('slow')) finish = () => answer(response, 200, { metadata: { name: 'slow' } });
      else answer(response, 200, { metadata: {} });
    },
    { needsCertificate: true },
  );
  const hands = new Hands();
  const first = peer.authority.client('first');
  const second = peer.authority.client('second');
  const dated = peer.write('dated-1.pem', first.certificate + first.key);
  const link = join(peer.directory, 'current.pem');
  symlinkSync(dated, link);
  const { reader, problems } = peer.clients(t, peer.kubeconfig({ 'client-certificate': 'current.pem', 'client-key': 'current.pem' }), { now: hands.now, wall: hands.wall });
  const watch = reader.watch({ resource: pods, namespace: null, fieldSelector: null, labelSelector: null, watch: 'w', resourceVersion: '1', timeoutSeconds: 300 }, calling(null));
  const slow = reader.get({ ...node, name: 'slow' }, calling());
  await until('a second request', () => peer.requests.length === 2);

  const replace = (text: string, name: string): void => {
    symlinkSync(peer.write(name, text), `${link}.new`);
    renameSync(`${link}.new`, link);
    hands.ahead += 11_000_000;
  };
  replace(second.certificate + first.key, 'dated-2.pem');
  await reader.get(node, calling());
  t.equal(peer.requests.at(-1)?.commonName, 'first', 'a pair that does not fit');
  t.match(problems, [/current\.pem: tls: private key does not match public key$/]);
  rmSync(link);
  hands.ahead += 11_000_000;
  await reader.get(node, calling());
  t.equal(peer.requests.at(-1)?.commonName, 'first', 'one that is away');
  t.match(problems[1], /current\.pem: no such file or directory$/);
  replace(second.certificate + second.key, 'dated-3.pem');
  await reader.get(node, calling());
  t.equal(peer.requests.at(-1)?.commonName, 'second');
  t.equal(await watch, null, 'the watch of the first ended');
  finish();
  t.match(await slow, { metadata: { name: 'slow' } }, 'a request of the first was answered');
  await until('one connection', () => peer.sockets.size === 1);
  t.equal(problems.length, 2, 'each told once');
});

t.test('a pair that is rotated in memory counts at once', async (t) => {
  const peer = await ApiPeer.open(t, good);
  let pair: Pair | null = null;
  const { reader } = peer.clients(t, peer.kubeconfig(), { rotated: () => pair });
  await reader.get(node, calling());
  pair = peer.authority.client('rotated');
  await reader.get(node, calling());
  t.same(
    peer.requests.map(({ commonName }) => commonName),
    [null, 'rotated'],
  );
});

t.test('tokens: of a file that changes, that is renewed after a refusal, with a value to fall back on', async (t) => {
  let wanted = 'Bearer one';
  const peer = await ApiPeer.open(t, (request, response) => answer(response, request.headers.authorization === wanted ? 200 : 401, { kind: 'Status', metadata: {}, code: 401 }));
  const hands = new Hands();
  const file = peer.write('token', 'one\n');
  const { reader, problems } = peer.clients(t, peer.kubeconfig({ tokenFile: 'token', token: 'value' }), { now: hands.now, wall: hands.wall });
  await reader.get(node, calling());
  peer.write('token', 'two-is-longer\n');
  wanted = 'Bearer two-is-longer';
  t.match(await failureOf(reader.get(node, calling())), { kind: 'unauthenticated' });
  await reader.get(node, calling());
  t.equal(peer.connections, 1, 'another token needs no other connection');
  rmSync(file);
  hands.ahead += 11_000_000;
  await reader.get(node, calling());
  t.match(problems, [/^open .*token: no such file or directory$/], 'the last one is kept');
  const basic = peer.clients(t, peer.kubeconfig({ username: 'me', password: 'p' }));
  wanted = `Basic ${base64('me:p')}`;
  await basic.reader.get(node, calling());
});

t.test('programs that give credentials', async (t) => {
  let wanted = 'Bearer t1';
  const peer = await ApiPeer.open(t, (request, response) => answer(response, request.headers.authorization === wanted ? 200 : 401, { kind: 'Status', metadata: {}, code: 401 }));
  const hands = new Hands();
  const counter = join(peer.directory, 'runs');
  const script = peer.write(
    'plugin.sh',
    `#!/bin/sh
echo run >> ${counter}; n=$(wc -l < ${counter} | tr -d ' ')
echo "$KUBERNETES_EXEC_INFO" > ${peer.directory}/info; echo "secret-on-stderr" >&2
printf '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":"%s%s"}}' "$PREFIX" "$n"`,
  );
  chmodSync(script, 0o755);
  const exec = { command: './plugin.sh', apiVersion: 'client.authentication.k8s.io/v1', interactiveMode: 'Never', env: [{ name: 'PREFIX', value: 't' }], provideClusterInfo: true };
  const { reader, problems } = peer.clients(t, peer.kubeconfig({ exec }), { now: hands.now, wall: hands.wall });
  await reader.get(node, calling());
  await reader.get(node, calling());
  const info = JSON.parse(readFileSync(join(peer.directory, 'info'), 'utf8'));
  t.match(info, { kind: 'ExecCredential', spec: { interactive: false, cluster: { server: peer.url, 'certificate-authority-data': base64(peer.authority.certificate) } } });
  wanted = 'Bearer t2';
  hands.ahead += 11_000_000;
  t.match(await failureOf(reader.get(node, calling())), { kind: 'unauthenticated' });
  await reader.get(node, calling());
  t.same(problems, [], 'asked again after the refusal');

  const rows: readonly (readonly [string, string, RegExp])[] = [
    ['exits with an error', 'echo secret-output; exit 3', /^getting credentials: exec: executable .*bad\.sh failed with exit code 3$/],
    ['prints no JSON', 'echo secret-output', /decoding stdout: it is no JSON$/],
    ['answers in another version', 'echo \'{"kind":"ExecCredential","apiVersion":"v2"}\'', /is configured to use API version client\.authentication\.k8s\.io\/v1/],
    ['has no status', 'echo \'{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1"}\'', /did not return a status field$/],
    ['gives nothing', 'echo \'{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{}}\'', /did not return a token or cert\/key pair$/],
    ['prints without end', 'while :; do echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; done', /printed more than/],
  ];
  for (const [sentence, body, problem] of rows) {
    chmodSync(peer.write('bad.sh', `#!/bin/sh\n${body}`), 0o755);
    const bad = peer.clients(t, peer.kubeconfig({ exec: { ...exec, command: './bad.sh' } }));
    t.match(await failureOf(bad.reader.get(node, calling())), { kind: 'unauthenticated' }, `a program that ${sentence}: the request goes out as nobody's`);
    t.match(bad.problems, [problem]);
    t.notMatch(bad.problems.join(), /secret/);
  }
  const absent = peer.clients(t, peer.kubeconfig({ exec: { ...exec, command: 'no-such-plugin', installHint: 'install it' } }));
  await failureOf(absent.reader.get(node, calling()));
  t.same(absent.problems, ['getting credentials: exec: executable no-such-plugin not found (install it)']);
});

t.test('through a proxy', async (t) => {
  const peer = await ApiPeer.open(t, (request, response) => (request.url?.includes('watch') ? void response.writeHead(200).end('\n') : good(request, response)));
  const seen: string[] = [];
  let refuse = false;
  const proxy = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => proxy.once('listening', resolve));
  t.teardown(() => proxy.close());
  proxy.on('connect', (request, client) => {
    seen.push(`${request.url} ${request.headers['proxy-authorization'] ?? ''}`);
    if (refuse) {
      client.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n');
      return;
    }
    const upstream = connect(peer.port, '127.0.0.1', () => {
      client.write('HTTP/1.1 200 OK\r\n\r\n');
      upstream.pipe(client).pipe(upstream);
    });
    for (const socket of [upstream, client]) socket.on('error', () => {});
  });
  const { port } = proxy.address() as AddressInfo;
  const { reader } = peer.clients(t, peer.kubeconfig({}, { 'proxy-url': `http://me:secret@127.0.0.1:${port}` }));
  await reader.get(node, calling());
  await reader.get(node, calling());
  t.equal(await reader.watch({ resource: pods, namespace: null, fieldSelector: null, labelSelector: null, watch: 'w', resourceVersion: '1', timeoutSeconds: 30 }, calling()), null);
  const authorization = `Basic ${base64('me:secret')}`;
  const tunnels = Array.from({ length: speaksHttp2() ? 1 : 2 }, () => `127.0.0.1:${peer.port} ${authorization}`);
  t.same(seen, tunnels, 'over HTTP/1.1 the watch has a tunnel of its own');
  refuse = true;
  const { reader: refused } = peer.clients(t, peer.kubeconfig({}, { 'proxy-url': `http://me:secret@127.0.0.1:${port}` }));
  const failure = await failureOf(refused.get(node, calling()));
  t.match(failure, { kind: 'unavailable', message: new RegExp(`proxyconnect tcp: 127\\.0\\.0\\.1:${port}: 407`) });
  t.notMatch(JSON.stringify(failure), /secret/);
});

t.test('no secret is in any failure or problem', async (t) => {
  const secrets = ['secret-token', 'secret-password', 'PRIVATE KEY'];
  const peer = await ApiPeer.open(t, (_request, response) => answer(response, 500, 'boom'));
  const pair = peer.authority.client();
  const broken = { certificate: pair.certificate, key: 'secret-token' };
  const said: string[] = [];
  for (const user of [{ token: 'secret-token' }, { username: 'a', password: 'secret-password' }, embedded(pair), embedded(broken), { ...embedded(pair), token: 'secret-token' }]) {
    const { reader, writer, problems } = peer.clients(t, peer.kubeconfig(user));
    said.push(JSON.stringify(await failureOf(reader.get(node, calling()))), ...problems);
    const create = { resource: nodes, namespace: null, name: null, client: 'main', subresource: null, object: { metadata: { name: 'x' }, data: 'secret-token' } } as const;
    said.push(JSON.stringify(await failureOf(writer.create(create, calling()))));
    peer.breakConnections();
  }
  t.equal(said.length, 11);
  t.ok(
    secrets.every((secret) => !said.join().includes(secret)),
    said.join('\n'),
  );
});
