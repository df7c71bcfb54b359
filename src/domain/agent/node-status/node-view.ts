// The agent's state that its Node reports.
import { noDevices } from '../../cgroups/node-allocatable.js';
import type { PressureState } from '../../eviction/pressure.js';
import type { NodeView } from '../../node-status/node-facts-of.js';
import { plegProblem } from '../../pleg/pleg.js';
import { csiNodeProblem } from '../../plugins/plugin-manager-state.js';
import { volumesInUse } from '../../volume-manager/volume-waiting.js';
import type { AgentView } from '../agent-view.js';
import { runtimeProblemList } from '../runtime-state/runtime-readiness.js';

/** The Node's pressure conditions are eviction's. */
export function pressuresOf({ conditions }: Pick<PressureState, 'conditions'>): NodeView['pressures'] {
  return { memory: conditions.includes('MemoryPressure'), disk: conditions.includes('DiskPressure'), pid: conditions.includes('PIDPressure') };
}

export function nodeView({ readiness, pleg, volumes, plugins, settings, eviction, shutdown }: AgentView, now: number): NodeView {
  return {
    runtimeProblems: runtimeProblemList(readiness, plegProblem(pleg, now), now),
    networkProblems: problemList(readiness.networkProblem),
    // Storage problems are reported if the node has a CSINode; without plugins it needs none.
    storageProblems: settings.takesPlugins ? problemList(csiNodeProblem(plugins)) : [],
    shuttingDown: shutdown.manager.shuttingDown,
    pressures: pressuresOf(eviction.loop.pressure),
    runtime: readiness.name === '' ? null : { name: readiness.name, version: readiness.version },
    runtimeHandlers: readiness.handlers,
    supplementalGroupsPolicy: readiness.supplementalGroupsPolicy,
    // Nothing on this node plugs devices in yet.
    devices: noDevices,
    volumesInUse: volumesInUse(volumes),
  };
}

function problemList(problem: string | null): readonly string[] {
  return problem === null ? [] : [problem];
}
