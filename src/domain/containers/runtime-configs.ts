// Converts specs to the runtime's configurations, for one set of node facts.
// Invariant: pure; a message describes an error in the spec.
import type { ContainerConfig } from '../../ports/model/container-config.js';
import type { Pod } from '../../ports/model/pod.js';
import { derived } from '../values/derived.js';
import { type ContainerRequest, containerConfig, environment } from './container-config.js';
import type { EnvVariable } from './env-expansion.js';
import { hostsFileText, podGetsHostsFile } from './hosts-file.js';
import type { Resolved } from './namespaces.js';
import type { NodeFacts } from './node-facts.js';
import { podHostname } from './pod-hostname.js';
import { type ConfiguredSandbox, type PodInputs, sandboxConfig } from './sandbox-config.js';

export interface RuntimeConfigs {
  sandbox(pod: Pod, attempt: number, inputs?: PodInputs): Resolved<ConfiguredSandbox>;
  container(request: ContainerRequest): Resolved<ContainerConfig>;
  /** The variables of a container, by which sub paths may be named. */
  environment(request: ContainerRequest): Resolved<readonly EnvVariable[]>;
  /** The text of the pod's hosts file; null when the pod gets none, or has no valid name (which keeps it from having containers too). */
  hosts(pod: Pod, podIps: readonly string[]): string | null;
}

export function runtimeConfigs(node: NodeFacts): RuntimeConfigs {
  // Computed at each start of a container, with the pod's current attempt.
  const attempts = derived((_pod: Pod) => new Map<number, Resolved<ConfiguredSandbox>>());
  return {
    sandbox(pod, attempt, inputs) {
      if (inputs !== undefined) return sandboxConfig(pod, attempt, node, inputs);
      const known = attempts(pod);
      const config = known.get(attempt) ?? sandboxConfig(pod, attempt, node);
      if (!known.has(attempt)) {
        known.clear();
        known.set(attempt, config);
      }
      return config;
    },
    container: (request) => containerConfig(request, node),
    environment: (request) => environment(request, node),
    hosts(pod, podIps) {
      const name = podHostname(pod, node.clusterDomain);
      return name.ok && podGetsHostsFile(pod, podIps) ? hostsFileText(pod, podIps, name.value, node.hostsFile) : null;
    },
  };
}
