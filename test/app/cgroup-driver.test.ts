// The log says which cgroup driver is in effect, and what it overrides.
import t from 'tap';
import { cgroupDriverInEffect } from '../../src/app/daemon/cgroup-driver.js';
import type { Logger } from '../../src/ports/outbound/logger.js';

const received = 'Using cgroup driver setting received from the CRI runtime';
const rows = [
  ['systemd', 'cgroupfs', 'systemd', [received, { cgroupDriver: 'systemd', overriddenConfiguration: 'cgroupfs' }]],
  ['cgroupfs', 'systemd', 'cgroupfs', [received, { cgroupDriver: 'cgroupfs', overriddenConfiguration: 'systemd' }]],
  ['systemd', 'systemd', 'systemd', [received, { cgroupDriver: 'systemd' }]],
  [null, 'systemd', 'systemd', ['CRI implementation should be updated to support RuntimeConfig. Falling back to using cgroupDriver from kubelet config.', {}]],
] as const;

t.test('runtime, configuration -> driver and line', async (t) => {
  for (const [runtime, configured, driver, line] of rows) {
    const lines: unknown[] = [];
    const logger: Logger = { log: (_level, message, fields = {}) => lines.push([message, fields]), shows: () => true, named: () => logger };
    t.equal(cgroupDriverInEffect(runtime, configured, logger), driver);
    t.strictSame(lines, [line]);
  }
});
