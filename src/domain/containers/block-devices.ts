// Block devices of a container's volumes.
import type { Container } from '../../ports/model/container.js';
import type { RuntimeDevice } from '../../ports/model/container-config.js';
import { goQuote } from '../values/go-text.js';
import type { Resolved } from './namespaces.js';

/** A volume whose device is ready. */
export interface BlockVolume {
  /** The link to the volume's device on this node; null: none, and the container starts without it. */
  readonly link: string | null;
  readonly readOnly?: boolean;
}

/** In the order of the spec. */
export function blockDevices(container: Container, volumes: Readonly<Record<string, BlockVolume>>): Resolved<readonly RuntimeDevice[]> {
  const devices: RuntimeDevice[] = [];
  for (const { name, devicePath } of container.volumeDevices ?? []) {
    if (!devicePath.startsWith('/')) return { ok: false, message: `error DevicePath \`${devicePath}\` must be an absolute path` };
    const volume = Object.hasOwn(volumes, name) ? volumes[name] : undefined;
    if (volume === undefined) return { ok: false, message: `cannot find volume ${goQuote(name)} to pass into container ${goQuote(container.name)}` };
    if (volume.link !== null) devices.push({ hostPath: volume.link, containerPath: devicePath, permissions: volume.readOnly === true ? 'r' : 'mrw' });
  }
  return { ok: true, value: devices };
}
