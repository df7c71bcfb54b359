// A message bus for tests, in this process: accepts clients, names them, routes calls to services and signals to all.
// A client that doesn't say Hello speaks to the services directly, as on systemd's private socket.
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';
import { type DbusMessage, type DbusValue, decodeMessage, encodeMessage } from '../../src/adapters/systemd/index.js';

/** What a service answers with; null: never. */
export type FakeAnswer = { readonly signature?: string; readonly body?: readonly DbusValue[] } | { readonly error: string; readonly message: string } | null;
export type FakeService = (call: DbusMessage, bus: FakeBus) => FakeAnswer | Promise<FakeAnswer>;

export class FakeBus {
  readonly socketPath: string;
  /** Rules that clients asked for. */
  readonly rules: string[] = [];
  readonly services = new Map<string, FakeService>();
  /** How clients are answered that want in. */
  letsIn = true;
  connections = 0;
  private readonly sockets = new Set<Socket>();
  private server: Server | null = null;
  private serial = 0;
  private readonly directory = mkdtempSync(join(tmpdir(), 'fake-bus-'));

  private constructor() {
    this.socketPath = join(this.directory, 'bus');
  }

  static async open(t: Test): Promise<FakeBus> {
    const bus = new FakeBus();
    t.teardown(async () => {
      await bus.stop();
      rmSync(bus.directory, { recursive: true });
    });
    await bus.start();
    return bus;
  }

  get address(): string {
    return `unix:path=${this.socketPath}`;
  }

  start(): Promise<void> {
    this.server = createServer((socket) => this.serve(socket));
    return new Promise((resolve) => this.server?.listen(this.socketPath, resolve));
  }

  /** Its clients lose their connections; later ones are refused until it is started again. */
  stop(): Promise<void> {
    const { server } = this;
    this.server = null;
    this.drop();
    return new Promise((resolve) => (server === null ? resolve() : server.close(() => resolve())));
  }

  drop(): void {
    for (const socket of this.sockets) socket.destroy();
  }

  signal(path: string, of: string, member: string, signature: string, body: readonly DbusValue[]): void {
    const bytes = encodeMessage({ kind: 'signal', serial: ++this.serial, sender: ':1.0', path, interface: of, member, signature, body });
    for (const socket of this.sockets) socket.write(bytes);
  }

  /** Sends arbitrary bytes to all. */
  raw(bytes: Uint8Array): void {
    for (const socket of this.sockets) socket.write(bytes);
  }

  private serve(socket: Socket): void {
    this.connections++;
    this.sockets.add(socket);
    socket.on('close', () => this.sockets.delete(socket));
    socket.on('error', () => {});
    let received: Buffer = Buffer.alloc(0);
    let speaking = false;
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      while (!speaking) {
        const end = received.indexOf('\r\n');
        if (end < 0) return;
        const line = received.toString('latin1', 0, end);
        received = received.subarray(end + 2);
        speaking = line === 'BEGIN';
        const answer = this.said(line);
        if (answer !== null) socket.write(`${answer}\r\n`);
      }
      for (let next = decodeMessage(received); next !== null; next = decodeMessage(received)) {
        received = received.subarray(next.length);
        void this.answer(socket, next.message);
      }
    });
  }

  /** Who we are may come with the mechanism or, as from systemd's own library, after it. */
  private said(line: string): string | null {
    if (/^\0?AUTH EXTERNAL$/.test(line)) return 'DATA';
    if (/^(\0?AUTH EXTERNAL [0-9a-f]+|DATA)$/.test(line)) return this.letsIn ? 'OK 0123456789abcdef0123456789abcdef' : 'REJECTED EXTERNAL';
    return line === 'NEGOTIATE_UNIX_FD' ? 'AGREE_UNIX_FD' : null;
  }

  private async answer(socket: Socket, call: DbusMessage): Promise<void> {
    if (call.kind !== 'call') return;
    const found = call.destination === 'org.freedesktop.DBus' ? this.ofBus(call) : await this.ofService(call);
    if (found === null) return;
    const reply = { serial: ++this.serial, replySerial: call.serial, sender: call.destination ?? ':1.0' };
    if ('error' in found) socket.write(encodeMessage({ ...reply, kind: 'error', errorName: found.error, signature: 's', body: [found.message] }));
    else socket.write(encodeMessage({ ...reply, kind: 'reply', signature: found.signature ?? '', body: found.body ?? [] }));
  }

  private ofBus(call: DbusMessage): FakeAnswer {
    if (call.member === 'Hello') return { signature: 's', body: [`:1.${this.connections}`] };
    if (call.member === 'AddMatch') this.rules.push(String(call.body[0]));
    return {};
  }

  private ofService(call: DbusMessage): FakeAnswer | Promise<FakeAnswer> {
    const service = call.destination === null ? serviceAt(this.services, call.path ?? '') : this.services.get(call.destination);
    if (service === undefined) return { error: 'org.freedesktop.DBus.Error.ServiceUnknown', message: `The name ${call.destination} was not provided by any .service files` };
    return service(call, this);
  }
}

/** `/org/freedesktop/systemd1` is of `org.freedesktop.systemd1`. */
function serviceAt(services: ReadonlyMap<string, FakeService>, path: string): FakeService | undefined {
  return [...services].find(([name]) => path.startsWith(`/${name.replaceAll('.', '/')}`))?.[1];
}
