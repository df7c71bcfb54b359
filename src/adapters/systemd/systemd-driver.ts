// The way to systemd, where it owns the cgroups: the bus of this host, and whether systemd answers there before any pod depends on it.
import { existsSync } from 'node:fs';
import type { Logger } from '../../ports/outbound/logger.js';
import { StartRefusal } from '../../ports/start-refusal.js';
import { SystemBus } from './system-bus.js';
import type { SystemdUnits } from './systemd-units.js';

/** systemd makes it where it is the init process, sd_booted(3). */
const runningMark = '/run/systemd/system';

/** A bus that is named (`DBUS_SYSTEM_BUS_ADDRESS`) is the only way; else the host's, or systemd's own socket. */
export function systemBusOf(environment: Readonly<Record<string, string | undefined>>): SystemBus {
  const address = environment.DBUS_SYSTEM_BUS_ADDRESS ?? '';
  return address === '' ? new SystemBus() : new SystemBus({ address, privateSocket: null });
}

/** Throws StartRefusal if systemd doesn't answer: no pod could get a cgroup. */
export async function meetSystemd(units: SystemdUnits, logger: Logger): Promise<void> {
  try {
    const version = await units.version();
    logger.log('info', 'Cgroups are slices of systemd', { version });
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const absent = existsSync(runningMark) ? '' : 'systemd not running on this host, cannot use systemd cgroups manager: ';
    throw new StartRefusal(`failed to run Kubelet: failed to start ContainerManager: ${absent}${why}`);
  }
}
