// A pod of the comparison: what is made, and when it has come to rest.

import type { Json } from '../admin-client.js';
import { busybox } from '../peer-stand.js';

export interface PodCase {
  readonly name: string;
  readonly spec: object;
  readonly metadata: object;
  /** Made before it. */
  readonly others: readonly object[];
  /** Whether a status is the one to compare. What is compared has held for a moment without a change. */
  readonly settled: (pod: Json) => boolean;
}

/** Prints what a container sees: as a log it is there also for those that have ended. */
export const look = `echo "== env"; env | sort
echo "== hosts"; cat /etc/hosts
echo "== resolv.conf"; cat /etc/resolv.conf
echo "== hostname"; hostname; cat /proc/sys/kernel/domainname
echo "== id"; id
echo "== status"; grep -E '^(Cap|NoNewPrivs|Seccomp:|Groups|Umask)' /proc/self/status
echo "== limits"; cat /proc/self/oom_score_adj; ulimit -a | grep -E 'core|processes'
echo "== processes"; ls -d /proc/1/root/pause 2>/dev/null
echo "== mounts"; awk '{ print $5, $6, $4 }' /proc/self/mountinfo | sort
echo "== devices"; ls /dev
echo "== files"; ls -lnL /v /v/* /var/run/secrets/kubernetes.io/serviceaccount 2>&1 | awk '{ print $1, $3, $4, $5, $9 }'
echo "== end"
`;

type More = { readonly metadata?: object; readonly others?: readonly object[] };

export function podCase(name: string, spec: object, settled: (pod: Json) => boolean, { metadata = {}, others = [] }: More = {}): PodCase {
  return { name, spec: { terminationGracePeriodSeconds: 1, ...spec }, metadata, others, settled };
}

/** A container that looks around, runs a script, and waits. */
export function looking(more: object = {}, script = ''): object {
  return { name: 'main', image: busybox, command: ['sh', '-c', `trap 'exit 0' TERM\n${look}${script}\nsleep 1000000 & wait`], ...more };
}

/** A container that runs a script and ends with it. */
export function ending(script: string, more: object = {}): object {
  return { name: 'main', image: busybox, command: ['sh', '-c', script], ...more };
}

export const runs = ({ status }: Json): boolean => status.phase === 'Running' && isTrue(status, 'Ready');

/** Runs, but isn't ready. */
export const runsUnready = ({ status }: Json): boolean =>
  status.phase === 'Running' && !isTrue(status, 'Ready') && status.containerStatuses.every((one: Json) => one.state.running !== undefined);

/** What matters is in the status: an exit that comes of a signal may be either. */
export const hasEnded = (pod: Json): boolean => pod.status.phase === 'Succeeded' || pod.status.phase === 'Failed';

/** One of its containers, of any kind, waits for a reason; after some restarts. */
export const waitsFor =
  (reason: string, restarts = 0) =>
  ({ status }: Json): boolean =>
    containersOf(status).some((one) => one.state.waiting?.reason === reason && one.restartCount === restarts);

export const isPending = ({ status }: Json): boolean => status.phase === 'Pending' && (status.conditions?.length ?? 0) > 1;

/** A container has been started again that often and runs. */
export const hasRestarted =
  (times: number) =>
  ({ status }: Json): boolean =>
    containersOf(status).some((one) => one.restartCount === times && one.state.running !== undefined);

export function containersOf(status: Json): Json[] {
  return [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? []), ...(status.ephemeralContainerStatuses ?? [])];
}

function isTrue(status: Json, type: string): boolean {
  return (status.conditions ?? []).some((one: Json) => one.type === type && one.status === 'True');
}
