// Watches and large lists of an apiserver's client against a peer in this process.
import type { ServerResponse } from 'node:http';
import t from 'tap';
import { ListScanner } from '../../src/adapters/apiserver/list-scanner.js';
import type { ApiWatchEvents } from '../../src/ports/outbound/apiserver.js';
import { failureOf } from '../support/port-failures.js';
import { ApiPeer, answer, calling, endlessly, pods, speaksHttp2 } from './api-peer.js';

const all = { resource: pods, namespace: null, fieldSelector: 'spec.nodeName=n1', labelSelector: null } as const;
const request = { ...all, watch: 'pods', resourceVersion: '5', timeoutSeconds: 300 };

function line(type: string, name: string, more: object = {}): string {
  return `${JSON.stringify({ type, object: { kind: 'Pod', apiVersion: 'v1', metadata: { name, resourceVersion: '6' }, ...more } })}\n`;
}

function names(delivered: readonly ApiWatchEvents[]): string[] {
  return delivered.flatMap(({ events }) =>
    events.map((event) =>
      event.type === 'BOOKMARK' ? `BOOKMARK ${event.resourceVersion}` : `${event.type} ${event.type === 'UNUSABLE' ? event.object.problem : event.object.metadata.name}`,
    ),
  );
}

async function watched(t: Tap, handle: (response: ServerResponse) => void, timeoutMicros: number | null = null, signal?: AbortSignal) {
  const peer = await ApiPeer.open(t, (_request, response) => handle(response));
  const clients = peer.clients(t, peer.kubeconfig());
  const ended = clients.reader.watch(request, calling(timeoutMicros, signal));
  return { peer, ended, ...clients };
}
type Tap = { readonly teardown: (run: () => unknown) => unknown };

t.test('what a watch sees is delivered in order, whatever the pieces that it comes in', async (t) => {
  const text = line('ADDED', 'a', { unknown: 'é€😀' }) + line('MODIFIED', 'a') + line('BOOKMARK', '') + line('DELETED', 'a');
  const bytes = Buffer.from(text);
  for (const size of [1, 7, 64, bytes.length]) {
    const { ended, delivered, peer } = await watched(t, (response) => {
      response.writeHead(200, { 'Content-Type': 'application/json' });
      let at = 0;
      const more = (): void => {
        at += size;
        if (at - size >= bytes.length) response.end();
        else response.write(bytes.subarray(at - size, at), () => setImmediate(more));
      };
      more();
    });
    t.equal(await ended, null);
    t.same(names(delivered), ['ADDED a', 'MODIFIED a', 'BOOKMARK 6', 'DELETED a'], `in pieces of ${size}`);
    t.match(delivered[0]?.events[0], { object: { unknown: 'é€😀' } });
    t.equal(peer.requests[0]?.url, '/api/v1/pods?watch=true&allowWatchBookmarks=true&resourceVersion=5&timeoutSeconds=300&fieldSelector=spec.nodeName%3Dn1');
    t.ok(delivered.every(({ watch, type, at }) => watch === 'pods' && type === 'api-watch' && at > 0));
  }
});

t.test('a watch that is cut in the middle of a line ends, and what was whole counts', async (t) => {
  const { ended, delivered } = await watched(t, (response) => {
    response.writeHead(200).write(`${line('ADDED', 'a')}{"type":"MODIF`, () => setTimeout(() => response.destroy(), 20));
  });
  t.equal(await ended, null);
  t.same(names(delivered), ['ADDED a']);
});

t.test('garbage, and what is no event', async (t) => {
  const rows = ['<html>hello</html>\n', '{"type":"ADDED"}\n', '{"type":"OTHER","object":{"metadata":{}}}\n', '[]\n', '{"type":"ADDED","object":7}\n', 'null\n'];
  for (const garbage of rows) {
    const { ended, delivered } = await watched(t, (response) => void response.writeHead(200).write(line('ADDED', 'a') + garbage));
    t.match(
      await failureOf(ended),
      { kind: 'data-loss', message: /^unable to decode an event from the watch stream/, operation: 'apiReader.watch', subject: 'pods' },
      garbage.trim(),
    );
    t.same(names(delivered), ['ADDED a'], 'what came before it counts');
  }
});

t.test('an object that cannot be used concerns itself alone', async (t) => {
  const { ended, delivered } = await watched(t, (response) => {
    response.writeHead(200).write(line('ADDED', 'a') + line('MODIFIED', 'b', { spec: { containers: [{ name: 'c' }, { name: 5 }] } }));
    response.end(`{"type":"ADDED","object":{}}\n${line('DELETED', 'd', { spec: [] })}${line('MODIFIED', 'a')}`);
  });
  t.equal(await ended, null);
  t.same(names(delivered), [
    'ADDED a',
    'UNUSABLE spec.containers[1].name: expected a string, found a number',
    'UNUSABLE metadata.name: expected a string, found nothing',
    'UNUSABLE spec: expected an object, found a list',
    'MODIFIED a',
  ]);
  const unusable = delivered.flatMap(({ events }) => events.flatMap((event) => (event.type === 'UNUSABLE' ? [event] : [])));
  t.match(unusable, [
    { isDeleted: false, object: { apiVersion: 'v1', kind: 'Pod', name: 'b', resourceVersion: '6' } },
    { isDeleted: false, object: { name: null } },
    { isDeleted: true, object: { name: 'd' } },
  ]);
});

t.test('an endless line is not kept', async (t) => {
  const { ended } = await watched(t, (response) => {
    response.writeHead(200);
    endlessly(response, Buffer.alloc(1024 * 1024, 'a'));
  });
  t.match(await failureOf(ended), { kind: 'data-loss', message: /a line has more than/ });
});

t.test('errors: before the watch begins, and after', async (t) => {
  const status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message: 'too old resource version: 5 (9)', reason: 'Expired', code: 410 };
  const before = await watched(t, (response) => answer(response, 410, status));
  t.match(await failureOf(before.ended), { kind: 'out-of-range', message: status.message });
  const after = await watched(t, (response) => void response.writeHead(200).write(`${line('ADDED', 'a')}${JSON.stringify({ type: 'ERROR', object: status })}\n`));
  t.match(await failureOf(after.ended), { kind: 'out-of-range', message: status.message });
  t.same(names(after.delivered), ['ADDED a']);
  const internal = await watched(
    t,
    (response) => void response.writeHead(200).write(`${JSON.stringify({ type: 'ERROR', object: { kind: 'Status', message: 'etcd is away', code: 500 } })}\n`),
  );
  t.match(await failureOf(internal.ended), { kind: 'unavailable', message: 'etcd is away' });
});

t.test('a watch is cancelled', async (t) => {
  const controller = new AbortController();
  const { ended, peer } = await watched(
    t,
    (response) => void response.writeHead(200).write(line('ADDED', 'a'), () => setTimeout(() => controller.abort(), 20)),
    null,
    controller.signal,
  );
  t.equal(await ended, null);
  await new Promise<void>((resolve) => {
    const look = (): void => void (peer.open === 0 ? resolve() : setTimeout(look, 5));
    look();
  });
  t.equal(peer.sockets.size, speaksHttp2() ? 1 : 0, 'the server is told: on a connection of its own by its end');
});

t.test('a server that does not end a watch: it is ended', async (t) => {
  const peer = await ApiPeer.open(t, (_request, response) => void response.writeHead(200).write(line('ADDED', 'a')));
  const { reader } = peer.clients(t, peer.kubeconfig());
  t.equal(await reader.watch({ ...request, timeoutSeconds: -27 }, calling(null)), null);
});

t.test('watches cost no rate; over HTTP/1.1 they have connections of their own', async (t) => {
  const peer = await ApiPeer.open(t, (_request, response) => void response.writeHead(200).write('\n'));
  const { reader } = peer.clients(t, peer.kubeconfig(), { main: { perSecond: 1, burst: 1 } });
  const controllers = Array.from({ length: 60 }, () => new AbortController());
  const watches = controllers.map(({ signal }, i) => reader.watch({ ...request, watch: `w${i}` }, calling(null, signal)));
  await new Promise<void>((resolve) => {
    const look = (): void => void (peer.requests.length === 60 ? resolve() : setTimeout(look, 5));
    look();
  });
  t.equal(peer.connections, speaksHttp2() ? 1 : 60);
  for (const controller of controllers) controller.abort();
  await Promise.all(watches);
});

t.test('a list of 100 MB is read without holding up anything else', async (t) => {
  const item = `{"metadata":{"name":"a","uid":"u"},"spec":{"text":"${'x'.repeat(4000)}","quote":"\\"]}[{"}}`;
  const count = Math.ceil(100_000_000 / item.length);
  const peer = await ApiPeer.open(t, (_request, response) => {
    response.writeHead(200, { 'Content-Type': 'application/json' });
    response.write('{"kind":"PodList","apiVersion":"v1","items":[');
    let sent = 0;
    const more = (): void => {
      const items = Array.from({ length: Math.min(200, count - sent) }, () => item);
      const text = (sent === 0 ? '' : ',') + items.join(',');
      sent += items.length;
      if (sent < count) response.write(text, () => setImmediate(more));
      else response.end(`${text}],"metadata":{"resourceVersion":"9"}}`);
    };
    more();
  });
  const { reader } = peer.clients(t, peer.kubeconfig());
  const list = await reader.list({ ...all, resourceVersion: null, limit: null, continueToken: null }, calling(60_000_000));
  t.equal(list.items.length, count);
  t.equal(list.resourceVersion, '9');
  t.match(list.items.at(-1), { kind: 'Pod', apiVersion: 'v1', metadata: { name: 'a' }, spec: { quote: '"]}[{' } });
});

t.test('a list without end is refused', async (t) => {
  const peer = await ApiPeer.open(t, (_request, response) => {
    response.writeHead(200).write('{"items":[{"metadata":{"name":"');
    endlessly(response, Buffer.alloc(4 * 1024 * 1024, 'a'));
  });
  const { reader } = peer.clients(t, peer.kubeconfig());
  t.match(await failureOf(reader.list({ ...all, resourceVersion: null, limit: null, continueToken: null }, calling(60_000_000))), {
    kind: 'resource-exhausted',
    message: /has to be asked for in pages/,
  });
});

t.test('the scanner reads what JSON.parse reads', async (t) => {
  const rows: readonly (readonly [string, string])[] = [
    ['an empty list', '{"items":[]}'],
    ['null items are no list', '{"items":null,"metadata":{}}'],
    ['items first', '{"items":[{"a":1},{"b":[{"items":[1]}]}],"metadata":{"x":"y"}}'],
    ['items last, with white space', ' { "metadata" : { "items" : [1] } ,\n "items" : [ { "a" : "}]" } ,\t{ } ] } '],
    ['a value that looks like the key', '{"kind":"items","other":[{"a":1}],"items":[{"b":2}]}'],
    ['escapes', '{"i\\"tems":[1],"items":[{"a\\\\":"\\""},{"b":"\\\\"}]}'],
    ['elements that are no objects', '{"items":[1,2]}'],
    ['texts as elements', '{"items":["a"]}'],
    ['no object', '[{"items":[]}]'],
    ['cut', '{"items":[{"a":1}'],
    ['nothing', ''],
    ['nonsense within an element', '{"items":[{"a":}]}'],
    ['nonsense around', '{"items":[{"a":1}],}'],
  ];
  const notAList = new Set([
    'null items are no list',
    'elements that are no objects',
    'texts as elements',
    'no object',
    'cut',
    'nothing',
    'nonsense within an element',
    'nonsense around',
  ]);
  for (const [sentence, text] of rows) {
    for (const size of [1, 3, 1000]) {
      const scanner = new ListScanner();
      const bytes = Buffer.from(text);
      for (let at = 0; at < bytes.length; at += size) scanner.take(bytes.subarray(at, at + size));
      t.same(scanner.end(), notAList.has(sentence) ? null : JSON.parse(text), `${sentence}, in pieces of ${size}`);
    }
  }
});
