// A connection to a message bus, or to a peer that speaks D-Bus without one (systemd's private socket).
//
//   connecting -> authenticating (AUTH EXTERNAL) -> BEGIN -> Hello, on a bus -> open -> closed, finally
//
// Not taken from npm: only calls, their answers and signals on a Unix socket are needed. `dbus-next` 0.10.2 brings 17 packages
// for it, 121 with the native one that passes descriptors (which doesn't build on Node 20 and later, so none are passed), and can't speak to a
// peer that is no bus.
// Invariant: every call ends: by its answer, its timeout, or the connection's end; a peer that sends invalid D-Bus loses the connection.
import { Buffer } from 'node:buffer';
import { connect, type Socket } from 'node:net';
import { type DbusMessage, decodeMessage, encodeMessage, type OutgoingMessage } from './dbus-message.js';
import { DbusFormatError, type DbusValue } from './dbus-values.js';

export interface DbusCall {
  /** null: the peer itself. */
  readonly destination: string | null;
  readonly path: string;
  readonly interface: string;
  readonly member: string;
  readonly signature?: string;
  readonly body?: readonly DbusValue[];
}

/** The peer's refusal of one call, e.g. `org.freedesktop.systemd1.UnitExists`. */
export class DbusRefusal extends Error {
  override readonly name = 'DbusRefusal';
  constructor(
    readonly errorName: string,
    message: string,
  ) {
    super(message);
  }
}

/** The connection is closed: the effect of the call is unknown. */
export class DbusDisconnected extends Error {
  override readonly name = 'DbusDisconnected';
}

/** No answer within its time; the connection stays. */
export class DbusTimeout extends Error {
  override readonly name = 'DbusTimeout';
}

export interface DbusConnectionOptions {
  /** Of a Unix socket; an abstract one begins with a zero. */
  readonly socketPath: string;
  /** Whether the peer is a bus, which gives names and passes messages on. */
  readonly isBus: boolean;
  /** For connecting, authentication, and each call. */
  readonly timeoutMillis: number;
}

/** A line of the conversation before the first message. */
const lineBytesMax = 4096;
/** Calls that wait for their answer. */
const callsMax = 1024;
const busName = 'org.freedesktop.DBus';

interface Waiting {
  readonly resolve: (body: readonly DbusValue[]) => void;
  readonly reject: (error: Error) => void;
  readonly timer: NodeJS.Timeout;
}

export class DbusConnection {
  private readonly waiting = new Map<number, Waiting>();
  private readonly signalListeners = new Set<(signal: DbusMessage) => void>();
  private readonly closeListeners = new Set<() => void>();
  private received: Buffer = Buffer.alloc(0);
  private serial = 0;
  private closedBy: Error | null = null;
  /** Takes the answer to AUTH; null when messages are spoken. */
  private onLine: ((line: string) => void) | null = null;

  private constructor(
    private readonly socket: Socket,
    private readonly options: DbusConnectionOptions,
  ) {
    socket.on('data', (chunk: Buffer) => this.take(chunk));
    socket.on('error', (error) => this.end(new DbusDisconnected(error.message)));
    socket.on('close', () => this.end(new DbusDisconnected('the peer closed the connection')));
  }

  /** Throws DbusDisconnected, with the kernel's or the peer's error. */
  static async open(options: DbusConnectionOptions): Promise<DbusConnection> {
    const socket = connect({ path: options.socketPath });
    const connection = new DbusConnection(socket, options);
    const late = setTimeout(() => connection.end(new DbusDisconnected(`no answer from ${options.socketPath} within ${options.timeoutMillis} ms`)), options.timeoutMillis);
    try {
      await connection.authenticate();
      if (options.isBus) await connection.call({ destination: busName, path: '/org/freedesktop/DBus', interface: busName, member: 'Hello' });
    } catch (error) {
      connection.end(error instanceof Error ? error : new DbusDisconnected(String(error)));
      throw connection.closedBy instanceof DbusDisconnected ? connection.closedBy : new DbusDisconnected(error instanceof Error ? error.message : String(error));
    } finally {
      clearTimeout(late);
    }
    return connection;
  }

  get isClosed(): boolean {
    return this.closedBy !== null;
  }

  /** Subscribes to matching signals on a bus; a peer that is no bus sends all. @param rule e.g. `type='signal',member='JobRemoved'` */
  async match(rule: string): Promise<void> {
    if (this.options.isBus) await this.call({ destination: busName, path: '/org/freedesktop/DBus', interface: busName, member: 'AddMatch', signature: 's', body: [rule] });
  }

  /** Throws DbusRefusal, DbusTimeout, DbusDisconnected. @param timeoutMillis when it isn't the connection's */
  call(call: DbusCall, timeoutMillis = this.options.timeoutMillis): Promise<readonly DbusValue[]> {
    return new Promise((resolve, reject) => {
      if (this.closedBy !== null) {
        reject(new DbusDisconnected(this.closedBy.message));
        return;
      }
      if (this.waiting.size >= callsMax) {
        reject(new DbusTimeout(`${callsMax} calls are under way`));
        return;
      }
      const serial = ++this.serial;
      const message: OutgoingMessage = {
        kind: 'call',
        serial,
        path: call.path,
        interface: call.interface,
        member: call.member,
        signature: call.signature ?? '',
        body: call.body ?? [],
      };
      // Refuses an unencodable message before anything waits for its answer.
      const bytes = encodeMessage(this.options.isBus ? { ...message, destination: call.destination } : message);
      const timer = setTimeout(() => {
        this.waiting.delete(serial);
        reject(new DbusTimeout(`no answer to ${call.interface}.${call.member} within ${timeoutMillis} ms`));
      }, timeoutMillis);
      this.waiting.set(serial, { resolve, reject, timer });
      this.socket.write(bytes);
    });
  }

  /** Returns what ends it. */
  onSignal(listener: (signal: DbusMessage) => void): () => void {
    this.signalListeners.add(listener);
    return () => this.signalListeners.delete(listener);
  }

  /** Called once; at once when it is closed already. Returns what ends it. */
  onClose(listener: () => void): () => void {
    if (this.closedBy !== null) listener();
    else this.closeListeners.add(listener);
    return () => this.closeListeners.delete(listener);
  }

  close(): void {
    this.end(new DbusDisconnected('the connection was closed'));
  }

  /** Without it the process lives as long as the connection. */
  unref(): void {
    this.socket.unref();
  }

  private authenticate(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.closeListeners.add(() => reject(this.closedBy as Error));
      this.onLine = (line) => {
        if (!line.startsWith('OK ')) {
          this.end(new DbusDisconnected(`the peer does not let us in: ${line}`));
          return;
        }
        this.onLine = null;
        this.socket.write('BEGIN\r\n');
        resolve();
      };
      const uid = Buffer.from(String(process.getuid?.() ?? 0)).toString('hex');
      this.socket.write(`\0AUTH EXTERNAL ${uid}\r\n`);
    });
  }

  private take(chunk: Buffer): void {
    this.received = this.received.length === 0 ? chunk : Buffer.concat([this.received, chunk]);
    try {
      this.takeLines();
      for (let next = this.next(); next !== null; next = this.next()) this.deliver(next);
    } catch (error) {
      if (!(error instanceof DbusFormatError) && !(error instanceof RangeError)) throw error;
      this.end(new DbusDisconnected(`the peer sent ${error.message}`));
    }
  }

  private takeLines(): void {
    while (this.onLine !== null) {
      const end = this.received.indexOf('\r\n');
      if (end < 0) {
        if (this.received.length > lineBytesMax) throw new DbusFormatError('a line without an end');
        return;
      }
      const line = this.received.toString('latin1', 0, end);
      this.received = this.received.subarray(end + 2);
      this.onLine(line);
    }
  }

  private next(): DbusMessage | null {
    if (this.onLine !== null || this.closedBy !== null) return null;
    const decoded = decodeMessage(this.received);
    if (decoded === null) return null;
    this.received = this.received.subarray(decoded.length);
    return decoded.message;
  }

  private deliver(message: DbusMessage): void {
    if (message.kind === 'signal') {
      for (const listener of [...this.signalListeners]) listener(message);
      return;
    }
    // This client offers no methods: calls to it get no answer, as with any client.
    if (message.kind === 'call' || message.replySerial === null) return;
    const waiting = this.waiting.get(message.replySerial);
    if (waiting === undefined) return;
    this.waiting.delete(message.replySerial);
    clearTimeout(waiting.timer);
    if (message.kind === 'reply') waiting.resolve(message.body);
    else waiting.reject(new DbusRefusal(message.errorName ?? '', typeof message.body[0] === 'string' ? message.body[0] : (message.errorName ?? '')));
  }

  private end(reason: Error): void {
    if (this.closedBy !== null) return;
    this.closedBy = reason;
    this.socket.destroy();
    for (const { reject, timer } of this.waiting.values()) {
      clearTimeout(timer);
      reject(new DbusDisconnected(reason.message));
    }
    this.waiting.clear();
    for (const listener of this.closeListeners) listener();
    this.closeListeners.clear();
    this.signalListeners.clear();
  }
}
