// Removes the directories of pods that nobody knows, after what is left of their volumes: an agent that was killed may have mounted
// something for a pod that was gone when the next one came.
//
//   found by housekeeping -> volumes are taken down -> the directory is removed -> forgotten; a failure is met again by the next pass
import type { AgentOperations } from '../../ports/outbound/outbound-ports.js';
import type { Reply } from '../kernel/machine.js';
import { applyVolumeTeardownReply, askVolumeTeardown, newVolumeTeardown } from '../pod-sync/volume-teardown.js';
import type { AgentContext } from './agent-context.js';
import { syncAddress } from './worker-effects.js';

export const orphanMachine = 'orphan';

export function removeOrphanDirectory(context: AgentContext, uid: string): void {
  const { orphans } = context.state;
  if (orphans.has(uid)) return;
  orphans.set(uid, newVolumeTeardown(uid));
  proceed(context, uid);
}

export function orphanReplied(context: AgentContext, uid: string, reply: Reply<AgentOperations>): void {
  const teardown = context.state.orphans.get(uid);
  if (teardown === undefined) return;
  if (reply.op !== 'podDirectories.remove') {
    applyVolumeTeardownReply(teardown, reply, context.state.nodeFacts.rootDirectory);
    proceed(context, uid);
    return;
  }
  end(context, uid, reply.outcome.ok ? null : reply.outcome.error.message);
}

function proceed(context: AgentContext, uid: string): void {
  const { state, turn } = context;
  const teardown = state.orphans.get(uid);
  const address = { machine: orphanMachine, key: uid };
  if (teardown === undefined || askVolumeTeardown(teardown, turn, address)) return;
  if (teardown.failures.length === 0) {
    turn.ask('podDirectories.remove', address, 'directory', { uid });
    return;
  }
  end(context, uid, teardown.failures.join('; '));
}

function end({ state, turn }: AgentContext, uid: string, problem: string | null): void {
  state.orphans.delete(uid);
  // A pod of this UID that came meanwhile waits for this.
  if (state.pods.pods.has(uid)) turn.wakeAt(syncAddress(uid), turn.now);
  if (problem === null) return;
  turn.log('warn', 'Orphaned pod found, but failed to remove its directory', { podUID: uid, err: problem });
  state.housekeeping.dirty = true;
}
