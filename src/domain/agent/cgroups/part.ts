// Cgroups of the node, of the QoS classes and of pods.
import type { AgentPart } from '../part.js';
import { beginCgroupLook, cgroupLookAddress, cgroupLookReplied, planCgroupLook } from './cgroup-look.js';
import { nodeCgroupEnsured, nodeCgroupMachine, nodeCgroupSet, nodeCgroupsWoken, planNodeCgroups } from './node-cgroups.js';

/** `pkg/kubelet/cm`: cgroups of the node, of QoS classes and of pods. */
export const cgroups: AgentPart<'cgroups'> = {
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
