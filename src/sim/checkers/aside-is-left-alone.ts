// No command is about a pod that is set aside, except reports, reads of its containers' images, and the rotation of their logs.

import { logRotationMachine } from '../../domain/agent/container-log-manager/log-rotation.js';
import type { KubeletOperations } from '../../domain/agent/kubelet.js';
import { setAsideMachine } from '../../domain/agent/set-aside/set-aside-state.js';
import type { Command } from '../../domain/kernel/machine.js';
import type { CheckedNode, Checker } from './checker.js';

/** The machines that work for pods that are aside. */
const allowed: ReadonlySet<string> = new Set([setAsideMachine, logRotationMachine]);
/** Those say something of all pods, or to people. */
const saying: ReadonlySet<string> = new Set(['events.record', 'stateFiles.write', 'apiWriter.create']);

export const asideIsLeftAlone: Checker<null> = {
  name: 'aside-is-left-alone',
  fresh: () => null,
  look(_memory, what, node, report) {
    if (what.kind !== 'command' || node.agent.setAside.pods.size === 0 || saying.has(what.command.op) || allowed.has(what.command.address.machine)) return;
    for (const { uid, phase } of node.agent.setAside.pods.values())
      if (phase === 'aside' && isAbout(what.command, uid, node))
        report(`${what.command.op} for ${what.command.address.machine}/${what.command.address.key} is about ${uid}, which is aside`);
  },
};

function isAbout({ address, slot, request }: Command<KubeletOperations>, uid: string, { runtime }: CheckedNode): boolean {
  const { containerId = '', sandboxId = '', uid: asked = null } = (request ?? {}) as { readonly containerId?: string; readonly sandboxId?: string; readonly uid?: unknown };
  if (asked === uid || [...address.key.split('/'), ...slot.split('/')].includes(uid)) return true;
  return runtime.containers.get(containerId)?.podUid === uid || runtime.sandboxes.get(sandboxId)?.config.metadata.uid === uid;
}
