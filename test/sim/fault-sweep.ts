// Each operation of each port fails for half an hour, one by one: what it concerns is tried with back-off, a line of the log is repeated at
// most once in five minutes, and a pod that is kept from ending says why in an event.
import type { Test } from 'tap';
import type { KubeletOperations } from '../../src/domain/agent/kubelet.js';
import type { Command } from '../../src/domain/kernel/machine.js';
import { operationNames } from '../../src/ports/outbound/operation-names.js';
import type { Checker, Observation, SimCluster } from '../../src/sim/index.js';
import { sweepOf } from '../support/sweep.js';
import { ApiWorld } from './api-world.js';
import { busyNode, createRich, plainPod, runningContainer } from './busy-node.js';
import { minute, podOf, second } from './sim-pods.js';

const watched = 30 * minute;
/** The first line, then one in five minutes. */
const linesMax = 1 + 30 / 5;
/** The shortest back-off of what fails for long: the pod workers', ten seconds and up to half as long again. */
const triesInTenMinutes = 61;
const operations = Object.entries(operationNames).flatMap(([port, names]) => Object.keys(names).map((name) => `${port}.${name}`));

/** Calls that have a period of their own, whether they fail or not: at most so many in ten minutes. */
const periodic: Readonly<Record<string, { readonly tries: number; readonly why: string }>> = {
  'runtime.status': { tries: 120, why: 'every 5 s, as the reference' },
  'probing.http': { tries: 600, why: 'a probe has its period' },
  'probing.tcp': { tries: 600, why: 'a probe has its period' },
  'probing.grpc': { tries: 600, why: 'a probe has its period' },
  'runtime.version': { tries: 120, why: 'every 5 s, as the reference' },
  'apiReader.get': { tries: 3 * triesInTenMinutes, why: 'a claim is read for each pod that uses it' },
  'pullRecords.list': { tries: 3 * triesInTenMinutes, why: 'read for each pod that waits for an image' },
  'stateFiles.write': { tries: 3 * triesInTenMinutes, why: 'one file for all pods with claims' },
  'apiWriter.update': { tries: 600, why: 'ten tries in each renewal of the lease, as the reference' },
  'apiWriter.patch': { tries: 300, why: 'five tries in each report of the node, as the reference' },
  'containers.execSync': { tries: 1800, why: 'a probe has its period, of several containers one after the other' },
};

/** Why a pod that can't end has no event, or none in time. */
const withoutEvent: Readonly<Record<string, string>> = {
  'stateFiles.read': 'no pod is worked on before it is known what pods were granted',
  'apiReader.list': 'no pod of the API is known',
  'apiWriter.create': 'events can not be written',
  'apiWriter.patch': 'the status that says that the pod has ended can not be written',
  'apiWriter.delete': 'the pod has ended, the API keeps it',
};

interface Line {
  readonly level: string;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

class Recorder implements Checker<null> {
  readonly name = 'recorder';
  lines: Line[] = [];
  tries = new Map<string, number[]>();
  operation = '';
  now = (): number => 0;

  fresh(): null {
    return null;
  }

  look(_memory: null, what: Observation): void {
    if (what.kind !== 'command' || what.command.op !== this.operation) return;
    const key = triedOf(what.command);
    const times = this.tries.get(key) ?? [];
    const last = times.at(-1);
    // The requests of several containers of a pod are sent one after the other.
    if (last === undefined || this.now() - last > second / 10) times.push(this.now());
    this.tries.set(key, times);
  }

  begin(operation: string, now: () => number): void {
    Object.assign(this, { operation, now, lines: [], tries: new Map() });
  }
}

/** What is tried: of the API an object, of what has a number for each call what it asks for, else the address. */
function triedOf({ op, address, request }: Command<KubeletOperations>): string {
  if (op.startsWith('api')) {
    const { resource, name, subresource } = request as { readonly resource: { readonly plural: string }; readonly name?: string | null; readonly subresource?: string | null };
    return `${resource.plural}/${name ?? ''}/${subresource ?? ''}`;
  }
  return /^\d+$/.test(address.key) ? JSON.stringify(request) : `${address.machine}/${address.key}/${partOf(request)}`;
}

function partOf(request: unknown): string {
  const { containerId = '', containerName = '', sandboxId = '', uid = '' } = (request ?? {}) as Readonly<Record<string, string>>;
  return `${containerId}${containerName}${sandboxId}${uid}`;
}

/** Lines of one kind have one text and one error: what they are about counts, times and numbers don't. */
function kindOf({ level, message, fields }: Line): string {
  const about = Object.entries(fields).filter(([, value]) => typeof value === 'string');
  const times = /\d{4}-\d\d-\d\dT[\d:.]+Z|\b(\d+(\.\d+)?(h|m|s|ms|µs))+\b/g;
  return `${level} ${message} ${JSON.stringify(about)}`.replace(times, '#');
}

const recorder = new Recorder();
const plain = 3;

function begin(runtimeSendsEvents: boolean): SimCluster {
  return busyNode(plain, {
    runtimeSendsEvents,
    checkers: [{ name: recorder.name, fresh: () => null, look: (_memory, what) => recorder.look(null, what) }],
    log: (_node, _now, level, message, fields) => recorder.lines.push({ level, message, fields }),
  });
}

/** Everything that happens to pods happens at once: they go, fail, come, by the API and as files. */
function disturb(cluster: SimCluster, world: ApiWorld): void {
  const node = cluster.node();
  world.remove('plain-0');
  const id = runningContainer(node, world.get('plain-1')?.metadata.uid ?? '');
  if (id !== null) node.runtime.killContainer(id, cluster.now);
  cluster.world.refresh(node.name);
  world.createPod(plainPod('new-0'), node.name);
  for (const name of ['rich-0', 'rich-1', 'rich-3']) world.remove(name);
  world.remove('rich-2', 0);
  for (const i of [3, 4, 5]) createRich(cluster, `rich-new-${i}`, i);
  node.remove('static.yaml');
  node.put('other.yaml', podOf('other'));
}

function eventsOf(cluster: SimCluster, name: string): string[] {
  const { store } = cluster.apiserver ?? { store: null };
  return [...(store?.all('events') ?? [])].flatMap((event) => {
    const { involvedObject, type, reason, message } = event as unknown as {
      readonly involvedObject: { readonly name: string };
      readonly type: string;
      readonly reason: string;
      readonly message: string;
    };
    return involvedObject.name === name && type === 'Warning' ? [`${reason}: ${message}`] : [];
  });
}

export interface Swept {
  /** Operations that were called. */
  readonly struck: Set<string>;
  /** Operation -> what a pod that it kept from ending says. */
  readonly told: Map<string, string>;
  readonly operations: readonly string[];
}

/** The operations of some ports. What doesn't depend on how changes in the runtime are found is tried once. */
export async function sweepPorts(t: Test, isIncluded: (port: string) => boolean): Promise<Swept> {
  const swept: Swept = { struck: new Set(), told: new Map(), operations: sweepOf(operations.filter((one) => isIncluded(one.slice(0, one.indexOf('.'))))) };
  for (const runtimeSendsEvents of [false, true]) {
    const tried = swept.operations.filter((one) => !runtimeSendsEvents || one.startsWith('runtime.'));
    if (tried.length === 0) continue;
    await t.test(runtimeSendsEvents ? 'told of changes' : 'polled', async (t) => {
      const from = begin(runtimeSendsEvents);
      for (const operation of tried) if (!sweepOne(t, from, operation, false, swept)) sweepOne(t, from, operation, true, swept);
    });
  }
  return swept;
}

/** @returns false: the operation was not called */
function sweepOne(t: Test, from: SimCluster, operation: string, isRestart: boolean, { struck, told }: Swept): boolean {
  const cluster = from.fork();
  const world = new ApiWorld(cluster, { ok: () => true });
  const node = cluster.node();
  recorder.begin(operation, () => cluster.now);
  node.setFaults([{ operation, trigger: {}, action: { kind: 'error', moment: 'before', error: 'internal', message: 'planned' } }]);
  if (isRestart) {
    node.kill();
    node.start();
  }
  const start = cluster.now;
  disturb(cluster, world);
  cluster.run(minute + 20 * second);
  if (![...node.model.struck.keys()].some((key) => key.startsWith(`${operation} `))) return false;
  struck.add(operation);
  for (const { metadata } of world.pods) {
    if (metadata.deletionTimestamp === undefined || withoutEvent[operation] !== undefined) continue;
    const why = eventsOf(cluster, metadata.name).filter((text) => /^(FailedKillPod|FailedSync): /.test(text));
    t.ok(why.length > 0, `${operation}: ${metadata.name} is kept from ending and says nothing`);
    told.set(operation, why[0] ?? '');
  }
  cluster.run(start + watched - cluster.now);
  const counts = new Map<string, number>();
  for (const line of recorder.lines) counts.set(kindOf(line), (counts.get(kindOf(line)) ?? 0) + 1);
  t.strictSame(
    [...counts].filter(([, count]) => count > linesMax),
    [],
    `${operation}: lines that repeat`,
  );
  const most = periodic[operation]?.tries ?? triesInTenMinutes;
  const busy = [...recorder.tries].map(([what, times]) => [what, times.filter((at) => at > start + watched - 10 * minute).length] as const).filter(([, tries]) => tries > most);
  t.strictSame(busy, [], `${operation}: tries in the last ten minutes`);
  const all = [...recorder.tries].filter(([, times]) => times.length > 3 * most + 30);
  t.strictSame(all, [], `${operation}: tries in half an hour`);
  return true;
}
