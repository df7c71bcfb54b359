// Actuates a resize, one call after the other (see `resize-plan.ts` for the order).
//
//   usage -> [pod limits, pod requests, containers, pod requests, pod limits] of memory, then of cpu -> done
//         -> a limit would fall below the usage: nothing is written
//
// Invariants: the first failure ends it, and the next sync plans the rest; a container's values are recorded as soon as the runtime accepts them. A runtime
// without pod-level resources is no failure.
import type { Container, ResourceList, ResourceRequirements } from '../../ports/model/container.js';
import type { Pod } from '../../ports/model/pod.js';
import type { StatsSummary } from '../../ports/model/stats-summary.js';
import type { AgentOperations } from '../../ports/outbound/outbound-ports.js';
import { type CgroupConfig, emptyCgroupConfig } from '../cgroups/cgroup-config.js';
import { linuxContainerResources, linuxSandboxOverhead, linuxSandboxResources } from '../cgroups/linux-container-resources.js';
import { assert, unreachable } from '../kernel/assert.js';
import type { ReplyTo } from '../kernel/machine.js';
import { podReferenceTextOf } from '../values/pod-references.js';
import { failed, succeeded } from './action-result.js';
import { containerOf } from './container-of.js';
import type { ResizeActuation, ResizeCall, ResizedResource } from './resize-state.js';
import { podAddress, type SyncContext } from './sync-context.js';
import type { StepOutcome, SyncRun } from './sync-run.js';

export const resizeAction = 'ResizePodInPlace';
const resizeError = 'ResizePodInPlaceError';
const summaryTimeout = 60_000_000;

export function decideResizeStep(resize: ResizeActuation, run: SyncRun, context: SyncContext): StepOutcome {
  const call = resize.calls[0];
  if (call === undefined) {
    if (!run.results.some(({ action }) => action === resizeAction)) {
      if (resize.podLevel) context.allocation.podActuated(run.uid, run.pod.spec.resources ?? null);
      run.results.push(succeeded(resizeAction, podReferenceTextOf(run.pod)));
    }
    return 'done';
  }
  run.outstanding++;
  ask(resize, call, run, context);
  return 'waiting';
}

function ask({ after }: ResizeActuation, call: ResizeCall, run: SyncRun, context: SyncContext): void {
  const { turn, settings } = context;
  const address = podAddress(run.uid);
  switch (call.kind) {
    case 'usage':
      turn.ask('nodeStats.summary', address, 'usage', null, summaryTimeout);
      return;
    case 'pod':
      turn.ask('sandboxes.updateResources', address, 'resize', { sandboxId: run.sandboxId, ...sandboxResources(run, run.pod, context) }, settings.runtimeRequestTimeout);
      return;
    case 'rollback': {
      const before = sandboxResources(run, context.allocation.actuatedPod(run.pod), context);
      turn.ask('sandboxes.updateResources', address, 'resize', { sandboxId: run.sandboxId, ...before }, settings.runtimeRequestTimeout);
      return;
    }
    case 'cgroup':
      turn.ask('podCgroups.set', address, 'resize', { name: settings.podCgroup(run.pod) ?? [], values: sideOf(after, call) });
      return;
    case 'container': {
      const container = containerOf(run.pod, call.name);
      const resources = linuxContainerResources(run.pod, withResources(container, given(call, container, run, context)), context.nodeFacts, {
        exclusiveCpus: context.pinning.liftsPodQuota(run.uid),
      });
      turn.ask('containers.updateResources', address, 'resize', { containerId: call.id, resources }, settings.runtimeRequestTimeout);
      return;
    }
    default:
      unreachable(call);
  }
}

export type ResizeReply = ReplyTo<AgentOperations, 'nodeStats.summary' | 'sandboxes.updateResources' | 'podCgroups.set' | 'containers.updateResources'>;

export function applyResizeReply(resize: ResizeActuation, run: SyncRun, reply: ResizeReply, context: SyncContext): void {
  const call = resize.calls.shift();
  assert(call !== undefined, 'a resize got an answer that it does not wait for', run.uid);
  const problem = problemOf(resize, call, run, reply);
  if (problem !== null && call.kind === 'cgroup') {
    // Only a write of all values sets the cgroup to the allocation: the containers may have it already.
    context.podCgroupBehind(run);
    resize.calls.splice(0, resize.calls.length, { kind: 'rollback', problem });
    return;
  }
  if (problem !== null) {
    resize.calls.length = 0;
    if (resize.wrote) run.results.push(succeeded(resizeAction, podReferenceTextOf(run.pod)));
    run.results.push(failed(resizeAction, podReferenceTextOf(run.pod), resizeError, problem));
    return;
  }
  if (call.kind !== 'container') return;
  resize.wrote = true;
  const container = containerOf(run.pod, call.name);
  context.allocation.containerActuated(run.uid, call.name, given(call, container, run, context));
}

function problemOf(resize: ResizeActuation, call: ResizeCall, run: SyncRun, reply: ResizeReply): string | null {
  if (call.kind === 'usage') {
    assert(reply.op === 'nodeStats.summary', 'the usage of a pod was not read', run.uid);
    return reply.outcome.ok ? limitProblem(resize, run.uid, reply.outcome.value.summary) : `cannot decrease memory limits: ${reply.outcome.error.message}`;
  }
  if (call.kind === 'rollback') return call.problem;
  if (reply.outcome.ok) return null;
  const { kind, message } = reply.outcome.error;
  if (call.kind === 'pod' && (kind === 'unimplemented' || (kind === 'unknown' && message.includes('not implemented')))) return null;
  return message;
}

/** Why limits can't shrink this far: the usage exceeds them. */
function limitProblem({ shrinking }: ResizeActuation, uid: string, { pods = [] }: StatsSummary): string | null {
  const stats = pods.find(({ podRef }) => podRef.uid === uid);
  const problems: string[] = [];
  if (shrinking.pod !== null) {
    const used = stats?.memory?.usageBytes;
    if (used === undefined) problems.push('missing pod memory usage');
    else if (BigInt(Math.trunc(used)) >= shrinking.pod) problems.push(`attempting to set pod memory limit (${shrinking.pod}) below current usage (${used})`);
  }
  for (const [name, limit] of shrinking.containers) {
    const used = stats?.containers?.find((container) => container.name === name)?.memory?.usageBytes;
    if (used === undefined) problems.push(`missing container ${JSON.stringify(name)} memory usage`);
    else if (used >= limit) problems.push(`attempting to set container ${JSON.stringify(name)} memory limit (${limit}) below current usage (${used})`);
  }
  if (problems.length === 0) return null;
  return `cannot decrease memory limits: ${problems.length === 1 ? problems.join('') : `[${problems.join(', ')}]`}`;
}

function sandboxResources({ uid }: SyncRun, pod: Pod, { nodeFacts, pinning }: SyncContext) {
  return { resources: linuxSandboxResources(pod, nodeFacts, { exclusiveCpus: pinning.liftsPodQuota(uid) }), overhead: linuxSandboxOverhead(pod, nodeFacts) };
}

/** One side of one resource, from the wanted cgroup values. */
function sideOf(after: CgroupConfig, { resource, side }: Extract<ResizeCall, { kind: 'cgroup' }>): CgroupConfig {
  const { memoryBytes, cpuShares, cpuQuotaMicros, cpuPeriodMicros } = after;
  if (resource === 'memory') return { ...emptyCgroupConfig, memoryBytes };
  return side === 'requests' ? { ...emptyCgroupConfig, cpuShares } : { ...emptyCgroupConfig, cpuQuotaMicros, cpuPeriodMicros };
}

/** The allocated value of the updated resource, and the container's current values of the others: each update carries all of them. */
function given({ name, resource }: Extract<ResizeCall, { kind: 'container' }>, container: Container | null, run: SyncRun, context: SyncContext): ResourceRequirements {
  const wanted = container?.resources ?? {};
  const has = context.actuatedResources(run).containers.get(name);
  return has === undefined ? wanted : mixed(has, wanted, resource);
}

function mixed(has: ResourceRequirements, wanted: ResourceRequirements, resource: ResizedResource): ResourceRequirements {
  const other = resource === 'cpu' ? 'memory' : 'cpu';
  const limits = side(has.limits, wanted.limits, other);
  const requests = side(has.requests, wanted.requests, other);
  return { ...wanted, ...(limits === undefined ? {} : { limits }), ...(requests === undefined ? {} : { requests }) };
}

function side(has: ResourceList | undefined, wanted: ResourceList | undefined, other: ResizedResource): ResourceList | undefined {
  const kept = has?.[other];
  if (wanted?.[other] === kept) return wanted;
  const { [other]: _, ...rest } = wanted ?? {};
  return kept === undefined ? rest : { ...rest, [other]: kept };
}

function withResources(container: Container | null, resources: ResourceRequirements): Container {
  return { ...(container ?? { name: '' }), resources };
}
