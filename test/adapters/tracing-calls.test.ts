// Calls of this agent as spans: what goes along to a runtime and an apiserver, each try and end once, and the parents.
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http2';
import { type AddressInfo, connect } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import t from 'tap';
import { GrpcChannel, GrpcFailure } from '../../src/adapters/grpc/index.js';
import type { KubeletRoute } from '../../src/adapters/http-server/index.js';
import { apiRequestTrace, type FinishedSpan, grpcCallTrace, headersOf, remoteContext, requestTrace, type SpanContext, Tracer } from '../../src/adapters/tracing/index.js';
import { failureOf } from '../support/port-failures.js';
import { ApiPeer, answer, calling, nodes } from './api-peer.js';
import { ask, serve } from './kubelet-server-peer.js';

function recording(samplingRatePerMillion = 1_000_000): { readonly tracer: Tracer; readonly ended: FinishedSpan[] } {
  const ended: FinishedSpan[] = [];
  return { tracer: new Tracer({ samplingRatePerMillion, now: () => 1, ended: (span) => ended.push(span) }), ended };
}

const remote: SpanContext = {
  traceId: '0af7651916cd43dd8448eb211c80319c',
  spanId: 'b7ad6b7169203331',
  isSampled: true,
  isRemote: true,
  traceState: 'v=1',
  baggage: 'k=w',
};

t.test('calls over gRPC', async (t) => {
  const seen: IncomingHttpHeaders[] = [];
  const server = createServer();
  server.on('stream', (stream, headers) => {
    seen.push(headers);
    const isFine = headers[':path']?.endsWith('/Fine') === true;
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
    stream.once('wantTrailers', () => stream.sendTrailers(isFine ? { 'grpc-status': '0' } : { 'grpc-status': '5', 'grpc-message': 'not there' }));
    if (isFine) stream.write(Buffer.alloc(5));
    stream.end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const { tracer, ended } = recording();
  const { port } = server.address() as AddressInfo;
  const channel = new GrpcChannel({
    dial: () => connect({ host: '127.0.0.1', port }),
    dialProblem: String,
    authority: 'a',
    userAgent: 'test',
    messageBytesMax: 1000,
    trace: grpcCallTrace(tracer),
  });
  t.teardown(() => channel.close());
  const ask = (method: string) =>
    new Promise<GrpcFailure | null>((resolve) => {
      channel.unary(`/runtime.v1.RuntimeService/${method}`, Buffer.alloc(0), 10_000, resolve);
    });
  const outer = tracer.begin('outer', { parent: remote });
  t.equal(await tracer.within(outer, () => ask('Fine')), null);
  t.ok((await tracer.within(null, () => ask('Absent'))) instanceof GrpcFailure);
  channel.close();
  t.ok((await ask('Late')) instanceof GrpcFailure);
  t.equal(ended.length, 2, 'each ends once; a call that was never made is none');
  const [fine, absent] = ended;
  t.match(fine, { name: 'runtime.v1.RuntimeService/Fine', kind: 'client', parent: outer.context, failure: null, attributes: { 'rpc.method': 'Fine', 'rpc.grpc.status_code': 0 } });
  t.match(absent, { parent: null, failure: 'not there', attributes: { 'rpc.service': 'runtime.v1.RuntimeService', 'rpc.grpc.status_code': 5 } });
  t.match(seen[0], { ...headersOf(fine?.context as SpanContext), tracestate: 'v=1', baggage: 'k=w' }, 'the runtime is told of the trace, and what the caller said');
  t.equal(fine?.context.traceId, remote.traceId);
  t.notOk('tracestate' in (seen[1] ?? {}));
});

t.test('requests to an apiserver', async (t) => {
  const codes = [200, 404, 503, 200];
  const peer = await ApiPeer.open(t, (_request, response) => {
    const code = codes.shift() ?? 200;
    answer(response, code, { kind: code < 300 ? 'Node' : 'Status', apiVersion: 'v1', metadata: {} }, code === 503 ? { 'Retry-After': '0' } : {});
  });
  const { tracer, ended } = recording();
  const { reader } = peer.clients(t, peer.kubeconfig({ token: 'secret-token' }), { trace: apiRequestTrace(tracer) });
  const get = () => reader.get({ resource: nodes, namespace: null, name: 'n1', client: 'main', resourceVersion: '0' }, calling());
  await get();
  await get().catch(() => null);
  await get();
  const ends = ended.map(({ name, failure, attributes }) => [name, failure, attributes['http.response.status_code']]);
  t.strictSame(ends, [
    ['HTTP GET', null, 200],
    ['HTTP GET', '', 404],
    ['HTTP GET', '', 503],
    ['HTTP GET', null, 200],
  ]);
  t.match(ended[0]?.attributes, { 'url.full': `${peer.url}/api/v1/nodes/n1`, 'server.address': '127.0.0.1', 'server.port': peer.port });
  t.strictSame(
    peer.requests.map(({ headers }) => headers.traceparent),
    ended.map(({ context }) => headersOf(context).traceparent),
    'each try is told',
  );
  t.notMatch(JSON.stringify(ended), /secret-token/);
  peer.close();
  t.match(await failureOf(reader.get({ resource: nodes, namespace: null, name: 'n1', client: 'main', resourceVersion: null }, calling(300_000))), { kind: /unavailable|deadline/ });
  t.match(ended.at(-1), { failure: '' });
  t.notOk('http.response.status_code' in (ended.at(-1)?.attributes ?? {}), 'no answer has no code');
});

t.test('requests that are answered', async (t) => {
  const { tracer, ended } = recording(0);
  const headers = { ...headersOf(remote), 'user-agent': 'kubectl' };
  const asked = { method: 'GET', pattern: '/pods', scheme: 'https', headers } as const;
  const known = requestTrace(tracer, false)(asked);
  t.equal(
    known.within(() => tracer.current?.context.traceId),
    remote.traceId,
  );
  known.served(503);
  t.match(ended, [{ parent: remoteContext(headers), failure: '', attributes: { 'user_agent.original': 'kubectl', 'http.response.status_code': 503 } }]);
  requestTrace(tracer, true)(asked).served(200);
  t.equal(ended.length, 1, 'on an open port nobody makes it record');
  const all = recording();
  requestTrace(all.tracer, true)(asked).served(200);
  t.match(all.ended, [{ parent: null, failure: null, links: [{ spanId: remote.spanId }] }]);
});

t.test('a stream is made for its request until its end', async (t) => {
  const { tracer, ended } = recording(0);
  const current = (): string => `${tracer.current?.context.traceId ?? 'none'}\n`;
  async function* chunks(): AsyncGenerator<Uint8Array> {
    yield Buffer.from(current());
    await nextTurn();
    yield Buffer.from(current());
    // More than a socket takes at once: what comes after has waited for the client.
    yield Buffer.alloc(4_000_000, '\n');
    yield Buffer.from(current());
  }
  const route: KubeletRoute = { pattern: '/containerLogs/', methods: ['GET'], produces: null, answer: () => ({ kind: 'stream', status: 200, headers: {}, chunks: chunks() }) };
  const { server } = await serve(t, { anonymous: true, routes: [route], trace: requestTrace(tracer, false) });
  const { body } = await ask(server.port, '/containerLogs/ns/pod/c', { headers: headersOf(remote) });
  t.strictSame(
    body.split('\n').filter((line) => line !== ''),
    Array.from({ length: 3 }, () => remote.traceId),
  );
  t.equal(ended.length, 1, 'and ends once');
});
