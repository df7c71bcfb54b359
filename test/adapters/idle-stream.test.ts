// An upgraded connection without traffic ends after streamingConnectionIdleTimeout, and no other does.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { connect as connectTls, createServer as createTlsServer } from 'node:tls';
import t from 'tap';
import { type CountedStream, endWhenIdle } from '../../src/adapters/http-server/idle-stream.js';
import { KubeletServer } from '../../src/adapters/http-server/index.js';
import { requestPolicy } from '../../src/domain/authorization/request-policy.js';
import { serving } from './kubelet-server-peer.js';

t.setTimeout(60_000);

/** Manually advanced time. */
function virtualTime() {
  const waiting = new Map<number, { readonly at: number; readonly callback: () => void }>();
  let [now, next] = [0, 1];
  return {
    waiting,
    timers: {
      set(callback: () => void, millis: number) {
        waiting.set(next, { at: now + millis, callback });
        return next++;
      },
      clear: (timer: unknown) => void waiting.delete(timer as number),
    },
    advance(millis: number) {
      const end = now + millis;
      for (;;) {
        const due = [...waiting].filter(([, { at }]) => at <= end).sort(([, a], [, b]) => a.at - b.at)[0];
        if (due === undefined) break;
        now = due[1].at;
        waiting.delete(due[0]);
        due[1].callback();
      }
      now = end;
    },
  };
}

function fakeStream(bytesWritten = 0) {
  const closed: (() => void)[] = [];
  const stream = {
    bytesRead: 0,
    bytesWritten,
    writableLength: 0,
    destroyed: 0,
    destroy() {
      stream.destroyed++;
      for (const callback of closed) callback();
    },
    once: (_event: string, callback: () => void) => closed.push(callback),
  };
  return { stream, counted: stream as unknown as CountedStream };
}

const hour = 3_600_000;

/** What happens at which minute; `'read'` and `'written'` are bytes of that direction. */
const rows: readonly (readonly [
  sentence: string,
  idleMillis: number,
  happens: readonly (readonly [minute: number, what: 'read' | 'written'])[],
  endedBetween: readonly [number, number] | null,
])[] = [
  ['a stream that was answered and is silent ends after four hours', 4 * hour, [[0, 'written']], [240, 300]],
  [
    'bytes of the client count',
    4 * hour,
    [
      [0, 'written'],
      [200, 'read'],
    ],
    [440, 500],
  ],
  [
    'bytes of the runtime count',
    4 * hour,
    [
      [0, 'written'],
      [200, 'written'],
      [430, 'written'],
    ],
    [670, 730],
  ],
  [
    'one byte just before the end is enough',
    4 * hour,
    [
      [0, 'written'],
      [239, 'read'],
    ],
    [479, 540],
  ],
  ['what was never answered is not judged: dialing and answering have limits of their own', 4 * hour, [[10, 'read']], null],
  ['0 is for ever', 0, [[0, 'written']], null],
];

for (const [sentence, idleMillis, happens, endedBetween] of rows) {
  t.test(sentence, async (t) => {
    const time = virtualTime();
    const { stream, counted } = fakeStream();
    let told = 0;
    endWhenIdle(counted, idleMillis, () => told++, time.timers);
    let endedAt: number | null = null;
    for (let minute = 0; minute < 1_000 && endedAt === null; minute++) {
      for (const [, what] of happens.filter(([at]) => at === minute)) stream[what === 'read' ? 'bytesRead' : 'bytesWritten'] += 1;
      time.advance(60_000);
      if (stream.destroyed > 0) endedAt = minute + 1;
    }
    if (endedBetween === null) t.equal(endedAt, null);
    else t.ok(endedAt !== null && endedAt >= endedBetween[0] && endedAt <= endedBetween[1], `ended at minute ${endedAt}`);
    t.equal(stream.destroyed, endedBetween === null ? 0 : 1);
    t.equal(told, stream.destroyed);
    stream.destroy();
    t.equal(time.waiting.size, 0, 'no timer outlives the connection');
  });
}

t.test('answers before the upgrade on the same connection are none of the stream', async (t) => {
  const time = virtualTime();
  const { stream, counted } = fakeStream(500);
  endWhenIdle(counted, 1_000, () => {}, time.timers);
  time.advance(100_000);
  t.equal(stream.destroyed, 0);
  stream.bytesWritten += 100;
  time.advance(2_000);
  t.equal(stream.destroyed, 1);
});

t.test('a period that no timer can hold is looked at in parts', async (t) => {
  const time = virtualTime();
  const { stream, counted } = fakeStream();
  endWhenIdle(counted, 2 ** 36, () => {}, time.timers);
  stream.bytesWritten = 1;
  t.ok([...time.waiting.values()].every(({ at }) => at < 2 ** 31));
  time.advance(2 ** 36);
  t.equal(stream.destroyed, 0);
  time.advance(2 ** 33);
  t.equal(stream.destroyed, 1);
});

for (const kind of ['plain', 'TLS'] as const) {
  t.test(`what a ${kind} connection carries is seen in both directions`, async (t) => {
    const server = kind === 'TLS' ? createTlsServer(serving) : createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const accepted = once(server, kind === 'TLS' ? 'secureConnection' : 'connection') as Promise<[Socket]>;
    const to = { host: '127.0.0.1', port: (server.address() as AddressInfo).port };
    const far = kind === 'TLS' ? connectTls({ ...to, rejectUnauthorized: false }) : connect(to);
    const [near] = await accepted;
    t.teardown(() => {
      far.destroy();
      near.destroy();
      server.close();
    });
    const time = virtualTime();
    endWhenIdle(near, 800, () => {}, time.timers);
    const moved = async (from: Socket, to: Socket): Promise<void> => {
      const come = once(to, 'data');
      from.write('x');
      await come;
    };
    await moved(near, far);
    time.advance(700);
    for (let i = 0; i < 20; i++) {
      await (i % 2 === 0 ? moved(near, far) : moved(far, near));
      time.advance(700);
      t.equal(near.destroyed, false);
    }
    time.advance(300);
    t.equal(near.destroyed, true);
  });
}

t.test('a silent stream through the port ends on both sides, and is told once; without a limit it stays', async (t) => {
  const backends = new Set<Socket>();
  const runtime = createServer((socket) => {
    backends.add(socket);
    socket.once('close', () => backends.delete(socket));
    socket.once('data', () => socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: SPDY/3.1\r\nConnection: Upgrade\r\n\r\n'));
  });
  await new Promise<void>((resolve) => runtime.listen(0, '127.0.0.1', resolve));
  const target = new URL(`http://127.0.0.1:${(runtime.address() as AddressInfo).port}/exec/token`);
  const told: string[] = [];
  const common = {
    ...{ address: '127.0.0.1', port: 0, policy: requestPolicy('n'), tls: null, access: null, onError: (error: unknown) => told.push(String(error)) },
    routes: [{ pattern: '/exec/', methods: ['GET', 'POST'], produces: null, answer: () => ({ kind: 'proxy' as const, target }) }],
  };
  const short = await KubeletServer.listen({ ...common, streamIdleMillis: 40, onIdleStream: (path) => told.push(path) });
  const endless = await KubeletServer.listen({ ...common, streamIdleMillis: 0, onIdleStream: (path) => told.push(path) });
  const opened = async ({ port }: KubeletServer): Promise<Socket> => {
    const socket = connect({ host: '127.0.0.1', port });
    socket.write('POST /exec/ns/p/c?command=sh HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n');
    const [answer] = (await once(socket, 'data')) as [Buffer];
    t.match(answer.toString(), /^HTTP\/1\.1 101/);
    return socket;
  };
  t.teardown(async () => {
    await Promise.all([short.close(0), endless.close(0)]);
    runtime.close();
  });
  const stays = await opened(endless);
  const [backend] = backends;
  t.ok(backend);
  const silent = await opened(short);
  const gone = once([...backends].find((one) => one !== backend) as Socket, 'close');
  await Promise.all([once(silent, 'close'), gone]);
  t.strictSame(told, ['/exec/ns/p/c']);
  t.equal(stays.destroyed, false);
  stays.destroy();
});
