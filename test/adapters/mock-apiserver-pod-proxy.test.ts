// Pods by proxy of the mock apiserver: where a pod is, what is passed on in both directions, and who may ask.
import { once } from 'node:events';
import { createServer, request as httpRequest, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import t from 'tap';
import { type MockApiserver, startMockApiserver } from '../../src/adapters/mock-apiserver/index.js';
import { podUrl, proxiedLocation, proxiedPath, proxiedPod } from '../../src/adapters/mock-apiserver/proxied-path.js';

t.setTimeout(60_000);

const paths: readonly (readonly [pathname: string, own: string, rest: string])[] = [
  ['/api/v1/nodes/n/proxy', '/api/v1/nodes/n/proxy', ''],
  ['/api/v1/nodes/n/proxy/pods', '/api/v1/nodes/n/proxy', '/pods'],
  ['/api/v1/nodes/proxy-1/proxy/metrics/cadvisor', '/api/v1/nodes/proxy-1/proxy', '/metrics/cadvisor'],
  ['/api/v1/namespaces/proxy/pods/proxy/proxy/proxy', '/api/v1/namespaces/proxy/pods/proxy/proxy', '/proxy'],
  ['/api/v1/namespaces/a/pods/https:p:8443/proxy/a%2Fb/', '/api/v1/namespaces/a/pods/https:p:8443/proxy', '/a%2Fb/'],
];

t.test('which part of a path is the other’s', async (t) => {
  for (const [pathname, own, rest] of paths) t.strictSame(proxiedPath(pathname), { own, rest }, pathname);
});

const names: readonly (readonly [text: string, want: ReturnType<typeof proxiedPod> | null])[] = [
  ['p', { name: 'p', scheme: 'http', port: null }],
  ['p:80', { name: 'p', scheme: 'http', port: 80 }],
  ['p:', { name: 'p', scheme: 'http', port: null }],
  ['https:p:443', { name: 'p', scheme: 'https', port: 443 }],
  ['https:p:', { name: 'p', scheme: 'https', port: null }],
  [':p:80', { name: 'p', scheme: 'http', port: 80 }],
  ['ftp:p:21', null],
  ['http::80', null],
  ['p:0', null],
  ['p:65536', null],
  ['p:web', null],
  ['a:b:c:d', null],
  ['', null],
];

t.test('names with scheme and port', async (t) => {
  for (const [text, want] of names) {
    if (want === null) t.throws(() => proxiedPod(text), { code: 400 }, text);
    else t.strictSame(proxiedPod(text), want, text);
  }
});

t.test('addresses', async (t) => {
  const ported = { spec: { containers: [{ name: 'a' }, { name: 'b', ports: [{ containerPort: 8080 }, { containerPort: 9090 }] }] }, status: { podIP: '10.0.0.7' } };
  t.equal(podUrl(ported, proxiedPod('p'), '/x?y=1').href, 'http://10.0.0.7:8080/x?y=1');
  t.equal(podUrl(ported, proxiedPod('p:9'), '/').href, 'http://10.0.0.7:9/');
  t.equal(podUrl({ spec: { containers: [{ name: 'a' }] }, status: { podIP: 'fd00::7' } }, proxiedPod('https:p:'), '').href, 'https://[fd00::7]/');
  t.throws(() => podUrl({ spec: { containers: [] }, status: {} }, proxiedPod('p'), '/'), { code: 400 });
  const url = new URL('http://10.0.0.7:8080/a/b');
  t.equal(proxiedLocation('/c?d', url, '/own/proxy'), '/own/proxy/c?d');
  t.equal(proxiedLocation('c', url, '/own/proxy'), '/own/proxy/a/c');
  t.equal(proxiedLocation('https://elsewhere/c', url, '/own/proxy'), 'https://elsewhere/c');
});

interface Answer {
  readonly code: number;
  readonly location: string | undefined;
  readonly text: string;
}

async function ask(server: MockApiserver, path: string, method = 'GET', body?: string, token = 'secret'): Promise<Answer> {
  const sent = httpRequest(`${server.httpUrl}${path}`, { method, agent: false, headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' } });
  sent.end(body);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  let text = '';
  for await (const chunk of response) text += String(chunk);
  return { code: response.statusCode ?? 0, location: response.headers.location, text };
}

t.test('requests and upgrades of a pod', async (t) => {
  const seen: string[] = [];
  const pod = createServer((request, response) => {
    seen.push(`${request.method} ${request.url} ${request.headers.authorization ?? 'nobody'}`);
    if (request.url === '/away') response.writeHead(302, { Location: '/here?x' }).end();
    else if (request.url === '/echo') request.pipe(response.writeHead(201));
    else response.writeHead(request.url === '/none' ? 404 : 200, { 'Content-Type': 'text/plain' }).end('hello of the pod');
  });
  pod.on('upgrade', (_request, socket) => {
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n');
    socket.pipe(socket);
  });
  await new Promise<void>((resolve) => pod.listen(0, '127.0.0.1', resolve));
  const { port } = pod.address() as AddressInfo;
  const server = await startMockApiserver({ httpBind: '127.0.0.1:0', tokens: new Map([['secret', { name: 'tester', groups: ['system:masters'] }]]) });
  t.teardown(async () => {
    await server.stop();
    pod.close();
    pod.closeAllConnections();
  });
  const pods = '/api/v1/namespaces/default/pods';
  const object = { kind: 'Pod', apiVersion: 'v1', metadata: { name: 'p' }, spec: { containers: [{ name: 'c', image: 'i', ports: [{ containerPort: port }] }] } };
  t.equal((await ask(server, pods, 'POST', JSON.stringify(object))).code, 201);
  t.match(await ask(server, `${pods}/p/proxy/`), { code: 400, text: /address not allowed/ }, 'it has no address yet');
  const created = JSON.parse((await ask(server, `${pods}/p`)).text) as object;
  t.equal((await ask(server, `${pods}/p/status`, 'PUT', JSON.stringify({ ...created, status: { phase: 'Running', podIP: '127.0.0.1' } }))).code, 200);

  t.match(await ask(server, `${pods}/p/proxy/`), { code: 200, text: 'hello of the pod' });
  t.match(await ask(server, `${pods}/p:${port}/proxy/a%2Fb?c=d`), { code: 200 });
  t.match(await ask(server, `${pods}/http:p:${port}/proxy/none`), { code: 404, text: 'hello of the pod' });
  t.match(await ask(server, `${pods}/p/proxy/echo`, 'POST', 'what was sent'), { code: 201, text: 'what was sent' });
  t.match(await ask(server, `${pods}/p/proxy/away`), { code: 302, location: `${pods}/p/proxy/here?x` });
  t.match(await ask(server, `${pods}/p/proxy`), { code: 301, location: `${pods}/p/proxy/` });
  t.strictSame(seen, ['GET / nobody', 'GET /a%2Fb?c=d nobody', 'GET /none nobody', 'POST /echo nobody', 'GET /away nobody'], 'the client’s token is not for pods');
  t.match(await ask(server, `${pods}/absent/proxy/`), { code: 404, text: /pods \\?"absent\\?" not found/ });
  t.match(await ask(server, `${pods}/ftp:p:1/proxy/`), { code: 400 });

  const socket = connect({ host: '127.0.0.1', port: Number(new URL(server.httpUrl ?? '').port) });
  t.teardown(() => socket.destroy());
  socket.write(`GET ${pods}/p/proxy/up HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer secret\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n`);
  let got = '';
  socket.on('data', (chunk) => {
    got += String(chunk);
    if (got.endsWith('\r\n\r\n')) socket.write('ping');
    if (got.endsWith('ping')) socket.end();
  });
  await once(socket, 'close');
  t.match(got, /^HTTP\/1\.1 101 [\s\S]*\r\n\r\nping$/);

  pod.closeAllConnections();
  await new Promise((resolve) => pod.close(resolve));
  t.match(await ask(server, `${pods}/p/proxy/`), { code: 503, text: /error trying to reach service: / });
});
