// downward-api: fields and resources as values of variables and contents of files.
import { envFieldValue, volumeFieldValue } from '../../../src/domain/containers/downward-fields.js';
import { envResourceValue, volumeResourceValue } from '../../../src/domain/containers/downward-resources.js';
import type { NodeAddress } from '../../../src/domain/status/pod-addresses.js';
import type { ResourceList } from '../../../src/ports/model/container.js';
import type { ObjectFieldSelector, ResourceFieldSelector } from '../../../src/ports/model/field-selector.js';
import type { Pod } from '../../../src/ports/model/pod.js';
import type { VectorDriver } from '../driver.js';

interface Input {
  readonly kind: 'env' | 'volume';
  readonly pod: Pod;
  readonly container?: string;
  readonly fieldRef?: ObjectFieldSelector;
  readonly resourceFieldRef?: ResourceFieldSelector;
  readonly podIPs?: readonly string[];
  readonly nodeIPs?: readonly string[];
  readonly nodeAddresses: readonly NodeAddress[];
  readonly nodeAllocatable: ResourceList;
}

export const driver: VectorDriver = {
  run(input: Input) {
    const result = input.kind === 'env' ? variable(input) : file(input);
    return result.ok ? { value: result.value } : { error: result.message };
  },
};

function variable(input: Input): ReturnType<typeof envFieldValue> {
  const { pod, fieldRef, resourceFieldRef } = input;
  if (fieldRef !== undefined) return envFieldValue(pod, fieldRef, { podIps: input.podIPs ?? [], nodeIps: input.nodeIPs ?? [], nodeAddresses: input.nodeAddresses });
  const container = [...(pod.spec.initContainers ?? []), ...pod.spec.containers].find((candidate) => candidate.name === input.container)!;
  return envResourceValue(pod, container, resourceFieldRef!, input.nodeAllocatable);
}

function file({ pod, fieldRef, resourceFieldRef, nodeAllocatable }: Input): ReturnType<typeof envFieldValue> {
  return fieldRef !== undefined ? volumeFieldValue(pod, fieldRef) : volumeResourceValue(pod, resourceFieldRef!, nodeAllocatable);
}
