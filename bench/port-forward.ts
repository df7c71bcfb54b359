// The cost of a stream through the kubelet's port: bytes a second from the runtime to the client and back, over TLS with an upgrade as in
// port-forward, against the same bytes through a plain TCP proxy, and through one that terminates TLS. Each proxy and the runtime are processes of their own;
// the client, with its end of TLS, is here. Prints a line of JSON for each direction: ratios of the measured bytes a second, and of
// bytes per second of the proxy's processor time, which counts with enough cores for the others.
import { type ChildProcess, fork } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { connect as connectTls, createServer as createTlsServer } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { issueCertificate } from '../src/adapters/certificates/index.js';
import { KubeletServer } from '../src/adapters/http-server/index.js';
import { requestPolicy } from '../src/domain/authorization/request-policy.js';

const bytesEach = 512 * 1024 * 1024;
const rounds = 3;
const block = Buffer.alloc(64 * 1024, 'x');
const switching = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: SPDY/3.1\r\nConnection: Upgrade\r\n\r\n';
type Kind = 'kubelet' | 'tls' | 'plain';
type Direction = 'download' | 'upload';

function servingPair() {
  const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const subject = { commonName: 'bench', organizations: [] };
  const times = { notBeforeMillis: Date.now() - 3_600_000, notAfterMillis: Date.now() + 3_600_000 };
  const contents = { ...subject, dnsNames: ['localhost'], ipAddresses: ['127.0.0.1'], ...times, publicKey: keys.publicKey, isAuthority: false, purposes: ['server' as const] };
  return { certificatePem: issueCertificate(contents, { ...subject, privateKey: keys.privateKey }), keyPem: keys.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() };
}

/** A proxy in a process of its own: sends its port, and its processor time on request. */
async function beProxy(kind: Kind, targetPort: number): Promise<void> {
  const pair = servingPair();
  const passOn = (socket: Socket): void => {
    const other = connect(targetPort, '127.0.0.1');
    for (const one of [socket, other]) one.on('error', () => socket.destroy() && other.destroy());
    socket.pipe(other);
    other.pipe(socket);
  };
  let port: number;
  if (kind === 'kubelet') {
    const target = new URL(`http://127.0.0.1:${targetPort}/portforward/token`);
    const routes = [{ pattern: '/portForward/', methods: ['POST'], produces: null, answer: () => ({ kind: 'proxy' as const, target }) }];
    const tls = { pair, clientCertificates: null, minVersion: 'TLSv1.2' as const, ciphers: [], groups: [] };
    port = (await KubeletServer.listen({ address: '127.0.0.1', port: 0, policy: requestPolicy('n'), routes, tls, access: null, onError: console.error })).port;
  } else {
    const server: Server = kind === 'plain' ? createServer(passOn) : createTlsServer({ cert: pair.certificatePem, key: pair.keyPem }, passOn);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    port = (server.address() as AddressInfo).port;
  }
  process.on('message', () => process.send?.({ cpu: process.cpuUsage(), rss: process.memoryUsage().rss }));
  process.on('disconnect', () => process.exit(0));
  process.send?.({ port });
}

/** Sends what it is asked for, or takes it and says when it has all. Speaks first as the proxy's kind wants it. */
function runtimeSide(): Server {
  return createServer((socket) => {
    socket.on('error', () => socket.destroy());
    let head = '';
    const begin = (chunk: Buffer): void => {
      head += chunk.toString('latin1');
      const order = /(download|upload)!/.exec(head)?.[1];
      if (head.includes('Upgrade:') && !head.includes('answered')) {
        if (!head.includes('\r\n\r\n')) return;
        head += 'answered';
        socket.write(switching);
      }
      if (order === undefined) return;
      socket.off('data', begin);
      if (order === 'download') flood(socket, bytesEach);
      else {
        count(socket, bytesEach, () => socket.write('!'));
        socket.write('.');
      }
    };
    socket.on('data', begin);
  });
}

async function beRuntime(): Promise<void> {
  const server = runtimeSide().listen(0, '127.0.0.1');
  await once(server, 'listening');
  process.on('disconnect', () => process.exit(0));
  process.send?.({ port: (server.address() as AddressInfo).port });
}

function flood(socket: Socket, bytes: number): void {
  let left = bytes;
  const more = (): void => {
    while (left > 0) {
      const part = left >= block.length ? block : block.subarray(0, left);
      left -= part.length;
      if (!socket.write(part)) {
        socket.once('drain', more);
        return;
      }
    }
  };
  more();
}

function count(socket: Socket, bytes: number, done: () => void): void {
  let left = bytes;
  const take = (chunk: Buffer): void => {
    left -= chunk.length;
    if (left > 0) return;
    socket.off('data', take);
    done();
  };
  socket.on('data', take);
}

async function opened(kind: Kind, port: number): Promise<Socket> {
  if (kind === 'plain') {
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    return socket;
  }
  const socket = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false });
  await once(socket, 'secureConnect');
  if (kind === 'kubelet') {
    socket.write('POST /portForward/ns/p HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n');
    await once(socket, 'data');
  }
  return socket;
}

async function seconds(kind: Kind, direction: Direction, port: number): Promise<number> {
  const socket = await opened(kind, port);
  const began = performance.now();
  socket.write(`${direction}!`);
  if (direction === 'download') await new Promise<void>((resolve) => count(socket, bytesEach, resolve));
  else {
    // Asked to begin.
    await once(socket, 'data');
    flood(socket, bytesEach);
    await once(socket, 'data');
  }
  const took = (performance.now() - began) / 1_000;
  socket.destroy();
  return took;
}

async function usage(child: ChildProcess): Promise<{ readonly cpuSeconds: number; readonly rssMiB: number }> {
  child.send({});
  const [{ cpu, rss }] = (await once(child, 'message')) as [{ cpu: NodeJS.CpuUsage; rss: number }];
  return { cpuSeconds: (cpu.user + cpu.system) / 1e6, rssMiB: rss / 1024 / 1024 };
}

interface Figures {
  readonly mibPerSecond: number;
  readonly cpuSecondsPerGib: number;
  readonly rssMiB: number;
}

async function figures(kind: Kind, direction: Direction, targetPort: number): Promise<Figures> {
  const child = fork(fileURLToPath(import.meta.url), [kind, String(targetPort)]);
  const [{ port }] = (await once(child, 'message')) as [{ port: number }];
  await seconds(kind, direction, port);
  const before = await usage(child);
  const took: number[] = [];
  for (let i = 0; i < rounds; i++) took.push(await seconds(kind, direction, port));
  const after = await usage(child);
  child.disconnect();
  const best = Math.min(...took);
  const gib = (rounds * bytesEach) / 1024 ** 3;
  return { mibPerSecond: bytesEach / 1024 / 1024 / best, cpuSecondsPerGib: (after.cpuSeconds - before.cpuSeconds) / gib, rssMiB: after.rssMiB };
}

const rounded = (value: number): number => Math.round(value * 100) / 100;
const roundedAll = ({ mibPerSecond, cpuSecondsPerGib, rssMiB }: Figures) => ({
  mibPerSecond: Math.round(mibPerSecond),
  cpuSecondsPerGib: rounded(cpuSecondsPerGib),
  rssMiB: Math.round(rssMiB),
});

async function main(): Promise<void> {
  const runtime = fork(fileURLToPath(import.meta.url), ['runtime', '0']);
  const [{ port }] = (await once(runtime, 'message')) as [{ port: number }];
  for (const direction of ['download', 'upload'] as const) {
    const kubelet = await figures('kubelet', direction, port);
    const tls = await figures('tls', direction, port);
    const plain = await figures('plain', direction, port);
    const byProcessor = rounded(plain.cpuSecondsPerGib / kubelet.cpuSecondsPerGib);
    const ratios = { ofPlain: rounded(kubelet.mibPerSecond / plain.mibPerSecond), ofPlainByProcessor: byProcessor, ofTls: rounded(kubelet.mibPerSecond / tls.mibPerSecond) };
    const shown = { kubelet: roundedAll(kubelet), tlsProxy: roundedAll(tls), plainProxy: roundedAll(plain) };
    process.stdout.write(`${JSON.stringify({ bench: 'port-forward', direction, mib: bytesEach / 1024 / 1024, ...ratios, ...shown })}\n`);
  }
  runtime.disconnect();
}

const [, , kind, targetPort] = process.argv;
if (targetPort === undefined) await main();
else if (kind === 'runtime') await beRuntime();
else await beProxy(kind as Kind, Number(targetPort));
