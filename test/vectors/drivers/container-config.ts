// container-config: what CreateContainer is called with.
import type { BlockVolume } from '../../../src/domain/containers/block-devices.js';
import type { DeviceOptions } from '../../../src/domain/containers/container-config.js';
import type { MountedVolume } from '../../../src/domain/containers/mounts.js';
import { runtimeConfigs } from '../../../src/domain/containers/runtime-configs.js';
import { podContainerDirectory } from '../../../src/domain/values/pod-directories.js';
import type { Container, EphemeralContainer } from '../../../src/ports/model/container.js';
import type { ImageSpec, RuntimeMount } from '../../../src/ports/model/container-config.js';
import type { PodRuntimeStatus, RuntimeContainerStatus } from '../../../src/ports/model/runtime-status.js';
import { type ConfigInput, nodeFacts, podInputs } from '../config-input.js';
import { containerConfigJson } from '../cri-json.js';
import type { VectorDriver } from '../driver.js';

interface Input extends ConfigInput {
  readonly container: string;
  readonly restartCount?: number;
  readonly podIPs?: readonly string[];
  readonly imageRef: string;
  readonly imageUid?: number;
  readonly imageUsername?: string;
  readonly targetContainerId?: string;
  readonly mountedVolumes?: Readonly<Record<string, MountedVolume & { readonly blockDeviceLink?: string }>>;
  readonly imageVolumes?: Readonly<Record<string, ImageSpec>>;
  readonly devicePluginOptions?: Omit<DeviceOptions, 'mounts'> & { readonly mounts?: readonly (Omit<RuntimeMount, 'readonly'> & { readonly readOnly?: boolean })[] };
}

export const driver: VectorDriver = {
  run(input: Input) {
    const container = containerNamed(input, input.container);
    const directory = podContainerDirectory('/var/lib/kubelet', input.pod.metadata.uid ?? '', container.name);
    const volumes = Object.entries(input.mountedVolumes ?? {});
    const { mounts, ...devices } = input.devicePluginOptions ?? {};
    const made = runtimeConfigs(nodeFacts(input.node)).container({
      ...podInputs(input),
      pod: input.pod,
      container,
      restartCount: input.restartCount ?? 0,
      podIps: input.podIPs ?? [],
      imageRef: input.imageRef,
      image: { uid: input.imageUid ?? null, username: input.imageUsername ?? '' },
      terminationFile: (container.terminationMessagePath ?? '') === '' ? '' : `${directory}/<8 hex>`,
      status: statusWith((container as EphemeralContainer).targetContainerName, input.targetContainerId),
      volumes: Object.fromEntries(volumes.filter(([, volume]) => volume.blockDeviceLink === undefined)),
      blockVolumes: Object.fromEntries(volumes.flatMap(([name, volume]): [string, BlockVolume][] => (volume.blockDeviceLink === undefined ? [] : [[name, blockVolume(volume)]]))),
      imageVolumes: input.imageVolumes ?? {},
      devices: { ...devices, mounts: (mounts ?? []).map(({ readOnly, ...mount }) => ({ ...mount, readonly: readOnly === true })) },
    });
    return made.ok ? { config: containerConfigJson(made.value) } : { error: made.message };
  },
};

function containerNamed({ pod }: Input, name: string): Container {
  const { containers, initContainers = [], ephemeralContainers = [] } = pod.spec;
  return [...initContainers, ...containers, ...ephemeralContainers].find((container) => container.name === name)!;
}

function blockVolume({ blockDeviceLink, readOnly }: MountedVolume & { readonly blockDeviceLink?: string }): BlockVolume {
  return { link: blockDeviceLink!, readOnly: readOnly === true };
}

function statusWith(name: string | undefined, id: string | undefined): PodRuntimeStatus {
  const containers = name === undefined || id === undefined ? [] : [{ name, id } as RuntimeContainerStatus];
  return { uid: '', name: '', namespace: '', ips: [], sandboxes: [], containers, observedAt: 0 };
}
