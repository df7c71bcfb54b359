// HTTP/2 to an apiserver: many requests on one connection, further connections beyond the server's stream limit, a silent
// server, one that refuses streams unprocessed, and the fallback to HTTP/1.1.
import { once } from 'node:events';
import { constants, type Http2ServerRequest } from 'node:http2';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import t from 'tap';
import { failureOf } from '../support/port-failures.js';
import { ApiPeer, answer, calling, nodes, pods } from './api-peer.js';

t.setTimeout(120_000);

const node = { client: 'main', resource: nodes, namespace: null, name: 'n1', resourceVersion: null } as const;
const watchOf = (watch: string) => ({ resource: pods, namespace: null, fieldSelector: null, labelSelector: null, watch, resourceVersion: '1', timeoutSeconds: 300 });
const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 5));

t.test('watches and requests share a connection, up to what the server takes at once', async (t) => {
  const peer = await ApiPeer.open(
    t,
    (request, response) => {
      if (request.url?.includes('watch=true')) response.writeHead(200).write('\n');
      else answer(response, 200, { metadata: { name: request.httpVersion } });
    },
    { streamsMax: 4 },
  );
  const { reader } = peer.clients(t, peer.kubeconfig());
  t.equal((await reader.get(node, calling())).metadata.name, '2.0');
  const controllers = Array.from({ length: 10 }, () => new AbortController());
  const watches = controllers.map(({ signal }, i) => reader.watch(watchOf(`w${i}`), calling(null, signal)));
  while (peer.open < 10) await pause();
  await Promise.all(Array.from({ length: 20 }, () => reader.get(node, calling())));
  t.ok(peer.connections >= 3 && peer.connections <= 6, `${peer.connections} connections`);
  for (const controller of controllers) controller.abort();
  await Promise.all(watches);
  while (peer.open > 0) await pause();
  const before = peer.connections;
  await reader.get(node, calling());
  t.equal(peer.connections, before, 'what is free again is used');
});

t.test('a server that has gone without a word is noticed, and asked anew elsewhere', async (t) => {
  const peer = await ApiPeer.open(t, (request, response) => {
    if (request.url?.includes('watch=true')) response.writeHead(200).write('\n');
    else answer(response, 200, { metadata: {} });
  });
  // Between the two, where packets can be lost.
  let isLost = false;
  const links = new Set<Socket>();
  const between = createServer((client) => {
    const server = connect(peer.port, '127.0.0.1');
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      links.add(from);
      from.on('error', () => {}).on('data', (bytes: Buffer) => void (isLost || to.write(bytes)));
      from.once('close', () => links.delete(from));
    }
  });
  between.listen(0, '127.0.0.1');
  await once(between, 'listening');
  const { port } = between.address() as AddressInfo;
  t.teardown(() => {
    for (const link of links) link.destroy();
    between.close();
  });
  const environment = { HTTP2_READ_IDLE_TIMEOUT_SECONDS: '1', HTTP2_PING_TIMEOUT_SECONDS: '1' };
  const { reader } = peer.clients(t, peer.kubeconfig({}, { server: `https://127.0.0.1:${port}` }), { environment });
  const watch = reader.watch(watchOf('w'), calling(null));
  while (peer.open < 1) await pause();
  const quiet = performance.now();
  while (performance.now() - quiet < 2_500) await pause();
  t.equal(links.size, 2, 'one that answers pings is kept, however quiet');
  isLost = true;
  const asked = reader.get(node, calling(30_000_000));
  t.equal(await watch, null, 'the watch ends');
  isLost = false;
  t.ok(await asked, 'a read is sent again');
});

t.test('what the server has refused to look at is sent again, also a write; what it has looked at is not', async (t) => {
  let refusals = 2;
  let code: number = constants.NGHTTP2_REFUSED_STREAM;
  const peer = await ApiPeer.open(t, (request, response) => {
    if (refusals-- > 0) (request as unknown as Http2ServerRequest).stream.close(code);
    else answer(response, 201, { metadata: { name: 'x' } });
  });
  const { writer } = peer.clients(t, peer.kubeconfig());
  const create = { resource: nodes, namespace: null, name: null, client: 'main', subresource: null, object: { metadata: { name: 'x' } } } as const;
  t.equal((await writer.create(create, calling())).metadata.name, 'x');
  t.equal(peer.requests.length, 3);
  refusals = 1;
  code = constants.NGHTTP2_INTERNAL_ERROR;
  t.match(await failureOf(writer.create(create, calling())), { kind: 'unavailable', message: /stream error: INTERNAL_ERROR; received from peer$/ });
  t.equal(peer.requests.length, 4);
});

t.test('DISABLE_HTTP2 is obeyed', async (t) => {
  const peer = await ApiPeer.open(t, (request, response) => answer(response, 200, { metadata: { name: request.httpVersion } }));
  const { reader } = peer.clients(t, peer.kubeconfig(), { environment: { DISABLE_HTTP2: '1' } });
  t.equal((await reader.get(node, calling())).metadata.name, '1.1');
});

t.test('a body that is not read holds up its own stream only', async (t) => {
  let sent = 0;
  const peer = await ApiPeer.open(t, (request, response) => {
    if (!request.url?.includes('watch=true')) return answer(response, 200, { metadata: {} });
    response.writeHead(200);
    const line = `${JSON.stringify({ type: 'ADDED', object: { metadata: { name: 'x'.repeat(50_000) } } })}\n`;
    for (let i = 0; i < 100; i++) response.write(line, () => void sent++);
    response.end();
  });
  const { reader, delivered } = peer.clients(t, peer.kubeconfig());
  const watch = reader.watch(watchOf('w'), calling(null));
  for (let i = 0; i < 20; i++) await reader.get(node, calling());
  t.equal(await watch, null);
  t.equal(delivered.flatMap(({ events }) => events).length, 100, 'and all of it comes');
  t.equal(sent, 100);
});
