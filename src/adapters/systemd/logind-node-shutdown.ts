// Node shutdown by logind (org.freedesktop.login1(5)): its signal PrepareForShutdown, and its inhibitor lock, which delays a shutdown for
// InhibitDelayMaxSec at most. If that is too short for the pods, writes a configuration file for logind and makes it reload.
//
// Invariants: signals are subscribed before the lock is requested; a lock is released only after its replacement is held; the loss of the connection to
// logind, or of the lock, is reported once.
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { formatDuration, nanosPerSecond } from '../../domain/values/go-duration.js';
import type { Call, PortOf } from '../../ports/operation.js';
import type { NodeShutdownOperations, ShutdownSignal, ShutdownSignalsLost } from '../../ports/outbound/node-shutdown.js';
import { PortError, type PortErrorKind } from '../../ports/port-error.js';
import { FileRefusal, StateDirectory } from '../storage/index.js';
import { type DbusConnection, DbusDisconnected, DbusRefusal, DbusTimeout } from './dbus-connection.js';
import type { DbusValue } from './dbus-values.js';
import { type InhibitorLock, type InhibitorOptions, takeInhibitorLock } from './inhibitor-lock.js';
import type { SystemBus } from './system-bus.js';

export interface LogindOptions {
  readonly bus: SystemBus;
  readonly deliver: (event: ShutdownSignal | ShutdownSignalsLost) => void;
  /** The drop-in file of logind's maximum delay; null: this agent may not write it. */
  readonly dropIn: string | null;
  /** The directory of the last shutdown's record. */
  readonly directory: string;
  readonly inhibitor?: InhibitorOptions;
}

const destination = 'org.freedesktop.login1';
const path = '/org/freedesktop/login1';
const manager = 'org.freedesktop.login1.Manager';
const signalName = 'PrepareForShutdown';
const signalRule = `type='signal',sender='${destination}',path='${path}',interface='${manager}',member='${signalName}'`;
const recordName = 'graceful_node_shutdown_state';
const recordMode = 0o644;
const recordDirectoryMode = 0o755;
/** Checks of logind's new setting, 100 ms apart, then twice as long each time. */
const looksMax = 5;
const firstPauseMillis = 100;
const hangUp = 1;

export class LogindNodeShutdown implements PortOf<NodeShutdownOperations> {
  private lock: InhibitorLock | null = null;
  private watched: { readonly connection: DbusConnection; readonly leave: () => void } | null = null;
  private record: StateDirectory | null = null;
  private stopped = false;

  constructor(private readonly options: LogindOptions) {}

  inhibit({ neededSeconds }: NodeShutdownOperations['inhibit']['request'], call: Call): Promise<NodeShutdownOperations['inhibit']['reply']> {
    return this.work('nodeShutdown.inhibit', call, async () => {
      await this.watch();
      await this.lengthen(neededSeconds);
      if (await this.isShuttingDown()) return { shuttingDown: true };
      const before = this.lock;
      try {
        this.lock = await takeInhibitorLock(this.options.inhibitor ?? {}, () => this.lost());
      } catch (error) {
        // A shutdown has begun since: logind grants no more locks.
        if (await this.isShuttingDown()) return { shuttingDown: true };
        throw error;
      }
      await before?.release();
      if (this.stopped) await this.lock.release();
      return { shuttingDown: await this.isShuttingDown() };
    });
  }

  release(_request: null, call: Call): Promise<null> {
    return this.work('nodeShutdown.release', call, async () => {
      const { lock } = this;
      this.lock = null;
      await lock?.release();
      return null;
    });
  }

  readRecord(_request: null, call: Call): Promise<string | null> {
    return this.work('nodeShutdown.readRecord', call, async () => {
      const bytes = this.records().read(recordName);
      return bytes === null ? null : Buffer.from(bytes).toString('utf8');
    });
  }

  writeRecord({ text }: NodeShutdownOperations['writeRecord']['request'], call: Call): Promise<null> {
    return this.work('nodeShutdown.writeRecord', call, async () => {
      await this.records().write(recordName, text, recordMode);
      return null;
    });
  }

  /** Releases everything. */
  async close(): Promise<void> {
    this.stopped = true;
    this.watched?.leave();
    this.watched = null;
    const { lock, record } = this;
    [this.lock, this.record] = [null, null];
    await lock?.release();
    await record?.close();
  }

  /** From now on signals are delivered, once each. */
  private watch(): Promise<void> {
    return this.options.bus.use(async (connection) => {
      if (this.watched?.connection === connection) return;
      this.watched?.leave();
      const leaveSignals = connection.onSignal(({ interface: of, member, body }) => {
        if (of === manager && member === signalName && typeof body[0] === 'boolean') this.options.deliver({ type: 'shutdown-signal', active: body[0] });
      });
      const leaveClose = connection.onClose(() => this.lost());
      this.watched = {
        connection,
        leave: () => {
          leaveSignals();
          leaveClose();
        },
      };
      await connection.match(signalRule);
    });
  }

  private lost(): void {
    if (this.stopped || this.watched === null) return;
    this.watched.leave();
    this.watched = null;
    this.options.deliver({ type: 'shutdown-signals-lost' });
  }

  /** Ensures that logind's maximum delay suffices. */
  private async lengthen(neededSeconds: number): Promise<void> {
    const neededMicros = BigInt(neededSeconds) * 1_000_000n;
    if ((await this.delayMicros()) >= neededMicros) return;
    const { dropIn } = this.options;
    if (dropIn !== null) {
      await mkdir(dirname(dropIn), { recursive: true, mode: 0o755 });
      await writeFile(dropIn, `# Kubelet logind override\n[Login]\nInhibitDelayMaxSec=${neededSeconds}\n`, { mode: 0o644 });
      const reload = { destination: 'org.freedesktop.systemd1', path: '/org/freedesktop/systemd1', interface: 'org.freedesktop.systemd1.Manager', member: 'KillUnit' } as const;
      await this.options.bus.use((connection) => connection.call({ ...reload, signature: 'ssi', body: ['systemd-logind.service', 'all', hangUp] }));
    }
    let current = 0n;
    for (let looks = 0; looks < (dropIn === null ? 1 : looksMax); looks++) {
      if (looks > 0) await delay(firstPauseMillis * 2 ** (looks - 1));
      current = await this.delayMicros();
      if (current >= neededMicros) return;
    }
    const [needed, given] = [formatDuration(neededSeconds * nanosPerSecond), formatDuration(Number(current) * 1_000)];
    const what =
      dropIn === null ? 'an agent beside the node’s kubelet does not change logind' : `node shutdown manager was timed out after ${looksMax} attempts waiting for logind`;
    throw new FileRefusal('failed-precondition', `${what} InhibitDelayMaxSec to update to ${needed} (ShutdownGracePeriod), current value is ${given}`);
  }

  private async delayMicros(): Promise<bigint> {
    const value = await this.property('InhibitDelayMaxUSec');
    if (typeof value !== 'bigint') throw new FileRefusal('internal', 'logind’s InhibitDelayMaxUSec is no number');
    return value;
  }

  private async isShuttingDown(): Promise<boolean> {
    return (await this.property('PreparingForShutdown')) === true;
  }

  private async property(name: string): Promise<DbusValue | undefined> {
    const get = { destination, path, interface: 'org.freedesktop.DBus.Properties', member: 'Get', signature: 'ss', body: [manager, name] } as const;
    const [variant] = await this.options.bus.use((connection) => connection.call(get));
    return (variant as { readonly value?: DbusValue } | undefined)?.value;
  }

  private records(): StateDirectory {
    this.record ??= StateDirectory.open(this.options.directory, recordDirectoryMode);
    return this.record;
  }

  private async work<T>(operation: string, call: Call, work: () => Promise<T>): Promise<T> {
    if (call.signal.aborted) throw new PortError({ kind: 'cancelled', message: 'context canceled', operation, subject: '' });
    try {
      return await work();
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      throw error instanceof PortError ? error : new PortError({ kind: kindOf(error), message, operation, subject: '', cause: error });
    }
  }
}

function kindOf(error: unknown): PortErrorKind {
  if (error instanceof FileRefusal) return error.kind;
  if (error instanceof DbusDisconnected) return 'unavailable';
  if (error instanceof DbusTimeout) return 'deadline-exceeded';
  if (error instanceof DbusRefusal) return error.errorName === 'org.freedesktop.DBus.Error.AccessDenied' ? 'permission-denied' : 'unavailable';
  return 'unknown';
}
