// Parts of the container manager: what pods are granted of the node, and cgroups.
import { allocationMachine } from '../../allocation/allocation-state.js';
import { draFileReplied, planDraFile } from '../../dra-manager/dra-file.js';
import { type DraManager, draFileAddress, draTaskMachine } from '../../dra-manager/dra-state.js';
import { claimRead, claimsPrepared, claimsUnprepared } from '../../dra-manager/dra-tasks.js';
import { assert } from '../../kernel/assert.js';
import type { AgentContext } from '../agent-context.js';
import { stateFileMachine } from '../alignment-state.js';
import { allocationRead, allocationWritten, planAllocationFiles, readAllocation } from '../allocation-files.js';
import { beginCgroupLook, cgroupLookAddress, cgroupLookReplied, planCgroupLook } from '../cgroup-look.js';
import { claimsAddress, draContext } from '../claims.js';
import { cpuReconcileAddress, cpuUpdateMachine, cpuUpdateReplied, planCpuReconcile } from '../cpu-reconcile.js';
import { nodeCgroupEnsured, nodeCgroupMachine, nodeCgroupSet, nodeCgroupsWoken, planNodeCgroups } from '../node-cgroups.js';
import type { AgentPart } from '../part.js';
import { allocationWoken, beginResizes, planResizes } from '../resizes.js';
import { planStateFiles, stateFileReplied } from '../state-files.js';
import { drain } from '../sync-loop.js';

/** Handled at the end of the step. */
const whenSettled = (): void => {};

/** `pkg/kubelet/cm`: cgroups of the node, of QoS classes and of pods. */
export const cgroups: AgentPart = {
  name: 'cgroups',
  settle: (context) => {
    planCgroupLook(context);
    planNodeCgroups(context);
  },
  machines: {
    [cgroupLookAddress.machine]: { replies: { 'podCgroups.list': (context, _key, answer) => cgroupLookReplied(context, answer) }, woken: beginCgroupLook },
    [nodeCgroupMachine]: { replies: { 'podCgroups.set': nodeCgroupSet, 'podCgroups.ensure': nodeCgroupEnsured }, woken: ({ state }) => nodeCgroupsWoken(state) },
  },
};

/** `pkg/kubelet/cm/cpumanager`. */
export const cpuManager: AgentPart = {
  name: 'cpuManager',
  settle: planCpuReconcile,
  machines: { [cpuReconcileAddress.machine]: { woken: whenSettled }, [cpuUpdateMachine]: { replies: { 'containers.updateResources': cpuUpdateReplied } } },
};

/** The state files of the CPU and memory managers. */
export const managerStateFiles: AgentPart = {
  name: 'managerStateFiles',
  settle: planStateFiles,
  machines: { [stateFileMachine]: { replies: { 'stateFiles.write': stateFileReplied }, woken: whenSettled } },
};

function draOf({ state: { dra } }: AgentContext): DraManager {
  assert(dra !== null, 'an answer came for claims of a node that has none');
  return dra;
}

/** `pkg/kubelet/cm/dra`. */
export const draManager: AgentPart = {
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

/** `pkg/kubelet/allocation`. */
export const allocationManager: AgentPart = {
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
