// A resize by a run, as data: the remaining calls, in order.
import type { CgroupConfig } from '../cgroups/cgroup-config.js';

export type ResizedResource = 'memory' | 'cpu';

export type ResizeCall =
  /** Looks whether what shrinks is in use. */
  | { readonly kind: 'usage' }
  /** One side of the pod-level values. */
  | { readonly kind: 'pod'; readonly resource: ResizedResource; readonly side: 'limits' | 'requests' }
  /** The same side of the pod's own cgroup. */
  | { readonly kind: 'cgroup'; readonly resource: ResizedResource; readonly side: 'limits' | 'requests' }
  /** The cgroup rejected the values: restores the runtime's values, and the resize ends with the problem. */
  | { readonly kind: 'rollback'; readonly problem: string }
  | { readonly kind: 'container'; readonly resource: ResizedResource; readonly id: string; readonly name: string };

export interface ResizeActuation {
  readonly calls: ResizeCall[];
  /** The pod-level values before and after. */
  readonly before: CgroupConfig;
  readonly after: CgroupConfig;
  /** Memory limits that shrink: of the pod (null: it doesn't), and of containers by name. Bytes. */
  readonly shrinking: { readonly pod: bigint | null; readonly containers: ReadonlyMap<string, number> };
  /** The pod-level resources differ from the last ones given. */
  readonly podLevel: boolean;
  /** A container was given something. */
  wrote: boolean;
  readonly startedAt: number;
}
