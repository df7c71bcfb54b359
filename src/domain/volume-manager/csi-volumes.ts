// Volumes of CSI drivers after news about them: retries failures that lacked the driver, and resumes volumes that wait for its object.
import { csiDriverName, csiPlugin } from '../volumes/csi-volume.js';
import type { VolumeContext } from './volume-kind.js';
import { kindOf } from './volume-kinds.js';
import { labelsKnown } from './volume-labels.js';
import type { VolumeManager } from './volume-manager-state.js';
import { volumeWoken } from './volume-operations.js';

/** The driver can be called from now on, or can't any more. */
export function csiDriverChanged(manager: VolumeManager, driver: string, context: VolumeContext): void {
  if (context.csi.driver(driver) === null) return;
  for (const { name, plugin, spec } of manager.actual.values()) {
    const own = plugin === csiPlugin ? csiDriverName(spec) : null;
    if (own?.ok !== true || own.value !== driver) continue;
    for (const key of [...manager.backoffs.keys()]) if (key === name || key.startsWith(`${name} `)) manager.backoffs.delete(key);
    manager.dirty.add(name);
  }
}

/** The API's objects of the drivers have changed, or are known for the first time. */
export function csiDriversChanged(manager: VolumeManager, context: VolumeContext): void {
  const kind = kindOf(csiPlugin);
  for (const desired of manager.desired.values()) {
    if (desired.plugin !== csiPlugin) continue;
    const [first] = desired.pods.values();
    if (first !== undefined) desired.attachable = kind?.isAttachable?.(first.spec, context) === true;
    labelsKnown(manager, desired, context);
    manager.dirty.add(desired.name);
  }
  // Even if no pod wants them any more: operations in progress must end.
  for (const name of [...manager.operations.keys()]) if (manager.actual.get(name)?.plugin === csiPlugin) volumeWoken(manager, name, context);
}
