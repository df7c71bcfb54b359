// Keeps the cgroups of all pods and of the QoS classes at the values that follow from the node's settings and its pods' requests. Level-triggered: the
// desired values are compared with those written last.
//
//   start, a pod is added, removed or changed, all cgroups are checked -> the sums differ -> created and set at once, later only set
//                                                        -> failed: logged, and retried a minute later
//
// Invariants: one write a cgroup at a time; a burst of pods costs a few writes, not one each; without a difference nothing is written, except
// when all cgroups are checked (`cgroup-look.ts`, at the sync frequency while pods have cgroups), since other programs may have written, too.

import type { Micros } from '../../../ports/micros.js';
import type { CgroupValues } from '../../../ports/model/cgroup-values.js';
import { classCgroupConfigs, countPod } from '../../cgroups/class-cgroups.js';
import { podCgroupOptions } from '../../cgroups/pod-cgroup-config.js';
import { nodeAllocatableCgroup, qosClassCgroup } from '../../cgroups/pod-cgroup-name.js';
import { assert } from '../../kernel/assert.js';
import { canonicalJson } from '../../kernel/canonical.js';
import type { QosClass } from '../../qos/qos-class.js';
import { goQuote } from '../../values/go-text.js';
import type { AgentContext } from '../agent-context.js';
import type { AgentView } from '../agent-view.js';
import type { AnswerOf } from '../part.js';
import { isActive } from '../pod-workers/active-pods.js';
import { asCgroups, type CgroupsContext, cgroupsState } from './slice.js';

export const nodeCgroupMachine = 'node-cgroups';
const wakeAddress = { machine: nodeCgroupMachine, key: '' } as const;
const retryAddress = { machine: nodeCgroupMachine, key: 'retry' } as const;
const classes: readonly QosClass[] = ['Guaranteed', 'Burstable', 'BestEffort'];
const retryPause: Micros = 60_000_000;
/** Between writes: a kernel's lock of all cgroups is taken for each. */
const writePause: Micros = 100_000;

/** Something happened to the pod that may change whether it counts. */
export function noteNodeCgroups(view: AgentView, uid: string): void {
  const { nodeCgroups } = cgroupsState(view);
  nodeCgroups.changed.add(uid);
}

/** Recomputes and rewrites everything: with each check of all cgroups. */
export function refreshNodeCgroups(view: AgentView): void {
  const { nodeCgroups, pods } = cgroupsState(view);
  for (const uid of nodeCgroups.counted.keys()) nodeCgroups.changed.add(uid);
  for (const uid of pods.pods.keys()) nodeCgroups.changed.add(uid);
  for (const name of classes) nodeCgroups.cgroups[name].written = null;
  nodeCgroups.stale = true;
}

/** At the end of a step. */
export function planNodeCgroups(context: CgroupsContext): void {
  const { state, turn } = context;
  const { nodeCgroups, settings } = state;
  if (!settings.cgroupsPerQos || (nodeCgroups.changed.size === 0 && !nodeCgroups.stale)) return;
  count(state);
  if (turn.now < nodeCgroups.nextAt) {
    turn.wakeAt(wakeAddress, nodeCgroups.nextAt);
    return;
  }
  nodeCgroups.stale = false;
  const wanted = wantedValues(state);
  for (const name of classes) write(context, name, wanted[name]);
}

function count(view: AgentView): void {
  const state = cgroupsState(view);
  const { nodeCgroups, pods } = state;
  for (const uid of nodeCgroups.changed) {
    const pod = pods.pods.get(uid) ?? null;
    const counts = pod !== null && isActive(state, pod) ? pod : null;
    const counted = nodeCgroups.counted.get(uid) ?? null;
    if (counts === counted) continue;
    if (counted !== null) countPod(nodeCgroups.sums, counted, -1n);
    if (counts !== null) countPod(nodeCgroups.sums, counts, 1n);
    if (counts === null) nodeCgroups.counted.delete(uid);
    else nodeCgroups.counted.set(uid, counts);
    nodeCgroups.stale = true;
  }
  nodeCgroups.changed.clear();
}

function wantedValues({ nodeCgroups, nodeFacts, settings }: AgentView): Readonly<Record<QosClass, CgroupValues>> {
  const { pods, reservedMemoryPercent, allocatableMemoryBytes, hugePageBytes } = settings.nodeCgroups;
  const { memoryReservationPolicy } = podCgroupOptions(nodeFacts, false);
  const configs = classCgroupConfigs(nodeCgroups.sums, { memoryReservationPolicy, reservedMemoryPercent, allocatableMemoryBytes, hugePageBytes });
  const { hugePageLimits, unified } = configs.Guaranteed;
  return { ...configs, Guaranteed: { ...pods, hugePageLimits, unified: { ...pods.unified, ...unified } } };
}

/** Guaranteed pods are in the cgroup of all pods. */
function pathOf({ nodeFacts: { cgroupRoot } }: AgentView, name: QosClass): readonly string[] {
  return name === 'Guaranteed' ? nodeAllocatableCgroup(cgroupRoot, true) : qosClassCgroup(cgroupRoot, name);
}

function write({ state, turn }: CgroupsContext, name: QosClass, values: CgroupValues): void {
  const { nodeCgroups } = state;
  const cgroup = nodeCgroups.cgroups[name];
  const text = canonicalJson(values);
  if (cgroup.writing !== null || text === cgroup.written || (cgroup.retryAt !== null && turn.now < cgroup.retryAt)) return;
  cgroup.writing = text;
  cgroup.retryAt = null;
  nodeCgroups.nextAt = turn.now + writePause;
  const address = { machine: nodeCgroupMachine, key: name };
  const path = pathOf(state, name);
  if (cgroup.made) turn.ask('podCgroups.set', address, 'values', { name: path, values });
  else turn.ask('podCgroups.ensure', address, 'values', { name: path, values, rewrite: true });
}

export function nodeCgroupSet(context: CgroupsContext, key: string, { outcome }: AnswerOf<'podCgroups.set'>): void {
  nodeCgroupWritten(context, key, outcome.ok, outcome.ok ? null : outcome.error.message);
}

export function nodeCgroupEnsured(context: CgroupsContext, key: string, { outcome }: AnswerOf<'podCgroups.ensure'>): void {
  const problem = outcome.ok ? outcome.value.problem : outcome.error.message;
  nodeCgroupWritten(context, key, outcome.ok, problem === '' ? null : problem);
}

/** @param exists whether the cgroup exists after this */
function nodeCgroupWritten(context: CgroupsContext, key: string, exists: boolean, problem: string | null): void {
  const { state, turn } = context;
  const { nodeCgroups } = state;
  const name = classes.find((one) => one === key);
  assert(name !== undefined, 'an unknown QoS class has a cgroup', key);
  const cgroup = nodeCgroups.cgroups[name];
  assert(cgroup.writing !== null, 'an answer came for a cgroup that is not being written', key);
  // Missing values of an existing cgroup are only set again; a removed cgroup is created again.
  cgroup.made = exists;
  cgroup.written = problem === null ? cgroup.writing : null;
  cgroup.writing = null;
  nodeCgroups.stale = true;
  if (problem === null) {
    if (name === 'Guaranteed') reportEnforced(context);
    return;
  }
  cgroup.retryAt = turn.now + retryPause;
  turn.wakeAt(retryAddress, cgroup.retryAt);
  const path = pathOf(state, name);
  const message = `Failed to update Node Allocatable Limits [${path.map(goQuote).join(' ')}]: ${problem}`;
  if (name === 'Guaranteed' && !nodeCgroups.reportedEnforced) context.nodeEvent('Warning', 'FailedNodeAllocatableEnforcement', message);
  else turn.log('error', '[ContainerManager]: Failed to update QoS cgroup configuration', { cgroup: path.join('/'), err: problem });
}

function reportEnforced(context: CgroupsContext): void {
  const { nodeCgroups } = context.state;
  if (nodeCgroups.reportedEnforced) return;
  nodeCgroups.reportedEnforced = true;
  context.nodeEvent('Normal', 'NodeAllocatableEnforced', 'Updated Node Allocatable limit across pods');
}

/** Time has come for what waits. */
export function nodeCgroupsWoken(view: AgentView): void {
  const { nodeCgroups } = cgroupsState(view);
  nodeCgroups.stale = true;
}

/** The cgroup of the pod has its values. */
export function podCgroupWritten(caller: AgentContext, uid: string): void {
  asCgroups(caller).state.nodeCgroups.podsWritten.add(uid);
}

/** The cgroup of the pod doesn't have its values, or isn't there. */
export function podCgroupMissing(caller: AgentContext, uid: string): void {
  asCgroups(caller).state.nodeCgroups.podsWritten.delete(uid);
}
