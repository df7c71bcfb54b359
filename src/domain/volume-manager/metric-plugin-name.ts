// The name of a volume's plugin in metrics: of CSI volumes the driver is part of it, since all of them share one plugin.
import { csiDriverName, csiPlugin } from '../volumes/csi-volume.js';
import type { VolumeSpec } from '../volumes/volume-spec.js';

/** @param spec null: it isn't known */
export function metricPluginName(plugin: string, spec: VolumeSpec | null): string {
  const driver = plugin === csiPlugin && spec !== null ? csiDriverName(spec) : null;
  return driver?.ok === true && driver.value !== '' ? `${plugin}:${driver.value}` : plugin;
}
