// A resize by a run, as data: the remaining calls, in order.
import type { CgroupConfig } from '../cgroups/cgroup-config.js';

export type ResizedResource = 'memory' | 'cpu';

export type ResizeCall =
  /** Looks whether what shrinks is in use. */
  | { readonly kind: 'usage' }
  /** One side of what the pod as a whole is given. */
  | { readonly kind: 'pod'; readonly resource: ResizedResource; readonly side: 'limits' | 'requests' }
  /** The same side of the pod's own cgroup. */
  | { readonly kind: 'cgroup'; readonly resource: ResizedResource; readonly side: 'limits' | 'requests' }
  /** What the cgroup could not be given is taken back from the runtime; the resize ends with the problem. */
  | { readonly kind: 'rollback'; readonly problem: string }
  | { readonly kind: 'container'; readonly resource: ResizedResource; readonly id: string; readonly name: string };

export interface ResizeActuation {
  readonly calls: ResizeCall[];
  /** What the pod as a whole had before, and is to have. */
  readonly before: CgroupConfig;
  readonly after: CgroupConfig;
  /** Memory limits that shrink: of the pod (null: it doesn't), and of containers by name. Bytes. */
  readonly shrinking: { readonly pod: bigint | null; readonly containers: ReadonlyMap<string, number> };
  /** The pod-level resources are not what was last given. */
  readonly podLevel: boolean;
  /** A container was given something. */
  wrote: boolean;
  readonly startedAt: number;
}
