// May a container that ended run again? Container-level restart policy and exit-code rules (KEP-5307), the action
// RestartAllContainers (KEP-5532) and the pod's restart policy, for phase, pod actions and the guard against illegal transitions.
// Invariant: rules count only on a container that has a restart policy of its own; without one the pod's policy decides alone.
import type { Container, ContainerRestartRule } from '../../ports/model/container.js';
import type { Pod } from '../../ports/model/pod.js';
import type { PodRuntimeStatus } from '../../ports/model/runtime-status.js';
import { derived } from '../values/derived.js';
import { findContainerStatus } from './runtime-lookup.js';

/** Reason of states and kills that come from restarting all containers of a pod in place. */
export const restartingAllContainers = 'RestartingAllContainers';

/** A sidecar: an init container that keeps running beside the regular ones. */
export function isRestartableInit(container: Container): boolean {
  return container.restartPolicy === 'Always';
}

export function podHasRestartableInit(pod: Pod): boolean {
  return (pod.spec.initContainers ?? []).some(isRestartableInit);
}

/** The container's policy if set, else the pod's; the default is `Always`. */
export function effectiveRestartPolicy(pod: Pod, container: Container): string {
  return nonEmpty(container.restartPolicy) ?? nonEmpty(pod.spec.restartPolicy) ?? 'Always';
}

/** The first rule that matches the exit code, whether or not the container has a policy that lets rules count; null when none does. */
export function matchingRestartRule(container: Container, exitCode: number): ContainerRestartRule | null {
  return container.restartPolicyRules?.find((rule) => ruleMatches(rule, exitCode)) ?? null;
}

/** Whether this exit triggers a restart of all of the pod's containers. */
export function triggersRestartAll(container: Container, exitCode: number): boolean {
  return matchingRestartRule(container, exitCode)?.action === 'RestartAllContainers';
}

/** Whether a container of the pod can trigger a restart of all. */
export const podHasRestartAllRule = derived((pod: Pod): boolean =>
  [...(pod.spec.initContainers ?? []), ...pod.spec.containers].some((container) => container.restartPolicyRules?.some((rule) => rule.action === 'RestartAllContainers') === true),
);

/** Whether the container may run again after it ended with `exitCode`. A deleted pod restarts nothing; that is the caller's to check. */
export function isRestartableAfterExit(pod: Pod, container: Container, exitCode: number): boolean {
  if (nonEmpty(container.restartPolicy) !== null) {
    const action = matchingRestartRule(container, exitCode)?.action;
    if (action === 'Restart' || action === 'RestartAllContainers') return true;
  }
  const policy = effectiveRestartPolicy(pod, container);
  return policy === 'Always' || (policy !== 'Never' && exitCode !== 0);
}

/** Whether a container of this pod will be started (again), given its newest instance in the runtime. */
export function shouldContainerBeRestarted(pod: Pod, container: Container, status: PodRuntimeStatus): boolean {
  if (pod.metadata.deletionTimestamp !== undefined) return false;
  const newest = findContainerStatus(status, container.name);
  if (newest === null) return true;
  if (newest.state === 'running') return false;
  if (newest.state !== 'exited') return true;
  return isRestartableAfterExit(pod, container, newest.exitCode);
}

function ruleMatches(rule: ContainerRestartRule, exitCode: number): boolean {
  if (rule.exitCodes === undefined) return false;
  const listed = rule.exitCodes.values?.includes(exitCode) === true;
  if (rule.exitCodes.operator === 'In') return listed;
  return rule.exitCodes.operator === 'NotIn' && !listed;
}

function nonEmpty(text: string | undefined): string | null {
  return text === undefined || text === '' ? null : text;
}
