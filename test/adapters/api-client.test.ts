// The apiserver client against a peer in this process: its requests, its handling of each answer, rate limits and retries.
import type { ServerResponse } from 'node:http';
import t from 'tap';
import { failureOf } from '../support/port-failures.js';
import { ApiPeer, answer, calling, leases, nodes, pods } from './api-peer.js';

const everything = { namespace: null, fieldSelector: null, labelSelector: null, resourceVersion: null, limit: null, continueToken: null };
const node = { resource: nodes, namespace: null, name: 'n1', client: 'main', resourceVersion: null } as const;

t.test('requests are as the API wants them', async (t) => {
  const peer = await ApiPeer.open(t, (request, response) => {
    if (request.method === 'GET' && request.url?.startsWith('/api/v1/pods')) {
      answer(response, 200, {
        kind: 'PodList',
        apiVersion: 'v1',
        metadata: { resourceVersion: '7', continue: 'next' },
        items: [{ metadata: { name: 'a' }, unknownField: { b: [1] } }],
      });
    } else answer(response, 200, { kind: 'Any', apiVersion: 'v1', metadata: { name: 'x' }, foreign: 1 });
  });
  const { reader, writer } = peer.clients(t, peer.kubeconfig({ token: 'secret-token' }));
  const list = await reader.list({ ...everything, resource: pods, fieldSelector: 'spec.nodeName=n1', resourceVersion: '0', limit: 500 }, calling());
  t.same(
    list,
    {
      items: [{ metadata: { name: 'a' }, unknownField: { b: [1] }, apiVersion: 'v1', kind: 'Pod', spec: { containers: [] } }],
      unusable: [],
      resourceVersion: '7',
      continueToken: 'next',
    },
    'unknown fields are kept',
  );
  await reader.list({ ...everything, resource: pods, resourceVersion: '0', limit: 500, continueToken: 'next' }, calling());
  t.same(await reader.get(node, calling()), { kind: 'Any', apiVersion: 'v1', metadata: { name: 'x' }, foreign: 1 });
  const lease = { resource: leases, namespace: 'kube-node-lease', name: 'n1' };
  await writer.create({ ...lease, client: 'heartbeat', name: null, subresource: null, object: { metadata: { name: 'n1' } } }, calling());
  await writer.create({ resource: pods, namespace: 'default', client: 'main', name: 'a/b', subresource: 'token', object: { metadata: { name: '' } } }, calling());
  await writer.update({ ...lease, client: 'heartbeat', subresource: null, object: { metadata: { name: 'n1', resourceVersion: '1' } } }, calling());
  for (const patch of ['json-patch', 'merge-patch', 'strategic-merge-patch', 'apply-patch'] as const) {
    await writer.patch({ resource: nodes, namespace: null, name: 'n1', client: 'main', subresource: 'status', patch, body: { a: 'ü' } }, calling());
  }
  t.equal(await writer.delete({ resource: pods, namespace: 'default', name: 'a', client: 'main', gracePeriodSeconds: 0, uid: 'u1' }, calling()), null);
  t.same(
    peer.requests.map(({ method, url, headers, body }) => [method, url, headers['content-type'] ?? '', body]),
    [
      ['GET', '/api/v1/pods?fieldSelector=spec.nodeName%3Dn1&limit=500&resourceVersion=0', '', ''],
      ['GET', '/api/v1/pods?limit=500&continue=next', '', ''],
      ['GET', '/api/v1/nodes/n1', '', ''],
      ['POST', '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases', 'application/json', '{"metadata":{"name":"n1"}}'],
      ['POST', '/api/v1/namespaces/default/pods/a%2Fb/token', 'application/json', '{"metadata":{"name":""}}'],
      ['PUT', '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n1', 'application/json', '{"metadata":{"name":"n1","resourceVersion":"1"}}'],
      ['PATCH', '/api/v1/nodes/n1/status', 'application/json-patch+json', '{"a":"ü"}'],
      ['PATCH', '/api/v1/nodes/n1/status', 'application/merge-patch+json', '{"a":"ü"}'],
      ['PATCH', '/api/v1/nodes/n1/status', 'application/strategic-merge-patch+json', '{"a":"ü"}'],
      ['PATCH', '/api/v1/nodes/n1/status?fieldManager=kubelet&force=true', 'application/apply-patch+yaml', '{"a":"ü"}'],
      ['DELETE', '/api/v1/namespaces/default/pods/a', 'application/json', '{"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":0,"preconditions":{"uid":"u1"}}'],
    ],
  );
  t.ok(
    peer.requests.every(
      ({ headers }) => headers.authorization === 'Bearer secret-token' && headers['user-agent'] === 'kubelet/v1.36.2 (test)' && headers.accept === 'application/json',
    ),
  );
  t.equal(peer.connections, 1, 'all on one connection');
});

t.test('each answer that is no success is a failure of its kind', async (t) => {
  let next = (_response: ServerResponse): void => {};
  const peer = await ApiPeer.open(t, (_request, response) => next(response));
  const { reader, writer } = peer.clients(t, peer.kubeconfig());
  const status = (code: number, reason: string, more: object = {}) => ({ kind: 'Status', apiVersion: 'v1', status: 'Failure', message: `says ${reason}`, reason, code, ...more });
  const rows = [
    [400, 'BadRequest', 'invalid-argument'],
    [401, 'Unauthorized', 'unauthenticated'],
    [403, 'Forbidden', 'permission-denied'],
    [404, 'NotFound', 'not-found'],
    [405, 'MethodNotAllowed', 'unimplemented'],
    [409, 'Conflict', 'aborted'],
    [409, 'AlreadyExists', 'already-exists'],
    [410, 'Expired', 'out-of-range'],
    [422, 'Invalid', 'invalid-argument'],
    [429, 'TooManyRequests', 'resource-exhausted'],
    [500, 'InternalError', 'unavailable'],
    [503, 'ServiceUnavailable', 'unavailable'],
    [504, 'Timeout', 'deadline-exceeded'],
  ] as const;
  for (const [code, reason, kind] of rows) {
    next = (response) => answer(response, code, status(code, reason));
    t.match(
      await failureOf(reader.get(node, calling())),
      { kind, message: `says ${reason}`, operation: 'apiReader.get', subject: 'nodes n1', retryAfterMicros: null },
      `${code} ${reason}`,
    );
  }
  next = (response) => answer(response, 429, status(429, 'TooManyRequests', { details: { retryAfterSeconds: 3 } }));
  t.match(await failureOf(reader.get(node, calling())), { retryAfterMicros: 3_000_000 }, 'the time that the Status tells');
  next = (response) => answer(response, 503, '<html>upstream is away</html>', { 'Content-Type': 'text/html' });
  t.match(await failureOf(reader.get(node, calling())), { kind: 'unavailable', message: 'the server is currently unable to handle the request (get nodes n1)' });
  next = (response) => answer(response, 502, 'bad gateway');
  t.match(await failureOf(reader.get(node, calling())), {
    kind: 'unavailable',
    message: 'an error on the server ("bad gateway") has prevented the request from succeeding (get nodes n1)',
  });
  next = (response) => answer(response, 404, '404 page not found');
  const lease = { resource: leases, namespace: 'kube-node-lease', name: null, client: 'main', subresource: null, object: { metadata: { name: 'n1' } } } as const;
  t.match(
    await failureOf(writer.create(lease, calling())),
    { kind: 'not-found', message: 'the server could not find the requested resource (post leases.coordination.k8s.io n1)' },
    'a server that is too old for it',
  );
  next = (response) => answer(response, 200, 'not json');
  t.match(await failureOf(reader.get(node, calling())), { kind: 'data-loss', message: /it is no JSON/ });
  t.match(await failureOf(reader.list({ ...everything, resource: pods }, calling())), { kind: 'data-loss' });
  next = (response) => answer(response, 200, { kind: 'Pod', metadata: {} });
  t.match(await failureOf(reader.list({ ...everything, resource: pods }, calling())), { kind: 'data-loss', message: /it is no list/ });
});

t.test('a wrong node name is refused by the server, and its words get through', async (t) => {
  const message = 'nodes "a" is forbidden: node "b" is not allowed to modify node "a"';
  const peer = await ApiPeer.open(t, (_request, response) => answer(response, 403, { kind: 'Status', message, reason: 'Forbidden', code: 403 }));
  const { writer } = peer.clients(t, peer.kubeconfig());
  const create = { resource: nodes, namespace: null, name: null, client: 'main', subresource: null, object: { metadata: { name: 'a' } } } as const;
  t.match(await failureOf(writer.create(create, calling())), { kind: 'permission-denied', message });
});

t.test('tries again as the server asks, and no longer than the call may take', async (t) => {
  let busy = 0;
  const peer = await ApiPeer.open(t, (request, response) => {
    if (request.url === '/api/v1/nodes/broken') response.destroy();
    else if (busy-- > 0)
      answer(response, 429, { kind: 'Status', reason: 'TooManyRequests', message: 'busy', code: 429 }, { 'Retry-After': request.url === '/api/v1/nodes/later' ? '100' : '0' });
    else answer(response, 200, { metadata: {} });
  });
  const { reader, writer } = peer.clients(t, peer.kubeconfig());
  const tried = async (work: () => Promise<unknown>): Promise<number> => {
    const before = peer.requests.length;
    await work();
    return peer.requests.length - before;
  };
  busy = 10;
  t.equal(await tried(() => reader.get(node, calling())), 11, 'ten times');
  busy = 20;
  t.equal(await tried(async () => t.match(await failureOf(reader.get(node, calling())), { kind: 'resource-exhausted', message: 'busy' })), 11, 'and then it is a failure');
  busy = 1;
  const later = { ...node, name: 'later' };
  t.equal(
    await tried(async () => t.match(await failureOf(reader.get(later, calling())), { kind: 'resource-exhausted', retryAfterMicros: 100_000_000 })),
    1,
    'at once when there is no time to wait',
  );
  busy = 0;
  const broken = { ...node, name: 'broken' };
  t.equal(
    await tried(async () => t.match(await failureOf(reader.get(broken, calling(1_500_000))), { kind: 'unavailable', message: `Get "${peer.url}/api/v1/nodes/broken": EOF` })),
    3,
    'a read on a broken connection: at once, then after 1 s',
  );
  const patch = { resource: nodes, namespace: null, name: 'broken', client: 'main', subresource: null, patch: 'merge-patch', body: {} } as const;
  t.equal(
    await tried(async () => t.match(await failureOf(writer.patch(patch, calling())), { kind: 'unavailable', message: /^Patch ".*": EOF$/ })),
    1,
    'a write whose answer is lost is not sent again',
  );
});

t.test('a client stays within its rate, also when the server asks it to come again at once; heartbeats have none', async (t) => {
  let code = 429;
  const peer = await ApiPeer.open(t, (_request, response) => answer(response, code, { kind: 'Any', metadata: {} }, { 'Retry-After': '0' }));
  const { reader } = peer.clients(t, peer.kubeconfig(), { main: { perSecond: 20, burst: 5 } });
  const begun = performance.now();
  await Promise.all(Array.from({ length: 40 }, () => failureOf(reader.get(node, calling(1_000_000)))));
  const seconds = (performance.now() - begun) / 1000;
  t.ok(peer.requests.length <= 5 + 20 * seconds + 1, `${peer.requests.length} requests in ${seconds} s`);
  t.ok(peer.requests.length >= 15, 'and makes use of it');
  code = 200;
  await Promise.all(Array.from({ length: 100 }, () => reader.get({ ...node, client: 'heartbeat' }, calling(10_000_000))));
  t.match(await failureOf(Promise.all(Array.from({ length: 60 }, () => reader.get(node, calling(1_000_000))))), {
    kind: 'deadline-exceeded',
    message: 'client rate limiter Wait returned an error: rate: Wait(n=1) would exceed context deadline',
  });
});

t.test('deadlines and cancellation', async (t) => {
  const peer = await ApiPeer.open(t, () => {});
  const { reader } = peer.clients(t, peer.kubeconfig(), { heartbeatTimeoutMicros: 50_000 });
  t.match(await failureOf(reader.get(node, calling(50_000))), { kind: 'deadline-exceeded', message: `Get "${peer.url}/api/v1/nodes/n1": context deadline exceeded` });
  const controller = new AbortController();
  const cancelled = failureOf(reader.get(node, calling(null, controller.signal)));
  setImmediate(() => controller.abort());
  t.match(await cancelled, { kind: 'cancelled' });
  t.match(await failureOf(reader.get(node, calling(null, controller.signal))), { kind: 'cancelled' }, 'one that was cancelled before');
  t.match(await failureOf(reader.get({ ...node, client: 'heartbeat' }, calling())), { kind: 'deadline-exceeded' }, 'a heartbeat has a limit of its own');
});

t.test('two heartbeats without an answer cut what hangs', async (t) => {
  const peer = await ApiPeer.open(t, (request, response) => {
    if (request.url?.includes('watch=true')) response.writeHead(200).write('\n');
  });
  const { reader } = peer.clients(t, peer.kubeconfig(), { heartbeatTimeoutMicros: 50_000 });
  const watch = reader.watch({ ...everything, resource: pods, resourceVersion: '1', watch: 'w', timeoutSeconds: 300 }, calling(null));
  while (peer.open === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  await failureOf(reader.get({ ...node, client: 'heartbeat' }, calling()));
  await failureOf(reader.get({ ...node, client: 'heartbeat' }, calling()));
  t.equal(await watch, null, 'the watch ended, and is begun again by who wants it');
});

t.test('connections that the server closes while nobody uses them cost nothing', async (t) => {
  const peer = await ApiPeer.open(t, (_request, response) => answer(response, 200, { metadata: {} }));
  const { reader } = peer.clients(t, peer.kubeconfig());
  await reader.get(node, calling());
  for (const socket of peer.sockets) socket.end();
  const begun = performance.now();
  await reader.get(node, calling());
  t.ok(performance.now() - begun < 900, 'at once');
  await reader.get(node, calling());
  t.equal(peer.connections, 2);
});
