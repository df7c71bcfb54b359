// Exclusive CPUs and memory of containers: CPU sets, and state files.
import { type AgentPart, whenSettled } from '../part.js';
import { stateFileMachine } from './alignment-state.js';
import { cpuReconcileAddress, cpuUpdateMachine, cpuUpdateReplied, planCpuReconcile } from './cpu-reconcile.js';
import { planStateFiles, stateFileReplied } from './state-files.js';

/** `pkg/kubelet/cm/cpumanager`. */
export const cpuManager: AgentPart<'resourceManagers'> = {
  name: 'cpuManager',
  settle: planCpuReconcile,
  machines: { [cpuReconcileAddress.machine]: { woken: whenSettled }, [cpuUpdateMachine]: { replies: { 'containers.updateResources': cpuUpdateReplied } } },
};

/** The state files of the CPU and memory managers. */
export const managerStateFiles: AgentPart<'resourceManagers'> = {
  name: 'managerStateFiles',
  settle: planStateFiles,
  machines: { [stateFileMachine]: { replies: { 'stateFiles.write': stateFileReplied }, woken: whenSettled } },
};
