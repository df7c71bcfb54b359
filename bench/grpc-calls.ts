// A client's cost of a unary call: src/adapters/grpc against @grpc/grpc-js, to a server in another process, so that only the client's
// CPU is counted. Prints one line of JSON. `hot` is many calls at once; `paced` one at a time with a pause, as a kubelet makes them.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client, credentials, Metadata, Server, ServerCredentials } from '@grpc/grpc-js';
import { GrpcChannel } from '../src/adapters/grpc/index.js';

const path = '/bench.Service/Method';
const request = Buffer.alloc(600, 2);
const answer = Buffer.alloc(300, 1);
const same = (bytes: Buffer): Buffer => bytes;
const deadlineMillis = 120_000;

type Ask = () => Promise<Buffer>;

function serve(socket: string): void {
  const server = new Server();
  const method = {
    path,
    requestStream: false,
    responseStream: false,
    requestSerialize: same,
    requestDeserialize: same,
    responseSerialize: same,
    responseDeserialize: same,
  } as const;
  server.addService({ method }, { method: (_call: unknown, reply: (error: null, bytes: Buffer) => void) => reply(null, answer) });
  server.bindAsync(`unix:${socket}`, ServerCredentials.createInsecure(), () => process.send?.('up'));
  process.once('disconnect', () => process.exit(0));
}

function ours(socket: string): Ask {
  const channel = new GrpcChannel({ dial: () => connect(socket), dialProblem: String, authority: 'localhost', userAgent: 'bench', messageBytesMax: 1 << 24 });
  return () => new Promise((resolve, reject) => void channel.unary(path, request, deadlineMillis, (failure, bytes) => (failure === null ? resolve(bytes) : reject(failure))));
}

function library(socket: string): Ask {
  const options = { 'grpc.default_authority': 'localhost', 'grpc.enable_retries': 0, 'grpc.service_config_disable_resolution': 1, 'grpc.enable_channelz': 0 };
  const client = new Client(`unix:${socket}`, credentials.createInsecure(), options);
  return () =>
    new Promise((resolve, reject) => {
      client.makeUnaryRequest(path, same, same, request, new Metadata(), { deadline: Date.now() + deadlineMillis }, (error, bytes) =>
        error === null ? resolve(bytes as Buffer) : reject(error),
      );
    });
}

/** Microseconds of CPU a call. */
async function cost(ask: Ask, calls: number, atOnce: number, pauseMillis: number): Promise<number> {
  const before = process.cpuUsage();
  let left = calls;
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (left-- > 0) {
        await ask();
        if (pauseMillis > 0) await new Promise((resolve) => setTimeout(resolve, pauseMillis));
      }
    }),
  );
  const { user, system } = process.cpuUsage(before);
  return (user + system) / calls;
}

async function measure(): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'bench-grpc-'));
  const socket = join(directory, 's.sock');
  const server: ChildProcess = fork(fileURLToPath(import.meta.url), [socket]);
  try {
    await once(server, 'message');
    const clients = { ours: ours(socket), library: library(socket) };
    const rounds: Record<string, number[]> = { 'hot/ours': [], 'hot/library': [], 'paced/ours': [], 'paced/library': [] };
    for (const ask of Object.values(clients)) await cost(ask, 2_000, 8, 0);
    for (let round = 0; round < 5; round++) {
      for (const [name, ask] of Object.entries(clients)) {
        rounds[`hot/${name}`]?.push(await cost(ask, 2_000, 8, 0));
        rounds[`paced/${name}`]?.push(await cost(ask, 200, 1, 3));
      }
    }
    const median = (name: string): number => [...(rounds[name] ?? [])].sort((a, b) => a - b)[2] ?? 0;
    const figures = Object.fromEntries(
      ['hot', 'paced'].map((kind) => {
        const [own, other] = [median(`${kind}/ours`), median(`${kind}/library`)];
        return [kind, { oursCpuMicros: Math.round(own), libraryCpuMicros: Math.round(other), ratio: Math.round((100 * other) / own) / 100 }];
      }),
    );
    console.log(JSON.stringify({ bench: 'grpc-calls', ...figures }));
  } finally {
    server.disconnect();
    rmSync(directory, { recursive: true, force: true });
  }
}

const [, , socketOfServer] = process.argv;
if (process.send !== undefined && socketOfServer !== undefined) serve(socketOfServer);
else {
  await measure();
  process.exit(0);
}
