// systemd's manager for tests, as much of it as pods' slices need: transient slices, their properties, jobs that end with a signal. It makes and removes
// the cgroups of slices in given trees, and only of slices below one name, which is the test's own.
// Names and types of properties are those of org.freedesktop.systemd1(5); a property of another name or type is refused as systemd refuses it.
import { existsSync, mkdirSync, readdirSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import type { DbusMessage, DbusValue, DbusVariant } from '../../src/adapters/systemd/index.js';
import type { FakeAnswer, FakeBus } from './fake-bus.js';

const name = 'org.freedesktop.systemd1';
const path = '/org/freedesktop/systemd1';
const manager = `${name}.Manager`;

/** Properties of a slice that can be set, with their types. */
const propertyTypes: Readonly<Record<string, string>> = {
  ...{ Description: 's', Wants: 'as', DefaultDependencies: 'b', Delegate: 'b' },
  ...{ MemoryAccounting: 'b', CPUAccounting: 'b', IOAccounting: 'b', BlockIOAccounting: 'b', TasksAccounting: 'b' },
  ...{ MemoryMax: 't', MemoryLimit: 't', MemoryMin: 't', MemoryLow: 't', MemoryHigh: 't', MemorySwapMax: 't', TasksMax: 't' },
  ...{ CPUWeight: 't', CPUShares: 't', CPUQuotaPerSecUSec: 't', CPUQuotaPeriodUSec: 't', AllowedCPUs: 'ay' },
};
/** What a unit is given when it is made, and never afterwards. */
const onlyAtStart: ReadonlySet<string> = new Set(['Wants', 'DefaultDependencies', 'Delegate']);

export interface FakeSystemdOptions {
  readonly bus: FakeBus;
  /** Mount points of the trees in which slices have cgroups. */
  readonly trees: readonly string[];
  /** The first element of every slice: `a_b` has `a_b.slice` and `a_b-c.slice`. */
  readonly prefix: string;
  readonly version?: string;
}

export class FakeSystemd {
  /** By name, with the properties they have. */
  readonly units = new Map<string, Map<string, DbusValue>>();
  readonly calls: string[] = [];
  /** How jobs end; null: they don't. */
  jobResult: string | null = 'done';
  /** Calls that are not answered, by member. */
  readonly silent = new Set<string>();
  readonly refused = new Map<string, { readonly error: string; readonly message: string }>();
  private jobs = 0;

  constructor(private readonly options: FakeSystemdOptions) {
    options.bus.services.set(name, (call) => this.answer(call));
  }

  /** Numbers and texts of a unit's properties. */
  propertiesOf(unit: string): Record<string, unknown> {
    return Object.fromEntries(this.units.get(unit) ?? []);
  }

  private answer(call: DbusMessage): FakeAnswer {
    const member = call.member ?? '';
    this.calls.push(`${member} ${String(call.body[0] ?? '')}`);
    if (this.silent.has(member)) return null;
    const refusal = this.refused.get(member);
    if (refusal !== undefined) return refusal;
    if (call.path !== path) return { error: 'org.freedesktop.DBus.Error.UnknownObject', message: `Unknown object '${call.path}'.` };
    switch (`${call.interface}.${member} ${call.signature}`) {
      case 'org.freedesktop.DBus.Properties.Get ss':
        return { signature: 'v', body: [{ signature: 's', value: this.options.version ?? '252.39-1~deb12u1' }] };
      case `${manager}.StartTransientUnit ssa(sv)a(sa(sv))`:
        return this.start(String(call.body[0]), call.body[2] as readonly (readonly [string, DbusVariant])[]);
      case `${manager}.SetUnitProperties sba(sv)`:
        return this.set(String(call.body[0]), call.body[2] as readonly (readonly [string, DbusVariant])[], false);
      case `${manager}.StopUnit ss`:
        return this.stop(String(call.body[0]));
      case `${manager}.ResetFailedUnit s`:
        return this.units.has(String(call.body[0])) ? {} : noSuchUnit(String(call.body[0]));
      case `${manager}.KillUnit ssi`:
        return {};
      default:
        return { error: 'org.freedesktop.DBus.Error.UnknownMethod', message: `Unknown method ${member} or interface ${call.interface}.` };
    }
  }

  private start(unit: string, properties: readonly (readonly [string, DbusVariant])[]): FakeAnswer {
    if (!unit.endsWith('.slice') || (unit !== `${this.options.prefix}.slice` && !unit.startsWith(`${this.options.prefix}-`)))
      return { error: 'org.freedesktop.DBus.Error.AccessDenied', message: `${unit} is not the test's` };
    if (this.units.has(unit)) return { error: 'org.freedesktop.systemd1.UnitExists', message: `Unit ${unit} was already loaded or has a fragment file.` };
    // As systemd does, slices above come with it.
    for (const one of slicesOf(unit)) if (!this.units.has(one)) this.units.set(one, new Map());
    const problem = this.set(unit, properties, true);
    if (problem !== null && 'error' in problem) {
      this.units.delete(unit);
      return problem;
    }
    if (this.jobResult === 'done') for (const tree of this.options.trees) mkdirSync(join(tree, ...slicesOf(unit)), { recursive: true });
    else this.units.delete(unit);
    return this.job(unit);
  }

  private set(unit: string, properties: readonly (readonly [string, DbusVariant])[], starting: boolean): FakeAnswer {
    const known = this.units.get(unit);
    if (known === undefined) return noSuchUnit(unit);
    for (const [property, { signature }] of properties) {
      const type = propertyTypes[property];
      if (type === undefined || (!starting && onlyAtStart.has(property)))
        return { error: 'org.freedesktop.DBus.Error.PropertyReadOnly', message: `Cannot set property ${property}, or unknown property.` };
      if (type !== signature) return { error: 'org.freedesktop.DBus.Error.InvalidArgs', message: `Property ${property} is of type ${type}, not ${signature}.` };
    }
    for (const [property, { value }] of properties) known.set(property, value);
    return {};
  }

  private stop(unit: string): FakeAnswer {
    if (!this.units.has(unit)) return { error: 'org.freedesktop.systemd1.NoSuchUnit', message: `Unit ${unit} not loaded.` };
    if (this.jobResult === 'done') {
      const own = slicesOf(unit);
      for (const one of [...this.units.keys()]) if (one === unit || one.startsWith(`${unit.slice(0, -'.slice'.length)}-`)) this.units.delete(one);
      for (const tree of this.options.trees) removeTree(join(tree, ...own));
    }
    return this.job(unit);
  }

  private job(unit: string): FakeAnswer {
    const id = ++this.jobs;
    const job = `${path}/job/${id}`;
    const { jobResult } = this;
    // Before the answer, as a busy systemd may: the end of a job must not be missed.
    if (jobResult !== null) this.options.bus.signal(path, manager, 'JobRemoved', 'uoss', [id, job, unit, jobResult]);
    return { signature: 'o', body: [job] };
  }
}

function noSuchUnit(unit: string): FakeAnswer {
  return { error: 'org.freedesktop.systemd1.NoSuchUnit', message: `Unit ${unit} not loaded.` };
}

/** `a.slice`, `a-b.slice`, ... */
function slicesOf(unit: string): string[] {
  const parts = unit.slice(0, -'.slice'.length).split('-');
  return parts.map((_, i) => `${parts.slice(0, i + 1).join('-')}.slice`);
}

/** What is empty, from below; a busy one stays. */
function removeTree(directory: string): void {
  if (!existsSync(directory)) return;
  for (const entry of readdirSync(directory, { withFileTypes: true })) if (entry.isDirectory()) removeTree(join(directory, entry.name));
  try {
    rmdirSync(directory);
  } catch {
    // Processes in it: systemd would wait for them.
  }
}
