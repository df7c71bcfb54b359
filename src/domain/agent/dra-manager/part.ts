// Claims of pods for devices: prepared before their containers start, unprepared after they have ended.
import { draFileReplied, planDraFile } from '../../dra-manager/dra-file.js';
import { type DraManager, draFileAddress, draTaskMachine } from '../../dra-manager/dra-state.js';
import { claimRead, claimsPrepared, claimsUnprepared } from '../../dra-manager/dra-tasks.js';
import { assert } from '../../kernel/assert.js';
import { type AgentPart, whenSettled } from '../part.js';
import { drain } from '../sync-loop/sync-loop.js';
import { claimsAddress, draContext } from './claims.js';
import type { DraManagerContext } from './slice.js';

function draOf({ state: { dra } }: DraManagerContext): DraManager {
  assert(dra !== null, 'an answer came for claims of a node that has none');
  return dra;
}

/** `pkg/kubelet/cm/dra`. */
export const draManager: AgentPart<'draManager'> = {
  name: 'draManager',
  settle: (context) => {
    const { dra } = context.state;
    if (dra !== null) planDraFile(dra, draContext(context));
  },
  machines: {
    [claimsAddress.machine]: { woken: drain },
    [draTaskMachine]: {
      replies: {
        'apiReader.get': (context, uid, answer) => claimRead(draOf(context), uid, answer, draContext(context)),
        'draPlugin.prepare': (context, uid, answer) => claimsPrepared(draOf(context), uid, answer, draContext(context)),
        'draPlugin.unprepare': (context, uid, answer) => claimsUnprepared(draOf(context), uid, answer, draContext(context)),
      },
    },
    [draFileAddress.machine]: {
      replies: {
        'stateFiles.write': (context, _key, answer) => draFileReplied(draOf(context), answer, draContext(context)),
      },
      woken: whenSettled,
    },
  },
};
