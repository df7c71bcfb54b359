// Short manifests for worlds, and times in common units.
import type { Container } from '../../src/ports/model/container.js';
import type { Pod, PodSpec } from '../../src/ports/model/pod.js';

export const ms = 1_000;
export const second = 1_000_000;
export const minute = 60 * second;

export interface PodShape {
  readonly uid?: string;
  readonly policy?: 'Always' | 'OnFailure' | 'Never';
  readonly grace?: number;
  /** Container -> its script; the sim's words. */
  readonly containers?: Readonly<Record<string, string>>;
  readonly init?: Readonly<Record<string, string>>;
  /** Init containers that keep running beside the others. */
  readonly sidecars?: Readonly<Record<string, string>>;
  readonly image?: string;
  readonly spec?: Partial<PodSpec>;
  readonly env?: string;
}

/** A pod with one container `c` that runs until it is stopped, unless the shape says otherwise. */
export function podOf(name: string, shape: PodShape = {}): Pod {
  const { containers = { c: 'run=forever' }, init = {}, sidecars = {}, image = 'busybox', env } = shape;
  const container = (name: string): Container => ({
    name,
    image,
    imagePullPolicy: 'IfNotPresent',
    ...(env === undefined ? {} : { env: [{ name: 'VERSION', value: env }] }),
  });
  const initContainers = [...Object.keys(sidecars).map((name): Container => ({ ...container(name), restartPolicy: 'Always' })), ...Object.keys(init).map(container)];
  const scripts = Object.entries({ ...containers, ...init, ...sidecars }).map(([name, script]) => [`sim.kubelet-ts/${name}`, script]);
  return {
    metadata: { name, namespace: 'default', annotations: Object.fromEntries(scripts), ...(shape.uid === undefined ? {} : { uid: shape.uid }) },
    spec: {
      restartPolicy: shape.policy ?? 'Always',
      terminationGracePeriodSeconds: shape.grace ?? 5,
      containers: Object.keys(containers).map(container),
      ...(initContainers.length === 0 ? {} : { initContainers }),
      ...shape.spec,
    },
  };
}
