// Settings of a simulated host: its paths, and the latencies of its disk and kernel.
import type { Micros } from '../../ports/micros.js';

export interface SimHostLatencies {
  /** Looks, and changes of a few directory entries. */
  readonly files: Micros;
  /** Making or removing a cgroup in all hierarchies. */
  readonly cgroups: Micros;
}

export interface SimHostOptions {
  readonly seed: number;
  readonly rootDirectory?: string;
  readonly podLogsDirectory?: string;
  readonly linksDirectory?: string;
  /** The cgroup above those of the pods, from the hierarchy's root. */
  readonly podsCgroup?: readonly string[];
  /** How many of the latest events are kept. */
  readonly eventsMax?: number;
  readonly latencies?: Partial<SimHostLatencies>;
}

export interface SimHostSettings extends Required<Omit<SimHostOptions, 'latencies'>> {
  readonly latencies: SimHostLatencies;
}

const defaults: Omit<SimHostSettings, 'seed'> = {
  rootDirectory: '/var/lib/kubelet',
  podLogsDirectory: '/var/log/pods',
  linksDirectory: '/var/log/containers',
  podsCgroup: ['kubepods'],
  eventsMax: 1_000,
  latencies: { files: 200, cgroups: 1_000 },
};

export function hostSettings(options: SimHostOptions): SimHostSettings {
  return { ...defaults, ...options, latencies: { ...defaults.latencies, ...options.latencies } };
}
