// container-env: a container's whole environment, and its command and arguments expanded with it.
import type { ObjectLookup } from '../../../src/domain/containers/config-objects.js';
import { containerEnv } from '../../../src/domain/containers/container-env.js';
import { expandCommandAndArgs } from '../../../src/domain/containers/env-expansion.js';
import type { NodeAddress } from '../../../src/domain/status/pod-addresses.js';
import type { ConfigMap, Secret } from '../../../src/ports/model/config-objects.js';
import type { ResourceList } from '../../../src/ports/model/container.js';
import type { Pod } from '../../../src/ports/model/pod.js';
import type { Service } from '../../../src/ports/model/service.js';
import type { VectorDriver } from '../driver.js';

interface Input {
  readonly pod: Pod;
  readonly container: string;
  readonly services: readonly Service[];
  readonly haveServiceLister: boolean;
  readonly servicesSynced: boolean;
  readonly haveApiClient: boolean;
  readonly configMaps: readonly ConfigMap[];
  readonly secrets: readonly Secret[];
  readonly podIPs?: readonly string[];
  readonly nodeAddresses: readonly NodeAddress[];
  readonly nodeAllocatable: ResourceList;
  readonly volumeFiles?: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

const volumeRoot = '<volume dir>';

export const driver: VectorDriver = {
  run(input: Input) {
    const { pod } = input;
    const container = [...(pod.spec.initContainers ?? []), ...pod.spec.containers].find((candidate) => candidate.name === input.container)!;
    const volumes = input.volumeFiles ?? {};
    const files = new Map(Object.entries(volumes).flatMap(([volume, texts]) => Object.entries(texts).map(([path, text]) => [`${volumeRoot}/${volume}/${path}`, text])));
    const lookup = <T extends ConfigMap | Secret>(objects: readonly T[], name: string): ObjectLookup<T> => {
      const value = objects.find((object) => object.metadata.name === name && object.metadata.namespace === pod.metadata.namespace);
      return value === undefined ? { kind: 'notFound' } : { kind: 'found', value };
    };
    const env = containerEnv(pod, container, {
      services: input.haveServiceLister ? input.services : null,
      servicesSynced: input.servicesSynced,
      objects: input.haveApiClient ? { configMap: (name) => lookup(input.configMaps, name), secret: (name) => lookup(input.secrets, name) } : null,
      podIps: input.podIPs ?? [],
      nodeIps: [],
      nodeAddresses: input.haveApiClient ? input.nodeAddresses : null,
      allocatable: input.nodeAllocatable,
      volumeDirectories: Object.fromEntries(Object.keys(volumes).map((name) => [name, `${volumeRoot}/${name}`])),
      envFile: (path) => files.get(path) ?? null,
    });
    if (!env.ok) return { error: env.message };
    const { command, args } = expandCommandAndArgs(container, env.value);
    return {
      env: Object.fromEntries(env.value.map(({ name, value }) => [name, value])),
      ...(container.command === undefined ? {} : { command }),
      ...(container.args === undefined ? {} : { args }),
    };
  },
};
