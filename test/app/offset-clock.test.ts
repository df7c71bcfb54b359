// The daemon with a wall clock that is set while it doesn't run: the next one knows when containers started by the clock of the kernel.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { hostClockSources, WallAnchoredClock } from '../../src/adapters/time/index.js';
import type { Daemon } from '../../src/app/daemon/start-daemon.js';
import { tokens } from '../../src/app/tokens.js';
import { observedTimesFileName } from '../../src/domain/checkpoints/observed-times.js';
import { until } from '../support/until.js';
import { phaseOf, Stage } from './stage.js';

t.setTimeout(180_000);

t.test('a restart with a wall clock that was set', async (t) => {
  for (const hours of [2, -2]) {
    const clockOf = (shift: number) => new WallAnchoredClock(() => {}, { ...hostClockSources, wallMillis: () => Date.now() + shift });
    const first = clockOf(0);
    const stage = await Stage.open({}, first);
    t.teardown(() => stage.close());
    stage.manifest('a.yaml', stage.pod('a'));
    /** Microseconds from the boot to the start of the container; null: not known. */
    const startOf = (daemon: Daemon, { bootedAt }: WallAnchoredClock): number | null => {
      const { cache } = daemon.resolver.get(tokens.kernel).state.agent;
      for (const containers of cache.moments.values()) for (const { startedAt } of containers.values()) if (startedAt !== null) return Math.floor(startedAt - bootedAt);
      return null;
    };
    const before = await stage.start();
    await until('it runs', () => phaseOf(before, 'a-n1') === 'Running');
    const file = join(stage.root, observedTimesFileName);
    const started = startOf(before, first);
    await until('its start is written down', () => readFileSync(file, 'utf8').includes(String(started)));
    t.match(JSON.parse(readFileSync(file, 'utf8')), { bootID: readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim() });
    await before.stop();

    const second = clockOf(hours * 3_600_000);
    Object.assign(stage, { clock: second });
    const after = await stage.start();
    await until('it is found again', () => phaseOf(after, 'a-n1') === 'Running');
    t.equal(startOf(after, second), started, `${hours} h`);
    t.ok(Math.abs(second.bootedAt - first.bootedAt - hours * 3_600_000_000) < 60_000_000, 'the clock of intervals of the second one begins at its own wall clock');
  }
});
