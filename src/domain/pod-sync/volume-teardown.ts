// Takes down what is on the node of a pod's volumes: as it is found, not as a spec says, so that it ends what an earlier agent began.
//
//   list -> unbind the sub paths of each volume -> take down one volume after the other -> done
//
// Invariant: every step is tried and all failures are told; only volumes of the kubelet's own are taken down.
import type { AgentOperations } from '../../ports/outbound/outbound-ports.js';
import type { SubPathStep, VolumeAddress, VolumeLeftovers } from '../../ports/outbound/pod-volumes.js';
import type { Address, Reply, Turn } from '../kernel/machine.js';
import { goQuote } from '../values/go-text.js';
import { podDirectory } from '../values/pod-directories.js';
import { leftoverAddress } from '../volumes/node-volumes.js';
import { planSubPathCleanup } from '../volumes/sub-path.js';

export type TeardownStep = { readonly volume: string; readonly subPaths: readonly SubPathStep[] } | { readonly volume: string; readonly address: VolumeAddress };

export interface VolumeTeardown {
  readonly uid: string;
  /** Null: the volumes aren't known yet. */
  pending: TeardownStep[] | null;
  /** What is still there, and why. */
  readonly failures: string[];
}

export function newVolumeTeardown(uid: string): VolumeTeardown {
  return { uid, pending: null, failures: [] };
}

/** Asks for what comes next; false: it is over. The answers come to `address`, in the slot `volume`. */
export function askVolumeTeardown(teardown: VolumeTeardown, turn: Turn<AgentOperations>, address: Address): boolean {
  const { uid, pending } = teardown;
  const next = pending?.[0];
  if (next === undefined) {
    if (pending === null) turn.ask('podVolumes.list', address, 'volume', { uid });
    return pending === null;
  }
  if ('subPaths' in next) turn.ask('subPaths.carryOut', address, 'volume', { uid, steps: next.subPaths });
  else turn.ask('podVolumes.tearDown', address, 'volume', next.address);
  return true;
}

export function applyVolumeTeardownReply(teardown: VolumeTeardown, reply: Reply<AgentOperations>, rootDirectory: string): void {
  if (reply.op === 'podVolumes.list') {
    teardown.pending = [];
    if (!reply.outcome.ok) teardown.failures.push(reply.outcome.error.message);
    else plan(teardown, reply.outcome.value, rootDirectory);
    return;
  }
  const done = teardown.pending?.shift();
  if (done === undefined || reply.outcome.ok) return;
  const what = 'subPaths' in done ? 'error cleaning subPath mounts' : 'UnmountVolume.TearDown failed';
  teardown.failures.push(`${what} for volume ${goQuote(done.volume)} : ${reply.outcome.error.message}`);
  // What is bound from a volume holds it.
  if ('subPaths' in done) teardown.pending = (teardown.pending ?? []).filter(({ volume }) => volume !== done.volume);
}

function plan(teardown: VolumeTeardown, { volumes, subPaths }: VolumeLeftovers, rootDirectory: string): void {
  const { uid, pending, failures } = teardown;
  const directory = podDirectory(rootDirectory, uid);
  for (const { volume, ...present } of subPaths) pending?.push({ volume, subPaths: planSubPathCleanup(directory, volume, present) });
  for (const found of volumes) {
    const address = leftoverAddress(uid, found);
    if (address !== null) pending?.push({ volume: found.volume, address });
    else failures.push(`no plugin of this kubelet takes down ${found.plugin}/${found.volume}`);
  }
}
