// Manifests over HTTP: the adapter against a server of its own on loopback, and the URL source on top of scripted answers.

import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import { HttpManifestUrl } from '../../src/adapters/linux/manifest-url.js';
import { Kernel, type Output } from '../../src/domain/kernel/kernel.js';
import type { Reply } from '../../src/domain/kernel/machine.js';
import { newStaticPods, type StaticPodSet, staticPodsMachine } from '../../src/domain/pod-sources/static-pods.js';
import { instantOf } from '../../src/domain/values/instant.js';
import type { Call } from '../../src/ports/operation.js';
import type { ManifestOperations, ManifestResponse } from '../../src/ports/outbound/manifests.js';
import { type Outcome, PortError } from '../../src/ports/port-error.js';
import { failureOf } from '../support/port-failures.js';

const idle: Call['signal'] = { aborted: false, reason: undefined, addEventListener: () => {}, removeEventListener: () => {} };
const call: Call = { signal: idle, timeoutMicros: 5_000_000 };
const pod = JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a' }, spec: { containers: [{ name: 'c', image: 'i:1' }] } });

/** What the port answers with, as data; an answer that is none, or another kind of error, fails the test. */

async function serve(test: { readonly teardown: (run: () => unknown) => unknown }, listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  test.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

t.test('the adapter', async (t) => {
  const requests: IncomingMessage[] = [];
  const other = await serve(t, (request, response) => {
    requests.push(request);
    response.end(pod);
  });
  const base = await serve(t, (request, response) => {
    requests.push(request);
    const answers: Record<string, () => void> = {
      '/pod': () => response.end(pod),
      '/empty': () => response.end(),
      '/broken': () => response.writeHead(500, 'Internal Server Error').end(pod),
      '/html': () => response.end(`<html>${'x'.repeat(1000)}`),
      '/here': () => response.writeHead(302, { location: '/pod' }).end(),
      '/there': () => response.writeHead(302, { location: `${other}/pod` }).end(),
      '/round': () => response.writeHead(302, { location: '/round' }).end(),
      '/cut': () => {
        response.writeHead(200, { 'content-length': '1000' }).write('half');
        setImmediate(() => response.destroy());
      },
      '/large': () => {
        const chunk = Buffer.alloc(1024 * 1024, 'a');
        const more = (count: number): void => {
          if (count > 0 && !response.destroyed) response.write(chunk, () => more(count - 1));
          else response.end();
        };
        more(20);
      },
    };
    answers[request.url ?? '']?.();
  });
  const adapter = new HttpManifestUrl();
  const headers = { 'X-Token': ['one', 'two'] };
  const fetch = (path: string, c: Call = call): Promise<ManifestResponse> => adapter.fetch({ url: base + path, headers }, c);

  const first = await fetch('/pod');
  t.match(first, { status: '200 OK', statusCode: 200, bodyBytes: pod.length, excerpt: pod, content: { kind: 'document', value: { kind: 'Pod' } } });
  t.equal(requests[0]?.headers['x-token'], 'one, two', 'every value of a header is sent');
  t.equal((await fetch('/pod')).content, first.content, 'an equal body is not parsed again');
  t.match(await fetch('/empty'), { statusCode: 200, bodyBytes: 0, content: { kind: 'absent' } });
  t.match(await fetch('/broken'), { status: '500 Internal Server Error', statusCode: 500, content: { kind: 'absent' } });
  t.equal((await fetch('/html')).excerpt.length, 201, 'the excerpt is short');
  t.match(await fetch('/here'), { statusCode: 200, digest: first.digest });
  t.equal(requests.at(-1)?.headers['x-token'], 'one, two');
  t.match(await fetch('/there'), { statusCode: 200, digest: first.digest });
  t.equal(requests.at(-1)?.headers['x-token'], undefined, 'another host does not get the headers');
  t.match(await failureOf(fetch('/round')), { kind: 'failed-precondition', message: /stopped after 10 redirects/ });
  t.match(await failureOf(fetch('/large')), { kind: 'out-of-range', message: /larger than 10 MiB/ });
  t.match(await failureOf(fetch('/cut')), { kind: 'unavailable' });
  t.match(await failureOf(fetch('/silent', { ...call, timeoutMicros: 50_000 })), { kind: 'deadline-exceeded', message: /no answer within 0\.05 s/ });
  const controller = new AbortController();
  const cancelled = fetch('/silent', { ...call, signal: controller.signal });
  controller.abort();
  t.match(await failureOf(cancelled), { kind: 'cancelled' });
  t.match(await failureOf(adapter.fetch({ url: 'file:///etc/passwd', headers: {} }, call)), { kind: 'invalid-argument' });
  t.match(await failureOf(adapter.fetch({ url: 'http://127.0.0.1:1/', headers: {} }, call)), { kind: 'unavailable' });
});

/** Answers one request after the other, a period apart; gives what was sent and what was said each time. */
function source(): { readonly answer: (outcome: Outcome<ManifestResponse>) => { sets: string[][]; log: string[] } } {
  const sets: StaticPodSet[] = [];
  const state = newStaticPods(null, { url: 'http://conf/', headers: {}, checkPeriod: 20_000_000, nodeName: 'n', preventApiReferences: true });
  const kernel = new Kernel(
    staticPodsMachine((set) => sets.push(set)),
    state,
    1,
  );
  let now = 0;
  let asked: Output<ManifestOperations> | null = kernel.deliver({ type: 'start' }, now, instantOf(now));
  return {
    answer(outcome) {
      const [command] = asked?.commands ?? [];
      if (command === undefined) throw new Error('no request is in flight');
      const { id, op, address, slot } = command;
      const { log } = kernel.deliver({ type: 'reply', id, op, address, slot, outcome } as Reply<ManifestOperations>, now, instantOf(now));
      now = kernel.nextWakeAt() ?? now;
      asked = kernel.wake(now, instantOf(now));
      return {
        sets: sets.splice(0).map((set) => set.pods.map((each) => each.metadata.name)),
        log: log.map((line) => `${line.level} ${line.message}${line.fields.err === undefined ? '' : `: ${line.fields.err}`}`),
      };
    },
  };
}

function body(value: unknown, digest: string): Outcome<ManifestResponse> {
  const content = { kind: 'document', value, notes: [] } as const;
  return { ok: true, value: { status: '200 OK', statusCode: 200, bodyBytes: 9, digest, excerpt: 'the text', content } };
}

t.test('the URL source', async (t) => {
  const value = JSON.parse(pod) as unknown;
  const good = body(value, 'good');
  const empty: Outcome<ManifestResponse> = { ok: true, value: { status: '200 OK', statusCode: 200, bodyBytes: 0, digest: 'none', excerpt: '', content: { kind: 'absent' } } };
  const status500: Outcome<ManifestResponse> = {
    ok: true,
    value: { status: '500 Internal Server Error', statusCode: 500, bodyBytes: 3, digest: 'x', excerpt: 'oh!', content: { kind: 'absent' } },
  };
  const { answer } = source();
  t.strictSame(answer(good), { sets: [['a-n']], log: [] });
  t.strictSame(answer(good), { sets: [], log: [] }, 'an equal body is not sent again');
  t.strictSame(answer(status500), { sets: [], log: ['error Failed to read pods from URL: http://conf/: 500 Internal Server Error'] }, 'the pods stay');
  t.strictSame(answer(good), { sets: [], log: ['info Successfully read pods from URL'] });
  t.strictSame(answer(empty), { sets: [[]], log: ['error Failed to read pods from URL: zero-length data received from http://conf/'] });
  t.strictSame(answer(good), { sets: [['a-n']], log: ['info Successfully read pods from URL'] }, 'after an empty body the old one counts as new');
  const bad = body([1], 'bad');
  const line = "http://conf/: received 'the text', but couldn't parse as single or multiple pods (invalid pod: the document is not an object)";
  t.strictSame(answer(bad), { sets: [], log: [`error Failed to read pods from URL: ${line}`] });
  t.strictSame(answer(bad), { sets: [], log: [] }, 'a bad body is told once, and is no success');
  const list = { apiVersion: 'v1', kind: 'PodList', items: [{ metadata: { name: 'b' }, spec: { containers: [{ name: 'c', image: 'i' }] } }, { metadata: {} }] };
  t.match(answer(body(list, 'list')), { sets: [], log: ['error Failed to read pods from URL: invalid pod: name is needed for the pod'] }, 'one bad item rejects all');
  t.strictSame(answer(body({ ...list, items: list.items.slice(0, 1) }, 'better')), { sets: [['b-n']], log: ['info Successfully read pods from URL'] });
  const down: Outcome<ManifestResponse> = { ok: false, error: new PortError({ kind: 'unavailable', message: 'refused', operation: 'manifestUrl.fetch', subject: '' }).toFailure() };
  const said = Array.from({ length: 6 }, () => answer(down).log[0]?.split(':')[0]);
  t.strictSame(
    said,
    [
      'error Failed to read pods from URL',
      ...Array(2).fill(undefined),
      'error Failed to read pods from URL. Dropping verbosity of this message',
      ...Array(2).fill('debug Failed to read pods from URL'),
    ],
    'a failure that persists is logged once, and then at a lower level',
  );
});
