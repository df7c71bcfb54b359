// Resources that pods are allocated and that containers have; resizes of running pods.
import { allocationMachine } from '../../allocation/allocation-state.js';
import type { AgentPart } from '../part.js';
import { drain } from '../sync-loop/sync-loop.js';
import { allocationRead, allocationWritten, planAllocationFiles, readAllocation } from './allocation-files.js';
import { allocationWoken, beginResizes, planResizes } from './resizes.js';

/** `pkg/kubelet/allocation`. */
export const allocationManager: AgentPart<'allocationManager'> = {
  name: 'allocationManager',
  start: (context) => {
    readAllocation(context);
    beginResizes(context);
  },
  settle: (context) => {
    planResizes(context);
    planAllocationFiles(context);
  },
  machines: {
    [allocationMachine]: {
      replies: {
        'stateFiles.read': (context, key, answer) => {
          if (allocationRead(context, key, answer)) drain(context);
        },
        'stateFiles.write': allocationWritten,
      },
      woken: allocationWoken,
    },
  },
};
