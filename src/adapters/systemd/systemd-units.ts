// Units of systemd by its D-Bus API: slices that are started for pods, changed and stopped (org.freedesktop.systemd1(5)).
//
// | operation               | calls                                                                            |
// |-------------------------|----------------------------------------------------------------------------------|
// | start a slice           | StartTransientUnit, and its job's end; UnitExists is success                     |
// | set its properties      | SetUnitProperties, at run time only                                              |
// | stop it                 | StopUnit, and its job's end; ResetFailedUnit, so that a failed one is forgotten  |
//
// Invariant: the subscription to a job's end precedes the job, so that no end is missed; the wait is at most half a minute.
import { type DbusConnection, DbusDisconnected, DbusRefusal, DbusTimeout } from './dbus-connection.js';
import type { DbusValue } from './dbus-values.js';
import type { SystemBus } from './system-bus.js';

/** A property with its D-Bus signature. */
export interface UnitProperty {
  readonly name: string;
  readonly signature: string;
  readonly value: DbusValue;
}

export interface SystemdUnitsOptions {
  readonly bus: SystemBus;
  /** How long a job may take; 30 s when left out. */
  readonly jobTimeoutMillis?: number;
}

const destination = 'org.freedesktop.systemd1';
const path = '/org/freedesktop/systemd1';
const manager = 'org.freedesktop.systemd1.Manager';
const jobRemoved = 'JobRemoved';
const jobRule = `type='signal',sender='${destination}',path='${path}',interface='${manager}',member='${jobRemoved}'`;
const replace = 'replace';
const defaultJobTimeoutMillis = 30_000;
const unitExists = 'org.freedesktop.systemd1.UnitExists';
const noSuchUnit = 'org.freedesktop.systemd1.NoSuchUnit';

/** systemd refused or failed: its message about the unit. */
export class UnitFailure extends Error {
  override readonly name = 'UnitFailure';
}

export class SystemdUnits {
  private readonly listening = new WeakMap<DbusConnection, Promise<void>>();
  private known: number | null = null;

  constructor(private readonly options: SystemdUnitsOptions) {}

  /** The major version, e.g. 252; requested once. */
  async version(): Promise<number> {
    if (this.known !== null) return this.known;
    const [variant] = await this.options.bus.use((connection) =>
      connection.call({ destination, path, interface: 'org.freedesktop.DBus.Properties', member: 'Get', signature: 'ss', body: [manager, 'Version'] }),
    );
    const text = String((variant as { readonly value?: unknown } | undefined)?.value ?? '');
    const version = /[0-9]+/.exec(text)?.[0];
    if (version === undefined) throw new UnitFailure(`systemd's version ${JSON.stringify(text)} is no version`);
    this.known = Number(version);
    return this.known;
  }

  /** Makes a slice below another one; an existing one is unchanged. Returns whether it was made now. */
  async startSlice(unit: string, parent: string, cgroupVersion: 1 | 2): Promise<boolean> {
    const properties = sliceProperties(unit, parent, cgroupVersion);
    const body = [unit, replace, properties.map(withVariant), []];
    let result: string;
    try {
      result = await this.job(unit, 'StartTransientUnit', 'ssa(sv)a(sa(sv))', body);
    } catch (error) {
      if (error instanceof DbusRefusal && error.errorName === unitExists) return false;
      if (error instanceof JobTimeout) {
        await this.reset(unit);
        throw new UnitFailure(`Timeout waiting for systemd to create ${unit}`);
      }
      throw error;
    }
    if (result === 'done') return true;
    await this.reset(unit);
    throw new UnitFailure(`error creating systemd unit \`${unit}\`: got \`${result}\``);
  }

  /** Sets them for as long as the unit exists. Without any: no call. */
  async setProperties(unit: string, properties: readonly UnitProperty[]): Promise<void> {
    if (properties.length === 0) return;
    await this.call('SetUnitProperties', 'sba(sv)', [unit, true, properties.map(withVariant)]);
  }

  /** Stops it, with the units below it. An absent one is success. */
  async stop(unit: string): Promise<void> {
    try {
      // Ignores the job's result: the caller checks the cgroup afterwards.
      await this.job(unit, 'StopUnit', 'ss', [unit, replace]);
    } catch (error) {
      if (error instanceof JobTimeout) throw new UnitFailure(`Timed out while waiting for systemd to remove ${unit}`);
      if (!(error instanceof DbusRefusal)) throw error;
      if (error.errorName === noSuchUnit) return;
    }
    await this.reset(unit);
  }

  /** A failed unit stays until it is reset. Most haven't failed, for which systemd reports an unknown unit. */
  private async reset(unit: string): Promise<void> {
    try {
      await this.call('ResetFailedUnit', 's', [unit]);
    } catch (error) {
      if (!(error instanceof DbusRefusal) && !(error instanceof DbusTimeout)) throw error;
    }
  }

  /** Returns the job's result. A lost connection starts it again: systemd merges it with the running one. */
  private job(unit: string, member: string, signature: string, body: readonly DbusValue[]): Promise<string> {
    return this.options.bus.use(async (connection) => {
      await this.listen(connection);
      const end = new JobEnd(connection, unit, this.options.jobTimeoutMillis ?? defaultJobTimeoutMillis);
      try {
        const [job] = await connection.call({ destination, path, interface: manager, member, signature, body });
        return await end.of(String(job));
      } finally {
        end.leave();
      }
    });
  }

  private call(member: string, signature: string, body: readonly DbusValue[]): Promise<readonly DbusValue[]> {
    return this.options.bus.use((connection) => connection.call({ destination, path, interface: manager, member, signature, body }));
  }

  private listen(connection: DbusConnection): Promise<void> {
    const known = this.listening.get(connection);
    if (known !== undefined) return known;
    const matched = connection.match(jobRule);
    this.listening.set(connection, matched);
    matched.catch(() => this.listening.delete(connection));
    return matched;
  }
}

class JobTimeout extends Error {}

/** Waits for one job's end. Keeps ends of the unit's jobs that come before the job's name is known. */
class JobEnd {
  private readonly ends = new Map<string, string>();
  private wake: () => void = () => {};
  private readonly leaveSignals: () => void;
  private readonly leaveClose: () => void;

  constructor(
    private readonly connection: DbusConnection,
    unit: string,
    private readonly timeoutMillis: number,
  ) {
    this.leaveSignals = connection.onSignal(({ interface: of, member, body }) => {
      const [, job, name, result] = body;
      if (of !== manager || member !== jobRemoved || name !== unit) return;
      this.ends.set(String(job), String(result));
      this.wake();
    });
    this.leaveClose = connection.onClose(() => this.wake());
  }

  async of(job: string): Promise<string> {
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      this.wake();
    }, this.timeoutMillis);
    try {
      for (;;) {
        const result = this.ends.get(job);
        if (result !== undefined) return result;
        if (isLate) throw new JobTimeout(job);
        if (this.connection.isClosed) throw new DbusDisconnected('the connection went while a job of systemd ran');
        await new Promise<void>((resolve) => {
          this.wake = resolve;
        });
      }
    } finally {
      clearTimeout(timer);
    }
  }

  leave(): void {
    this.leaveSignals();
    this.leaveClose();
  }
}

/** As libcontainer makes the slices of pods: accounting on, and no dependencies but on the slice above. */
function sliceProperties(unit: string, parent: string, cgroupVersion: 1 | 2): readonly UnitProperty[] {
  const flag = (name: string, value: boolean): UnitProperty => ({ name, signature: 'b', value });
  return [
    { name: 'Description', signature: 's', value: `libcontainer container ${unit}` },
    { name: 'Wants', signature: 'as', value: [parent] },
    flag('MemoryAccounting', true),
    flag('CPUAccounting', true),
    flag(cgroupVersion === 1 ? 'BlockIOAccounting' : 'IOAccounting', true),
    flag('TasksAccounting', true),
    flag('DefaultDependencies', false),
  ];
}

function withVariant({ name, signature, value }: UnitProperty): DbusValue {
  return [name, { signature, value }];
}
