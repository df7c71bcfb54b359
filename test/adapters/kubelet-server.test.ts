// The kubelet's port: who is let in, what is refused in which words, streams that stop for slow readers, and upgrades passed on byte by byte.
import { createHash } from 'node:crypto';
import type { RequestOptions } from 'node:https';
import { connect as tlsConnect } from 'node:tls';
import t from 'tap';
import { type Authorizer, type UserInfo, WebhookAuthorizer } from '../../src/adapters/http-server/index.js';
import { PortError } from '../../src/ports/port-error.js';

import { ask, bearer, ca, hour, rawly, serve, stranger } from './kubelet-server-peer.js';

t.test('who is let in', async (t) => {
  const asked: string[] = [];
  const authorizer: Authorizer = {
    opinion: (user, { verb, subresource, name }) => {
      asked.push(`${user.username} [${user.groups.join(' ')}] ${verb} nodes/${name}/${subresource}`);
      return Promise.resolve('allow');
    },
  };
  const { server, reviews, remainingMillis } = await serve(t, { authorizer, owners: { secret: 'jane' } });
  const now = Date.now();
  const rows: readonly (readonly [what: string, options: RequestOptions, status: number, asked: string | null])[] = [
    ['a client certificate', ca.sign('admin', ['system:masters'], 'client'), 200, 'admin [system:masters system:authenticated] get nodes/node-1/pods'],
    ['a certificate that names nobody', ca.sign('', ['x'], 'client'), 401, null],
    ['a certificate of a stranger', stranger.sign('admin', ['system:masters'], 'client'), 401, null],
    ['a certificate that has expired', ca.sign('admin', [], 'client', { notBeforeMillis: now - 2 * hour, notAfterMillis: now - hour }), 401, null],
    ['a certificate that is not valid yet', ca.sign('admin', [], 'client', { notBeforeMillis: now + hour, notAfterMillis: now + 2 * hour }), 401, null],
    ['a stranger’s certificate that is not valid yet', stranger.sign('admin', [], 'client', { notBeforeMillis: now + hour, notAfterMillis: now + 2 * hour }), 401, null],
    ['a server’s certificate', ca.sign('admin', [], 'server'), 401, null],
    ['a token', bearer('secret'), 200, 'jane [people system:authenticated] get nodes/node-1/pods'],
    ['the same token again', bearer('secret'), 200, 'jane [people system:authenticated] get nodes/node-1/pods'],
    ['a token of nobody', bearer('wrong'), 401, null],
    ['a token that can’t be looked up', bearer('unavailable'), 401, null],
    ['a good certificate beside a bad token', { ...ca.sign('admin', [], 'client'), ...bearer('wrong') }, 200, 'admin [system:authenticated] get nodes/node-1/pods'],
    ['a good token beside a bad certificate', { ...stranger.sign('admin', [], 'client'), ...bearer('secret') }, 200, 'jane [people system:authenticated] get nodes/node-1/pods'],
    ['another scheme', { headers: { authorization: 'Basic c2VjcmV0' } }, 401, null],
    ['nobody', {}, 401, null],
  ];
  for (const [what, options, status, expected] of rows) {
    asked.length = 0;
    const answer = await ask(server.port, '/pods', options);
    t.equal(answer.status, status, what);
    if (status === 401) t.equal(answer.body, 'Unauthorized', what);
    t.strictSame(asked, expected === null ? [] : [expected], what);
  }
  t.equal(reviews.asked, 3, 'each token was looked up once');
  t.equal(remainingMillis.length, 2, 'of the certificates those count that let somebody in');
  t.ok(
    remainingMillis.every((millis) => millis > 0 && millis <= hour),
    'by how long they are valid for yet',
  );
});

t.test('anonymous, where it is allowed, and never after something was wrong', async (t) => {
  const { server } = await serve(t, { anonymous: true });
  t.equal((await ask(server.port, '/pods')).status, 200);
  t.equal((await ask(server.port, '/pods', bearer('wrong'))).status, 401);
  t.equal((await ask(server.port, '/pods', stranger.sign('a', [], 'client'))).status, 401);
});

t.test('what is refused, and in which words', async (t) => {
  const authorizer: Authorizer = { opinion: (_user, { subresource }) => Promise.resolve(subresource === 'proxy' ? 'no-opinion' : subresource === 'metrics' ? 'error' : 'deny') };
  const { server } = await serve(t, { authorizer });
  const options = ca.sign('joe', [], 'client');
  t.match(await ask(server.port, '/pods', options), {
    status: 403,
    body: 'Forbidden (user=joe, verb=get, resource=nodes, subresource(s)=[pods proxy])\n',
    headers: { 'content-type': 'text/plain; charset=utf-8' },
  });
  t.match(await ask(server.port, '/metrics', options), { status: 500, body: 'Authorization error (user=joe, verb=get, resource=nodes, subresource=metrics)' });
  t.match(await ask(server.port, '/none', options), { status: 404, body: '404 page not found\n' }, 'nobody is asked about what there isn’t');
  t.match(await ask(server.port, '/stats/summary', options), { status: 404 }, 'no route of this server');
  const root = await ask(server.port, '/run', { ...options, method: 'DELETE' });
  t.match(root, { status: 403, body: /subresource\(s\)=\[proxy\]/ }, 'the bare form of a tree is the tree’s');
});

t.test('methods, media types, paths, bodies', async (t) => {
  const { server, errors } = await serve(t, { anonymous: true });
  t.match(await ask(server.port, '/pods', { method: 'POST' }), { status: 405, body: '405: Method Not Allowed', headers: { allow: 'GET' } });
  t.match(await ask(server.port, '/pods', { headers: { accept: 'text/html' } }), { status: 406, body: '406: Not Acceptable\n\nAvailable representations: application/json' });
  t.match(await ask(server.port, '/a/../pods'), { status: 307, headers: { location: '/pods' } });
  t.match(await ask(server.port, '/containerLogs/ns/p%2Fq/c'), { status: 200, body: 'containerLogs|ns|p/q|c' });
  t.match(await ask(server.port, '/containerLogs/ns/p'), { status: 404, body: '404: Page Not Found' });
  t.match(await ask(server.port, '/run/ns/p/c', { method: 'POST' }, 'hello'), { status: 200, body: 'hello' });
  t.match(await ask(server.port, '/metrics'), { status: 500, body: 'internal server error\n' });
  t.strictSame(errors, ['broken']);
  await t.rejects(ask(server.port, '/run/ns/p/c', { method: 'POST' }, 'x'.repeat(2_000_000)), 'a body without end ends the connection');
  t.match(await ask(server.port, '/pods'), { status: 200 }, 'and the server goes on');
});

t.test('authorities and certificates are replaced while connections are open', async (t) => {
  const { server, certificates } = await serve(t);
  const admin = ca.sign('admin', [], 'client');
  t.equal((await ask(server.port, '/pods', admin)).status, 200);
  const tls = { minVersion: 'TLSv1.2' as const, ciphers: ['ECDHE-ECDSA-AES128-GCM-SHA256'], groups: [], clientCertificates: certificates };
  certificates.replace(stranger.certificate);
  const renewed = ca.sign('node', [], 'server');
  server.replaceTls({ ...tls, pair: { certificatePem: renewed.cert, keyPem: renewed.key } });
  t.equal((await ask(server.port, '/pods', admin)).status, 401, 'who was of the old authority');
  t.equal((await ask(server.port, '/pods', stranger.sign('admin', [], 'client'))).status, 200, 'who is of the new one');
  const shown = await new Promise<string>((resolve, reject) => {
    const socket = tlsConnect({ port: server.port, host: '127.0.0.1', ca: ca.certificate }, () => {
      resolve(socket.getPeerX509Certificate()?.fingerprint256 ?? '');
      t.equal(socket.getProtocol(), 'TLSv1.3', 'a list of suites leaves TLS 1.3 on');
      socket.destroy();
    });
    socket.once('error', reject);
  });
  const digest = createHash('sha256')
    .update(Buffer.from(renewed.cert.replace(/-----[A-Z ]+-----|\s/g, ''), 'base64'))
    .digest('hex')
    .toUpperCase();
  t.equal(shown.replaceAll(':', ''), digest, 'the new certificate is shown');
});

t.test('answers of the apiserver about access are kept, its failures are not', async (t) => {
  let now = 0;
  const asked: string[] = [];
  let fails = 0;
  const errors: unknown[] = [];
  const authorizer = new WebhookAuthorizer({
    reviews: {
      reviewAccess: ({ username }) => {
        asked.push(username);
        if (fails-- > 0) return Promise.reject(new PortError({ kind: 'unavailable', message: 'away', operation: 'apiWriter.create', subject: '' }));
        return Promise.resolve(username === 'yes');
      },
    },
    allowedMillis: 300_000,
    deniedMillis: 30_000,
    nowMillis: () => now,
    onError: (error) => errors.push(error),
    retries: { firstMillis: 1, factor: 1 },
  });
  const attributes = { verb: 'get', apiGroup: '', apiVersion: 'v1', resource: 'nodes', subresource: 'pods', name: 'n' } as const;
  const user = (username: string): UserInfo => ({ username, uid: '', groups: [], extra: {} });
  const opinions = async (...names: string[]) => Promise.all(names.map((name) => authorizer.opinion(user(name), attributes)));
  t.strictSame(await opinions('yes', 'yes', 'no'), ['allow', 'allow', 'no-opinion']);
  t.strictSame(asked.splice(0), ['yes', 'no'], 'the same question at once is asked once');
  now = 31_000;
  await opinions('yes', 'no');
  t.strictSame(asked.splice(0), ['no'], 'a no is kept for a shorter time');
  now = 301_000;
  fails = 2;
  t.strictSame(await opinions('yes'), ['allow'], 'what passes is tried again');
  t.strictSame(asked.splice(0), ['yes', 'yes', 'yes']);
  fails = 99;
  t.strictSame(await opinions('other'), ['error']);
  t.equal(errors.length, 1);
  fails = 0;
  t.strictSame(await opinions('other'), ['no-opinion'], 'a failure is not kept');
  await opinions(`long${'x'.repeat(10_000)}`, `long${'x'.repeat(10_000)}`);
  asked.length = 0;
  await opinions(`long${'x'.repeat(10_000)}`);
  t.equal(asked.length, 1, 'a very long question is asked each time');
});

t.test('clients that have their answer and stay are let go of', async (t) => {
  const limits = { headersMillis: 200, lingerMillis: 100, requestMillis: 60_000, keepAliveMillis: 200 };
  const { server, errors } = await serve(t, { limits, owners: { secret: 'jane' } });
  const rows: readonly (readonly [what: string, text: string, answer: RegExp])[] = [
    ['an upgrade that is refused', 'POST /exec/ns/p/c HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n', /^HTTP\/1\.1 404 /],
    [
      'an upgrade of what has no other protocol',
      'GET /pods HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\nPRI * HTTP/2.0\r\n\r\n',
      /^HTTP\/1\.1 401 [\s\S]*Unauthorized$/,
    ],
    ['a body that does not come', 'POST /run/ns/p/c HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nhalf', /^HTTP\/1\.1 401 [\s\S]*Unauthorized$/],
    ['headers that do not end', 'GET /pods HTTP/1.1\r\nHost: x\r\nX: ', /^HTTP\/1\.1 408 /],
    ['nothing after the answer', 'GET /pods HTTP/1.1\r\nHost: x\r\n\r\n', /^HTTP\/1\.1 401 /],
    [
      'an upgrade behind a request that has no answer yet',
      'GET /pods HTTP/1.1\r\nHost: x\r\n\r\nGET /pods HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n',
      /^$/,
    ],
    ['two names of the server', 'GET /pods HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n', /^HTTP\/1\.1 400 [\s\S]*400 Bad Request: too many Host headers$/],
    ['a body of two lengths', 'POST /pods HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n', /^HTTP\/1\.1 400 /],
    ['a tunnel', 'CONNECT 127.0.0.1:22 HTTP/1.1\r\nHost: x\r\n\r\n', /^$/],
  ];
  for (const [what, text, expected] of rows) {
    t.match(await rawly(t, server.port, text).ended, expected, what);
    let open = 1;
    for (let i = 0; i < 100 && open > 0; i++) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      open = await server.connections();
    }
    t.equal(open, 0, `${what}: the connection is given up, though the client keeps it`);
  }
  t.match(await ask(server.port, '/pods', bearer('secret')), { status: 200 }, 'and the server goes on');
  t.strictSame(errors, []);
});
