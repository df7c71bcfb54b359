// Sends the service manager's watchdog keep-alive, at half of the requested interval, while every health check passes.
// See sd_watchdog_enabled(3).

import type { HealthCheck } from '../../ports/inbound/agent-queries.js';
import type { Logger } from '../../ports/outbound/logger.js';
import { StartRefusal } from '../../ports/start-refusal.js';
import type { NativeLinux } from './native-linux.js';

type ServiceManager = NativeLinux['serviceManager'];

const shortestMicros = 1_000_000;
const retryMillis = 1_000;

/** Refuses an interval that can't be one, before anything is started. */
export function checkWatchdog(environment: Readonly<Record<string, string | undefined>>): void {
  const text = environment.WATCHDOG_USEC;
  if (text === undefined || text === '') return;
  const refuse = (why: string) => new StartRefusal(`failed to run Kubelet: create health checker: configure watchdog: ${why}`);
  if (!/^-?\d+$/.test(text)) throw refuse(`error converting WATCHDOG_USEC: strconv.Atoi: parsing ${JSON.stringify(text)}: invalid syntax`);
  if (Number(text) <= 0) throw refuse('error WATCHDOG_USEC must be a positive number');
  if (Number(text) <= shortestMicros) throw new StartRefusal('failed to run Kubelet: create health checker: configure watchdog timeout too small: 1s');
}

export class Watchdog {
  private timer: NodeJS.Timeout | null = null;

  constructor(
    private readonly service: ServiceManager,
    private readonly checks: () => readonly HealthCheck[],
    private readonly logger: Logger,
  ) {}

  /** Does nothing when this process isn't watched. */
  start(): void {
    const interval = this.service.watchdogMicros();
    if (interval === null) return;
    this.timer = setInterval(() => this.beat(), interval / 2 / 1000);
    this.timer.unref();
  }

  stop(): void {
    if (this.timer !== null) clearInterval(this.timer);
    this.timer = null;
  }

  private beat(): void {
    const failed = this.checks().find(({ failure }) => failure !== null);
    if (failed !== undefined) {
      this.logger.log('error', 'Do not notify watchdog this iteration as the kubelet is reportedly not healthy', { check: failed.name, err: failed.failure });
    } else if (!this.notify()) {
      setTimeout(() => this.timer !== null && this.notify(), retryMillis).unref();
    }
  }

  private notify(): boolean {
    try {
      this.service.notify(['WATCHDOG=1']);
      return true;
    } catch (error) {
      this.logger.log('error', 'Failed to notify watchdog', { err: error instanceof Error ? error.message : String(error) });
      return false;
    }
  }
}
