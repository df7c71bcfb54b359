// A connection to the runtime's streaming server that reads into one buffer of its own. Piping sockets through
// Node's streams allocates a buffer per read, which is a third of all processor time of a proxy (bench/port-forward.ts).
//
// While output is in flight the server may have closed already, and a write would make the kernel drop the unread output. So writes wait for a gate
// (streaming/write-gate).
// Invariants: reads only while a consumer takes the data, and the consumer is done with a chunk before the next read; writes keep their order.
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { WriteGate } from '../streaming/index.js';

/** How a target that wants TLS is spoken to. */
export interface DialOptions {
  readonly key?: string;
  readonly cert?: string;
  readonly rejectUnauthorized?: boolean;
}

/** Takes bytes that the next read may overwrite. False: not the next one before `resume`. */
export type TakeBytes = (chunk: Buffer) => boolean;

const readBytes = 64 * 1024;

export class BackendConnection {
  readonly socket: Socket;
  private take: TakeBytes | null = null;
  /** Bytes that arrived without a consumer. */
  private held: Buffer | null = null;
  private readonly gate: WriteGate;
  private readonly waiting: { readonly bytes: Uint8Array; readonly done: () => void }[] = [];
  private isEnding = false;

  constructor(target: URL, tls: DialOptions) {
    const host = target.hostname.replace(/^\[|\]$/g, '');
    const secure = target.protocol === 'https:';
    const port = Number(target.port || (secure ? 443 : 80));
    // The end of the server's output is no reason to drop the client's input.
    const common = { host, port, allowHalfOpen: true };
    if (secure) {
      // All received records are emitted at once, even after a pause: each needs a buffer of its own.
      const names = isIP(host) === 0 ? { servername: host } : {};
      this.socket = connectTls({ ...tls, ...common, ALPNProtocols: ['http/1.1'], ...names });
      this.socket.on('data', (chunk: Buffer) => {
        if (!this.read(chunk)) this.socket.pause();
      });
    } else {
      const callback = (count: number, { buffer, byteOffset }: Uint8Array): boolean => this.read(Buffer.from(buffer, byteOffset, count));
      this.socket = connectTcp({ ...common, onread: { buffer: Buffer.allocUnsafeSlow(readBytes), callback } });
    }
    this.gate = new WriteGate(this.socket, () => this.flush());
  }

  /** Receives data from now on, beginning with held data, until `hold`. */
  receive(take: TakeBytes): void {
    this.take = take;
    const { held } = this;
    this.held = null;
    if (held === null || take(held)) this.resume();
    else this.gate.isHeldUp = true;
  }

  hold(): void {
    this.take = null;
    this.socket.pause();
  }

  resume(): void {
    this.gate.isHeldUp = false;
    this.socket.resume();
  }

  get writable(): boolean {
    return this.socket.writable && !this.isEnding;
  }

  /** @param done the bytes are not needed any more */
  write(bytes: Uint8Array, done: () => void): void {
    if (this.waiting.length === 0 && this.gate.isOpen) this.socket.write(bytes, done);
    else {
      this.waiting.push({ bytes, done });
      this.gate.look();
    }
  }

  cork(): void {
    this.socket.cork();
  }

  uncork(): void {
    this.socket.uncork();
  }

  /** Ends this side, after all writes. */
  end(): void {
    this.isEnding = true;
    if (this.waiting.length === 0) this.socket.end();
  }

  /** Bytes that the kernel has not taken yet. */
  get unsentBytes(): number {
    let bytes = this.socket.writableLength;
    for (const waiting of this.waiting) bytes += waiting.bytes.length;
    return bytes;
  }

  private read(chunk: Buffer): boolean {
    this.gate.received();
    if (this.take !== null) {
      const acceptsMore = this.take(chunk);
      this.gate.isHeldUp = !acceptsMore;
      return acceptsMore;
    }
    this.held = this.held === null ? Buffer.from(chunk) : Buffer.concat([this.held, chunk]);
    return false;
  }

  private flush(): void {
    for (const { bytes, done } of this.waiting.splice(0)) {
      if (this.socket.writable) this.socket.write(bytes, done);
      else done();
    }
    if (this.isEnding) this.socket.end();
  }
}

/** @throws the error of the connection or its handshake, or a timeout after `dialMillis` */
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
