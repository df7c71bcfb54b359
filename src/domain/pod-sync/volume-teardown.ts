// Takes down what is on the node of a pod's volumes: as it is found, not as a spec says, so that it ends what an earlier agent began.
//
//   list -> take down one volume after the other -> done
//
// Invariant: every step is tried and all failures are told; only volumes of the kubelet's own are taken down.
import type { AgentOperations } from '../../ports/outbound/outbound-ports.js';
import type { VolumeAddress } from '../../ports/outbound/pod-volumes.js';
import type { Address, Reply, Turn } from '../kernel/machine.js';
import { leftoverAddress } from '../volumes/node-volumes.js';

export interface VolumeTeardown {
  readonly uid: string;
  /** Null: the volumes aren't known yet. */
  pending: VolumeAddress[] | null;
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
  if (next !== undefined) turn.ask('podVolumes.tearDown', address, 'volume', next);
  else if (pending === null) turn.ask('podVolumes.list', address, 'volume', { uid });
  return next !== undefined || pending === null;
}

export function applyVolumeTeardownReply(teardown: VolumeTeardown, reply: Reply<AgentOperations>): void {
  if (reply.op === 'podVolumes.list') {
    teardown.pending = [];
    if (!reply.outcome.ok) teardown.failures.push(reply.outcome.error.message);
    else for (const found of reply.outcome.value.volumes) plan(teardown, found);
    return;
  }
  const done = teardown.pending?.shift();
  if (!reply.outcome.ok) teardown.failures.push(`UnmountVolume.TearDown failed for volume ${JSON.stringify(done?.volume ?? '')} : ${reply.outcome.error.message}`);
}

function plan(teardown: VolumeTeardown, found: { readonly plugin: string; readonly volume: string }): void {
  const address = leftoverAddress(teardown.uid, found);
  if (address !== null) teardown.pending?.push(address);
  else teardown.failures.push(`no plugin of this kubelet takes down ${found.plugin}/${found.volume}`);
}
