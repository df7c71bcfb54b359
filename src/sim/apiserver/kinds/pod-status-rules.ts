// Transitions of a status: an impossible one from a kubelet is refused, as by the real server.
import { forbidden, invalid, type Problems } from '../../../domain/pod-sources/validation/field-problem.js';
import { isRestartableInit } from '../../../domain/status/restart-rules.js';
import { parseIp } from '../../../domain/values/ip-address.js';
import type { Container } from '../../../ports/model/container.js';
import type { Pod } from '../../../ports/model/pod.js';
import type { ContainerStatus } from '../../../ports/model/pod-status.js';

export function checkStatusChange(problems: Problems, pod: Pod, old: Pod): void {
  const status = pod.status ?? {};
  const { initContainers = [], containers } = old.spec;
  checkTransitions(problems, 'status.containerStatuses', status.containerStatuses, old.status?.containerStatuses, containers, old.spec.restartPolicy);
  checkTransitions(problems, 'status.initContainerStatuses', status.initContainerStatuses, old.status?.initContainerStatuses, initContainers, old.spec.restartPolicy);
  checkHostAddresses(problems, status as { readonly hostIP?: string; readonly hostIPs?: readonly { readonly ip: string }[] });
  const addresses = status.podIPs ?? [];
  for (const [i, { ip }] of addresses.entries())
    if (parseIp(ip) === null) invalid(problems, `status.podIPs[${i}]`, ip, 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)');
  if (status.podIP !== undefined && addresses.length > 0 && addresses[0]?.ip !== status.podIP) {
    invalid(problems, 'status.podIPs[0].ip', addresses[0]?.ip, 'must be equal to `podIP`');
  }
}

function checkHostAddresses(problems: Problems, { hostIP, hostIPs = [] }: { readonly hostIP?: string; readonly hostIPs?: readonly { readonly ip: string }[] }): void {
  for (const [i, { ip }] of hostIPs.entries())
    if (parseIp(ip) === null) invalid(problems, `status.hostIPs[${i}]`, ip, 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)');
  if (hostIPs.length > 0 && hostIPs[0]?.ip !== (hostIP ?? '')) invalid(problems, 'status.hostIPs[0].ip', hostIPs[0]?.ip, 'must be equal to `hostIP`');
}

/** A container that ended stays so, unless its pod's policy or its own lets it start again. */
function checkTransitions(
  problems: Problems,
  field: string,
  statuses: readonly ContainerStatus[] | undefined,
  old: readonly ContainerStatus[] | undefined,
  containers: readonly Container[],
  restartPolicy: string | undefined,
): void {
  if (restartPolicy === 'Always') return;
  for (const [i, before] of (old ?? []).entries()) {
    const ended = before.state?.terminated;
    if (ended === undefined || (restartPolicy === 'OnFailure' && ended.exitCode !== 0)) continue;
    const container = containers.find(({ name }) => name === before.name);
    if (container !== undefined && (isRestartableInit(container) || container.restartPolicyRules !== undefined || container.restartPolicy !== undefined)) continue;
    const after = (statuses ?? []).find(({ name }) => name === before.name);
    if (after !== undefined && after.state?.terminated === undefined) forbidden(problems, `${field}[${i}].state`, 'may not be transitioned to non-terminated state');
  }
}
