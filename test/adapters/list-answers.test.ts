// Long lists of the kubelet's port: the pieces are byte for byte the text of the whole, no piece is much longer than an item, other work has its turns
// between them, and a client that doesn't read is cut off.
import { connect } from 'node:net';
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import t from 'tap';
import {
  type KubeletAnswer,
  type KubeletRoute,
  KubeletServer,
  LoopbackHttpServer,
  podRoutes,
  podsRoutes,
  runningPodsRoute,
  statsSummaryRoute,
} from '../../src/adapters/http-server/index.js';
import { requestPolicy } from '../../src/domain/authorization/request-policy.js';
import { podList } from '../../src/ports/inbound/agent-queries.js';
import type { Pod } from '../../src/ports/model/pod.js';

t.setTimeout(120_000);

const wide = 'ünï <b>&</b>\u2028\u2029 "quoted" \\ \n';
const escaped = (text: string): string => text.replace(/[<>&\u2028\u2029]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
const podOf = (i: number, length = 300): Pod => ({
  metadata: { name: `p${i}`, namespace: 'ns', uid: `u${i}`, annotations: { text: wide.repeat(1 + (i % 5)), more: 'x'.repeat((i * 7_919) % length) } },
  spec: { containers: [{ name: 'c', image: 'i' }] },
});
const podsOf = (count: number, length = 300): readonly Pod[] => Array.from({ length: count }, (_, i) => podOf(i, length));
const question = (path: string) => ({
  method: 'GET',
  path,
  elements: path.split('/').filter((one) => one !== ''),
  query: new URLSearchParams(),
  headers: {},
  body: async () => '',
  signal: new AbortController().signal,
});

async function piecesOf(answer: KubeletAnswer | null): Promise<readonly Buffer[]> {
  if (answer === null || 'target' in answer) throw new Error('no answer');
  if (!('chunks' in answer)) return [Buffer.from(answer.body)];
  const pieces: Buffer[] = [];
  for await (const chunk of answer.chunks) pieces.push(Buffer.from(chunk));
  return pieces;
}

interface Kind {
  readonly path: string;
  readonly route: (count: number, length?: number) => KubeletRoute;
  readonly whole: (count: number, length?: number) => string;
}

const running = (count: number) => Array.from({ length: count }, (_, i) => ({ uid: `u${i}`, name: `p${i}`, namespace: wide, containers: [{ name: 'c', image: 'i' }] }));
const runningItems = (count: number) =>
  running(count).map(({ uid, name, namespace, containers }) => ({
    metadata: { name, namespace, uid },
    spec: { containers: containers.map((one) => ({ ...one, resources: {} })) },
    status: {},
  }));

const kinds: readonly Kind[] = [
  {
    path: '/pods',
    route: (count, length) => podRoutes({ pods: () => podList(podsOf(count, length)) })[0] as KubeletRoute,
    whole: (count, length) => `${escaped(JSON.stringify(podList(podsOf(count, length))))}\n`,
  },
  {
    path: '/runningpods/',
    route: (count) => runningPodsRoute(async () => running(count)),
    whole: (count) => `${escaped(JSON.stringify({ kind: 'PodList', apiVersion: 'v1', metadata: {}, items: count === 0 ? null : runningItems(count) }))}\n`,
  },
  {
    path: '/stats/summary',
    route: (count, length) => statsSummaryRoute(async () => ({ ok: true, value: { node: { nodeName: wide, more: [{}] }, pods: podsOf(count, length) } })),
    whole: (count, length) => escaped(JSON.stringify({ node: { nodeName: wide, more: [{}] }, pods: podsOf(count, length) }, null, 1)),
  },
];

for (const { path, route, whole } of kinds) {
  t.test(`${path} in pieces`, async (t) => {
    for (const count of [0, 1, 2, 7, 8, 9, 10, 31, 250, 1_000]) {
      const pieces = await piecesOf(await route(count).answer(question(path)));
      t.equal(Buffer.concat(pieces).toString(), whole(count), `${count} items: byte for byte`);
      const longest = Math.max(...pieces.map(({ length }) => length));
      t.ok(longest < 64 * 1024, `${count} items: the longest of ${pieces.length} pieces has ${longest} bytes`);
    }
  });
}

for (const { path, route } of kinds.filter(({ path }) => path !== '/runningpods/')) {
  t.test(`other work has its turns while ${path} is written`, async (t) => {
    const answer = await route(2_000, 60_000).answer(question(path));
    let turns = 0;
    let isOver = false;
    const others = (async () => {
      while (!isOver) {
        await nextTurn();
        turns++;
      }
    })();
    const bytes = (await piecesOf(answer)).reduce((sum, { length }) => sum + length, 0);
    isOver = true;
    await others;
    t.ok(bytes > 50_000_000, `${bytes} bytes`);
    t.ok(turns > 10, `${turns} turns of the loop meanwhile`);
  });
}

t.test('through both servers, and to a client that does not read', async (t) => {
  const server = await KubeletServer.listen({
    address: '127.0.0.1',
    port: 0,
    policy: requestPolicy('n'),
    routes: podRoutes({ pods: () => podList(podsOf(3_000, 20_000)) }),
    tls: null,
    access: null,
    limits: { unreadMillis: 300 },
    onError: (error) => t.fail(String(error)),
  });
  const loopback = await LoopbackHttpServer.listen({
    address: '127.0.0.1',
    port: 0,
    routes: podsRoutes({ pods: () => podList(podsOf(300)) }),
    onError: (error) => t.fail(String(error)),
  });
  t.teardown(() => Promise.all([server.close(0), loopback.close(0)]));
  const answer = await fetch(`http://127.0.0.1:${loopback.port}/pods`);
  t.equal(answer.headers.get('content-type'), 'application/json');
  t.equal(await answer.text(), `${escaped(JSON.stringify(podList(podsOf(300))))}\n`);
  t.equal(
    (await (await fetch(`http://127.0.0.1:${server.port}/pods`, { headers: { Connection: 'close' } })).text()).length,
    `${escaped(JSON.stringify(podList(podsOf(3_000, 20_000))))}\n`.length,
  );
  const client = connect(server.port, '127.0.0.1');
  client.on('error', () => {});
  client.pause();
  client.write('GET /pods HTTP/1.1\r\nHost: x\r\n\r\n');
  const isGone = async (): Promise<boolean> => (await server.connections()) === 0;
  for (let i = 0; i < 1_200 && !(await isGone()); i++) await delay(50);
  t.ok(await isGone(), 'its connection is closed');
  client.destroy();
});
