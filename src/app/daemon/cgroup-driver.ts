// Which cgroup driver is in effect: the runtime's, where it says one, else that of the configuration. The log says which, and what it overrides.
import type { CgroupDriver } from '../../domain/cgroups/cgroup-name.js';
import type { Logger } from '../../ports/outbound/logger.js';

/** @param fromRuntime null: the runtime doesn't say */
export function cgroupDriverInEffect(fromRuntime: CgroupDriver | null, configured: CgroupDriver, logger: Logger): CgroupDriver {
  if (fromRuntime === null) {
    logger.log('info', 'CRI implementation should be updated to support RuntimeConfig. Falling back to using cgroupDriver from kubelet config.');
    return configured;
  }
  const fields = { cgroupDriver: fromRuntime, ...(fromRuntime === configured ? {} : { overriddenConfiguration: configured }) };
  logger.log('info', 'Using cgroup driver setting received from the CRI runtime', fields);
  return fromRuntime;
}
