// Access to systemd and logind: the system bus, one connection that is opened on demand and reopened after a loss.
// systemd also answers root on a private socket: for nodes without a bus (tried second, as in the Go kubelet).
// Invariant: at most one connection at a time; a call is repeated only if the connection was lost before its answer.
import { DbusConnection, DbusDisconnected } from './dbus-connection.js';

export interface SystemBusOptions {
  /** As in `DBUS_SYSTEM_BUS_ADDRESS`: `unix:path=...` or `unix:abstract=...`, several separated by semicolons. */
  readonly address?: string;
  /** systemd's own; null: it isn't tried. */
  readonly privateSocket?: string | null;
  readonly timeoutMillis?: number;
}

const defaultAddress = 'unix:path=/run/dbus/system_bus_socket';
const defaultPrivateSocket = '/run/systemd/private';
/** The default of other libraries: 25 s. */
const defaultTimeoutMillis = 25_000;
/** Of a call whose connection is lost. */
const triesMax = 3;

export class SystemBus {
  private connection: Promise<DbusConnection> | null = null;
  private stopped = false;

  constructor(private readonly options: SystemBusOptions = {}) {}

  /** Runs `work` on a connection, again on a new one after a loss. Throws the error of `work`, and DbusDisconnected. */
  async use<T>(work: (connection: DbusConnection) => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries++) {
      const connection = await this.open();
      try {
        return await work(connection);
      } catch (error) {
        if (!(error instanceof DbusDisconnected) || tries === triesMax || this.stopped) throw error;
      }
    }
  }

  close(): void {
    this.stopped = true;
    const { connection } = this;
    this.connection = null;
    connection?.then((one) => one.close()).catch(() => {});
  }

  /** The one that is open, or a new one. */
  private open(): Promise<DbusConnection> {
    if (this.stopped) return Promise.reject(new DbusDisconnected('the connection was closed'));
    if (this.connection !== null) return this.connection;
    const opening = this.connect();
    this.connection = opening;
    const forget = (): void => {
      if (this.connection === opening) this.connection = null;
    };
    opening.then((connection) => {
      connection.onClose(forget);
      if (this.stopped) connection.close();
    }, forget);
    return opening;
  }

  private async connect(): Promise<DbusConnection> {
    const { address = defaultAddress, privateSocket = defaultPrivateSocket, timeoutMillis = defaultTimeoutMillis } = this.options;
    const failures: string[] = [];
    const places = socketPaths(address).map((socketPath) => ({ socketPath, isBus: true }));
    if (privateSocket !== null && process.getuid?.() === 0) places.push({ socketPath: privateSocket, isBus: false });
    for (const place of places) {
      try {
        return await DbusConnection.open({ ...place, timeoutMillis });
      } catch (error) {
        failures.push(error instanceof Error ? goDialText(error.message, place.socketPath) : String(error));
      }
    }
    throw new DbusDisconnected(failures.length === 0 ? `no Unix socket in the bus address ${JSON.stringify(address)}` : failures.join('; '));
  }
}

/** In the words of Go's dialler, which users know. */
function goDialText(message: string, socketPath: string): string {
  const why = message.startsWith('connect ENOENT') ? 'no such file or directory' : message.startsWith('connect ECONNREFUSED') ? 'connection refused' : null;
  return why === null ? message : `dial unix ${socketPath.replace('\0', '@')}: connect: ${why}`;
}

/** Sockets of a bus address, in order; other transports are passed over. */
export function socketPaths(address: string): string[] {
  return address.split(';').flatMap((one) => {
    const [transport, rest = ''] = one.split(':', 2);
    if (transport !== 'unix') return [];
    const values = new Map(rest.split(',').map((pair) => [pair.slice(0, pair.indexOf('=')), decoded(pair.slice(pair.indexOf('=') + 1))]));
    const path = values.get('path');
    const abstract = values.get('abstract');
    return path !== undefined ? [path] : abstract !== undefined ? [`\0${abstract}`] : [];
  });
}

/** `%2f` is `/`. Malformed escapes stay unchanged. */
function decoded(value: string): string {
  return value.replaceAll(/%([0-9a-fA-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}
