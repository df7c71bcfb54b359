// Spans alone: their bytes against those of OpenTelemetry's own library, incoming contexts, sampling, and spans whose
// collector is unreachable, silent, slow or refusing.

import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { grpcStatus } from '../../src/adapters/grpc/index.js';
import {
  attributesMax,
  collectorDial,
  encodeExport,
  type FinishedSpan,
  headersOf,
  isSampled,
  OtlpExporter,
  remoteContext,
  type SendOutcome,
  SpanBatches,
  type SpanBatchesOptions,
  type SpanContext,
  Tracer,
  textLengthMax,
} from '../../src/adapters/tracing/index.js';
import { until } from '../support/until.js';
import { type Behaviour, Collector, readExport } from './otlp-collector.js';

t.setTimeout(60_000);

/** By @opentelemetry/otlp-transformer 0.223.1, of the two spans below. */
const golden = [
  '0a9d030a300a190a0c736572766963652e6e616d6512090a076b7562656c65740a110a09686f73742e6e616d6512040a026e31100012e8020a1f0a1d6b38732e696f2f6b756265726e657465732f706b',
  '672f6b7562656c657412740a100af7651916cd43dd8448eb211c80319c1208b7ad6b71692033312a0773796e63506f6430013900ca853dfe9c97174188ddc471fe9c97174a130a0b6b38732e706f642e',
  '75696412040a0275314a140a076b38732e706f6412090a076e732f70c3b3645000600070007a02180085010101000012ce010a100af7651916cd43dd8448eb211c80319c120800f067aa0ba902b72208',
  'b7ad6b71692033312a2772756e74696d652e76312e52756e74696d65536572766963652f52756e506f6453616e64626f7830033900ca853dfe9c97174188ddc471fe9c97174a1a0a147270632e677270',
  '632e7374617475735f636f64651202180e4a120a036e6567120b18ffffffffffffffffff01500060006a230a104bf92f3577b34da6a3ce929d0e0e4736120800f067aa0ba902b7280035010100007000',
  '7a081204676f6e651802850101010000',
].join('');

const context = (spanId: string, traceId = '0af7651916cd43dd8448eb211c80319c'): SpanContext => ({ traceId, spanId, isSampled: true, isRemote: false, traceState: '', baggage: '' });
const span = (more: Partial<FinishedSpan> = {}): FinishedSpan => ({
  name: 'syncPod',
  kind: 'internal',
  context: context('b7ad6b7169203331'),
  parent: null,
  startedAt: 1_700_000_000_123_456,
  endedAt: 1_700_000_001_000_005,
  attributes: { 'k8s.pod.uid': 'u1', 'k8s.pod': 'ns/pód' },
  links: [],
  failure: null,
  droppedAttributes: 0,
  ...more,
});
const call = span({
  name: 'runtime.v1.RuntimeService/RunPodSandbox',
  kind: 'client',
  context: context('00f067aa0ba902b7'),
  parent: context('b7ad6b7169203331'),
  attributes: { 'rpc.grpc.status_code': 14, neg: -1 },
  failure: 'gone',
  links: [context('00f067aa0ba902b7', '4bf92f3577b34da6a3ce929d0e0e4736')],
});
const resource = { 'service.name': 'kubelet', 'host.name': 'n1' };

t.test('the bytes say what those of the library say', async (t) => {
  const [theirs, ours] = [readExport(Buffer.from(golden, 'hex')), readExport(encodeExport(resource, [span(), call]))];
  t.strictSame(ours, theirs);
  t.match(ours, {
    resource,
    scope: 'k8s.io/kubernetes/pkg/kubelet',
    spans: [
      { name: 'syncPod', kind: 1, flags: 0x101 },
      { kind: 3, status: { code: 2, message: 'gone' } },
    ],
  });
  const odd = span({ attributes: { yes: true, no: false, empty: '', half: 0.5, lone: 'a\ud800' }, parent: { ...context('00f067aa0ba902b7'), isRemote: true } });
  const [read] = readExport(encodeExport({}, [odd])).spans;
  t.strictSame(read?.attributes, { yes: true, no: false, empty: '', half: 'kind 4', lone: 'a\ufffd' });
  t.equal(read?.flags, 0x301, 'its parent is elsewhere');
});

const trace = '0af7651916cd43dd8448eb211c80319c';
const parents: readonly (readonly [sentence: string, traceparent: string | readonly string[] | undefined, wanted: string])[] = [
  ['sampled', `00-${trace}-b7ad6b7169203331-01`, `00-${trace}-b7ad6b7169203331-01`],
  ['not sampled', `00-${trace}-b7ad6b7169203331-00`, `00-${trace}-b7ad6b7169203331-00`],
  ['random flag of level 2', `00-${trace}-b7ad6b7169203331-03`, `00-${trace}-b7ad6b7169203331-01`],
  ['a version to come, with more', `cc-${trace}-b7ad6b7169203331-01-more`, `00-${trace}-b7ad6b7169203331-01`],
  ['none', undefined, 'none'],
  ['twice', [`00-${trace}-b7ad6b7169203331-01`], 'none'],
  ['upper case', `00-${trace.toUpperCase()}-b7ad6b7169203331-01`, 'none'],
  ['version 0 with more', `00-${trace}-b7ad6b7169203331-01-more`, 'none'],
  ['version ff', `ff-${trace}-b7ad6b7169203331-01`, 'none'],
  ['a trace id of zeros', `00-${'0'.repeat(32)}-b7ad6b7169203331-01`, 'none'],
  ['a span id of zeros', `00-${trace}-${'0'.repeat(16)}-01`, 'none'],
  ['flags of no version', `00-${trace}-b7ad6b7169203331-ff`, 'none'],
  ['too short', `00-${trace}-b7ad6b716920333-01`, 'none'],
  ['words', 'traceparent', 'none'],
];

t.test('contexts of callers', async (t) => {
  for (const [sentence, traceparent, wanted] of parents) {
    const read = remoteContext({ traceparent });
    t.equal(read === null ? 'none' : headersOf(read).traceparent, wanted, sentence);
  }
  const with_ = (more: Record<string, string | string[]>) => headersOf(remoteContext({ traceparent: `00-${trace}-b7ad6b7169203331-01`, ...more }) as SpanContext);
  t.match(with_({ tracestate: 'a=1,b@c=2', baggage: 'k=v;p, l=w' }), { tracestate: 'a=1,b@c=2', baggage: 'k=v;p, l=w' });
  for (const tracestate of ['A=1', 'a', `a=${'x'.repeat(600)}`, 'a=1\u00e9']) t.notOk('tracestate' in with_({ tracestate }), `not handed on: ${tracestate.slice(0, 9)}`);
  for (const baggage of ['x', 'k=\u00e9', `k=${'v'.repeat(9000)}`]) t.notOk('baggage' in with_({ baggage }), `not handed on: ${baggage.slice(0, 9)}`);
});

const low = `${'f'.repeat(16)}0000000000000001`;
const middle = `${'0'.repeat(15)}17fffffffffffffff`;
const high = `${'0'.repeat(15)}1ffffffffffffffff`;
const ratios: readonly (readonly [sentence: string, parent: boolean | null, traceId: string, rate: number, wanted: boolean])[] = [
  ['nothing by itself', null, low, 0, false],
  ['all', null, high, 1_000_000, true],
  ['a low id of one in a million', null, low, 1, true],
  ['a high id of nearly all', null, high, 999_999, false],
  ['just below the half', null, middle, 500_000, true],
  ['just at the half', null, `${'0'.repeat(15)}18000000000000000`, 500_000, false],
  ['a parent that is recorded, against the ratio', true, high, 0, true],
  ['a parent that is not recorded, against the ratio', false, low, 1_000_000, false],
];

t.test('what is sampled', async (t) => {
  for (const [sentence, parent, traceId, rate, wanted] of ratios) {
    t.equal(isSampled(parent === null ? null : { ...context('00f067aa0ba902b7'), isSampled: parent }, traceId, rate), wanted, sentence);
  }
  const ended: FinishedSpan[] = [];
  const tracer = new Tracer({ samplingRatePerMillion: 250_000, now: () => 1, ended: (one) => ended.push(one) });
  for (let n = 0; n < 4000; n++) tracer.begin('x').end();
  t.ok(ended.length > 800 && ended.length < 1200, `about a quarter of 4000: ${ended.length}`);
  t.equal(new Set(ended.map((one) => one.context.traceId)).size, ended.length, 'each a trace of its own');
});

t.test('spans and their parents', async (t) => {
  const ended: FinishedSpan[] = [];
  let now = 100;
  const tracer = new Tracer({ samplingRatePerMillion: 1_000_000, now: () => now, ended: (one) => ended.push(one) });
  t.teardown(() => tracer.close());
  const outer = tracer.begin('outer');
  await tracer.within(outer, async () => {
    await new Promise(setImmediate);
    tracer.within(null, () => tracer.begin('alone').end());
    const inner = tracer.begin('inner', { attributes: Object.fromEntries(Array.from({ length: attributesMax + 2 }, (_, n) => [`k${n}`, 'v'.repeat(textLengthMax + 1)])) });
    inner.fail('x'.repeat(textLengthMax * 2));
    now = 50;
    inner.end();
    inner.end();
    inner.fail('late');
    outer.end();
    tracer.begin('after').end();
  });
  t.equal(tracer.current, null);
  const [alone, inner, after] = ['alone', 'inner', 'after'].map((name) => ended.find((one) => one.name === name));
  t.equal(ended.length, 4, 'each ends once');
  t.equal(alone?.parent, null, 'beside');
  t.equal(inner?.parent?.spanId, outer.context.spanId);
  t.equal(inner?.context.traceId, outer.context.traceId);
  t.equal(after?.parent, null, 'a span that has ended is no parent');
  t.equal(inner?.endedAt, 100, 'not before it began, whatever the clock says');
  t.equal(inner?.failure?.length, textLengthMax);
  t.equal(inner?.droppedAttributes, 2);
  t.equal(inner?.attributes.k0, 'v'.repeat(textLengthMax));
  const unsampled = new Tracer({ samplingRatePerMillion: 0, now: () => 1, ended: () => t.fail('is not recorded') });
  const silent = unsampled.begin('silent');
  unsampled.within(silent, () => unsampled.begin('below').end());
  silent.end();
  t.match(headersOf(silent.context).traceparent, /-00$/, 'and those that are asked know it');
});

const endpoints: readonly (readonly [endpoint: string, wanted: string])[] = [
  ['localhost:4317', 'localhost:4317'],
  ['collector', 'collector'],
  ['[::1]:4317', '[::1]:4317'],
  ['dns:///collector.example:55', 'collector.example:55'],
  ['dns://10.0.0.10/collector:55', 'collector:55'],
  ['dns:collector:55', 'collector:55'],
  ['unix:///run/otel.sock', 'localhost'],
  ['unix:/run/otel.sock', 'localhost'],
  ['unix-abstract:otel', 'localhost'],
  ['http://collector:4318', 'no'],
  ['collector:0', 'no'],
  ['collector:99999', 'no'],
  ['a b', 'no'],
  ['', 'no'],
];

t.test('where the collector is', async (t) => {
  for (const [endpoint, wanted] of endpoints) {
    if (wanted === 'no') t.throws(() => collectorDial(endpoint), { message: /^tracing\.endpoint: "/ }, endpoint);
    else t.equal(collectorDial(endpoint).authority, wanted, endpoint);
  }
});

const quick = { waitingMax: 8, batchMax: 4, delayMillis: 5, attemptMillis: 100, retryMillis: 5, retryMillisMax: 20, triesMillis: 400 };

function batches(t: Test, send: SpanBatchesOptions['send'], limits = quick): { readonly queue: SpanBatches; readonly told: (string | null)[] } {
  const told: (string | null)[] = [];
  const queue = new SpanBatches({ send, trouble: (reason) => told.push(reason), limits });
  t.teardown(() => queue.close(0));
  return { queue, told };
}

t.test('batches', async (t) => {
  t.test('fill up, one under way at a time, and what is too many is counted', async (t) => {
    const sizes: number[] = [];
    const held: (() => void)[] = [];
    const { queue } = batches(t, async (spans) => {
      sizes.push(spans.length);
      await new Promise<void>((resolve) => held.push(resolve));
      return { kind: 'sent', rejected: 0, reason: '' };
    });
    for (let n = 0; n < 20; n++) queue.add(span());
    t.equal(queue.length, 8);
    t.equal(queue.dropped, 8, 'four are under way, eight wait');
    t.strictSame(sizes, [4]);
    for (const sent of [4, 8, 12]) {
      held.pop()?.();
      await until(`${sent} are sent`, () => queue.sent === sent && (sent === 12 || sizes.length > sent / 4));
    }
    t.strictSame(sizes, [4, 4, 4]);
  });
  t.test('a single span goes after its wait', async (t) => {
    const { queue, told } = batches(t, async () => ({ kind: 'sent', rejected: 0, reason: '' }));
    queue.add(span());
    await until('it is sent', () => queue.sent === 1);
    t.strictSame(told, []);
  });
  t.test('a failure that passes is tried again, and told once', async (t) => {
    const outcomes: SendOutcome[] = [
      { kind: 'later', reason: 'away' },
      { kind: 'later', reason: 'away still' },
      { kind: 'sent', rejected: 1, reason: '' },
    ];
    const { queue, told } = batches(t, async () => outcomes.shift() ?? { kind: 'sent', rejected: 0, reason: '' });
    queue.add(span());
    queue.add(span());
    await until('it is sent', () => queue.sent === 1);
    t.equal(queue.dropped, 1, 'one was not taken');
    queue.add(span());
    await until('another', () => queue.sent === 2);
    t.strictSame(told, ['away', null]);
  });
  t.test('a failure that does not pass costs the batch', async (t) => {
    const { queue, told } = batches(t, async () => ({ kind: 'refused', reason: 'who are you' }));
    for (let n = 0; n < 2; n++) {
      queue.add(span());
      await until('it is dropped', () => queue.dropped === n + 1);
    }
    t.strictSame(told, ['who are you']);
  });
});

t.test('the end of tries and of the queue', async (t) => {
  t.test('tries end', async (t) => {
    let tries = 0;
    const { queue } = batches(t, async () => {
      tries++;
      return { kind: 'later', reason: 'away' };
    });
    queue.add(span());
    await until('it is given up', () => queue.dropped === 1);
    t.ok(tries > 2 && tries < 90, `${tries} tries`);
  });
  t.test('closing sends what waits, within its time', async (t) => {
    const { queue } = batches(t, async () => ({ kind: 'sent', rejected: 0, reason: '' }), { ...quick, delayMillis: 60_000, waitingMax: 100 });
    for (let n = 0; n < 3; n++) queue.add(span());
    await queue.close(5_000);
    t.equal(queue.sent, 3);
    queue.add(span());
    t.equal(queue.dropped, 1, 'too late');
    const hanging = batches(t, () => new Promise(() => {}), quick).queue;
    for (let n = 0; n < 6; n++) hanging.add(span());
    await hanging.close(20);
    t.equal(hanging.length, 0);
    t.equal(hanging.dropped, 2, 'those that waited; those under way may have come');
  });
});

const behaviours: readonly (readonly [sentence: string, behaviour: Behaviour, wanted: Partial<SendOutcome>])[] = [
  ['taken', 'take', { kind: 'sent', rejected: 0 }],
  ['taken in part', 'partial', { kind: 'sent', rejected: 1, reason: 'full' }],
  ['taken, with an answer that is none', 'garbage', { kind: 'sent', rejected: 0 }],
  ['not answered', 'hang', { kind: 'later', reason: 'rpc error: code = DeadlineExceeded desc = context deadline exceeded' }],
  ['busy', grpcStatus.UNAVAILABLE, { kind: 'later', reason: 'rpc error: code = Unavailable desc = not now' }],
  ['refused', grpcStatus.PERMISSION_DENIED, { kind: 'refused', reason: 'rpc error: code = PermissionDenied desc = not now' }],
];

t.test('collectors', async (t) => {
  const collector = await Collector.open();
  t.teardown(() => collector.close());
  const exporter = new OtlpExporter(`127.0.0.1:${collector.port}`, resource);
  t.teardown(() => exporter.close());
  for (const [sentence, behaviour, wanted] of behaviours) {
    collector.behaviour = behaviour;
    t.match(await exporter.send([span(), call], behaviour === 'hang' ? 30 : 10_000), wanted, sentence);
  }
  t.strictSame(collector.exports[0], readExport(Buffer.from(golden, 'hex')));

  const directory = mkdtempSync(join(tmpdir(), 'kubelet-ts-test-'));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  const socket = join(directory, 'otel.sock');
  const away = new OtlpExporter(`unix://${socket}`, resource);
  t.teardown(() => away.close());
  t.match(await away.send([span()], 5_000), { kind: 'later', reason: /Unavailable.*dial unix .*no such file or directory/ }, 'nobody there');
  const local = await Collector.open(`unix:${socket}`);
  t.teardown(() => local.close());
  t.match(await away.send([span()], 5_000), { kind: 'sent' }, 'on a socket, once it is there');

  const sockets = new Set<Socket>();
  const mute = createServer((peer) => sockets.add(peer.resume()));
  await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    for (const peer of sockets) peer.destroy();
    mute.close();
  });
  const silent = new OtlpExporter(`127.0.0.1:${(mute.address() as { port: number }).port}`, resource);
  t.teardown(() => silent.close());
  t.match(await silent.send([span()], 30), { kind: 'later', reason: /DeadlineExceeded/ }, 'one that never speaks');
});
