// A connection to the runtime's streaming server that reads into one piece of memory of its own. Bytes that go from one socket to another by way of
// Node's streams cost a new buffer each read, which is a third of all processor time of a proxy (bench/port-forward.ts).
// Invariant: nothing is read while nobody takes it, and whoever takes a chunk has done with it before the next one is read.
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';

/** How a target that wants TLS is spoken to. */
export interface DialOptions {
  readonly key?: string;
  readonly cert?: string;
  readonly rejectUnauthorized?: boolean;
}

/** Takes bytes that the next read may overwrite. False: not the next one before the socket is resumed. */
export type TakeBytes = (chunk: Buffer) => boolean;

const readBytes = 64 * 1024;

export class BackendConnection {
  readonly socket: Socket;
  private take: TakeBytes | null = null;
  /** What came while nobody took anything. */
  private held: Buffer | null = null;

  constructor(target: URL, tls: DialOptions) {
    const host = target.hostname.replace(/^\[|\]$/g, '');
    const secure = target.protocol === 'https:';
    const port = Number(target.port || (secure ? 443 : 80));
    if (!secure) {
      const callback = (count: number, { buffer, byteOffset }: Uint8Array): boolean => this.read(Buffer.from(buffer, byteOffset, count));
      this.socket = connectTcp({ host, port, onread: { buffer: Buffer.allocUnsafeSlow(readBytes), callback } });
      return;
    }
    // All records that have come are handed out at once, whatever is said of further ones: each needs memory of its own.
    const names = isIP(host) === 0 ? { servername: host } : {};
    this.socket = connectTls({ ...tls, host, port, ALPNProtocols: ['http/1.1'], ...names });
    this.socket.on('data', (chunk: Buffer) => {
      if (!this.read(chunk)) this.socket.pause();
    });
  }

  /** From now on, and with what was held, until `hold`. */
  receive(take: TakeBytes): void {
    this.take = take;
    const { held } = this;
    this.held = null;
    if (held === null || take(held)) this.socket.resume();
  }

  hold(): void {
    this.take = null;
    this.socket.pause();
  }

  private read(chunk: Buffer): boolean {
    if (this.take !== null) return this.take(chunk);
    this.held = this.held === null ? Buffer.from(chunk) : Buffer.concat([this.held, chunk]);
    return false;
  }
}

/** @throws what the connection or its handshake failed with, or that it took longer than `dialMillis` */
export function dialBackend(target: URL, tls: DialOptions, dialMillis: number): Promise<BackendConnection> {
  const connection = new BackendConnection(target, tls);
  const { socket } = connection;
  return new Promise((resolve, reject) => {
    const limit = setTimeout(() => socket.destroy(new Error('it took too long')), dialMillis);
    socket.once(target.protocol === 'https:' ? 'secureConnect' : 'connect', () => {
      clearTimeout(limit);
      resolve(connection);
    });
    socket.once('error', (error) => {
      clearTimeout(limit);
      reject(error);
    });
  });
}
