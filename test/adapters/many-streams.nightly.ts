// Two thousand streams through the kubelet's port at once, over TLS, idle and busy, three times over: what each costs stays the same, and
// nothing is left of them.
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import t from 'tap';
import { backend, bearer, execTo, serve, upgrade } from './kubelet-server-peer.js';

t.setTimeout(1_800_000);

const streams = 2_000;
/** Of both ends and the one in the middle, which are all in this process. */
const kibPerStreamMax = 400;

t.test(`${streams} streams, three times`, { timeout: 1_700_000 }, async (t) => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const { url, sockets, seen } = await backend(t);
  const { server } = await serve(t, { routes: execTo(url), owners: { secret: 'jane' } });
  const heaps: number[] = [];
  for (let round = 0; round < 3; round++) {
    collect();
    const before = process.memoryUsage().rss;
    const opened: NonNullable<Awaited<ReturnType<typeof upgrade>>['socket']>[] = [];
    for (let i = 0; i < streams; i += 50) {
      const some = await Promise.all(Array.from({ length: 50 }, () => upgrade(server.port, '/exec/ns/p/c', bearer('secret'))));
      for (const { socket } of some) if (socket !== null) opened.push(socket);
    }
    t.equal(opened.length, streams, 'all are there');
    t.equal(await server.connections(), streams);
    const kibPerStream = (process.memoryUsage().rss - before) / 1024 / streams;
    t.ok(kibPerStream < kibPerStreamMax, `${Math.round(kibPerStream)} KiB a stream`);
    await Promise.all(
      opened.map(async (socket, i) => {
        const word = `word ${i}`;
        let got = '';
        socket.on('data', (chunk: Buffer) => {
          got += chunk.toString();
        });
        socket.write(word);
        while (!got.endsWith(word)) await once(socket, 'data');
      }),
    );
    t.pass('each gets its own answer');
    for (const [i, socket] of opened.entries()) {
      if (i % 2 === 0) socket.end();
      else socket.destroy();
    }
    for (let tries = 0; tries < 600 && (sockets.size > 0 || (await server.connections()) > 0); tries++) await delay(50);
    t.strictSame([sockets.size, await server.connections()], [0, 0], 'none is left');
    await delay(1_000);
    seen.length = 0;
    collect();
    heaps.push(process.memoryUsage().heapUsed);
  }
  const growth = (heaps[2] ?? 0) - (heaps[1] ?? 0);
  t.ok(growth < 1024 * 1024, `the heap grew by ${growth} bytes from the second time to the third`);
});
