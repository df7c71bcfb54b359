// Writes Kubernetes events to the log, and keeps the latest of them for queries.
// Invariant: at most `keptMax` are kept; dropped ones are counted.
import type { Micros } from '../../ports/micros.js';
import type { PortOf } from '../../ports/operation.js';
import type { EventRecord, EventSinkOperations } from '../../ports/outbound/event-sink.js';
import type { Logger } from '../../ports/outbound/logger.js';

export interface KeptEvent {
  readonly at: Micros;
  readonly record: EventRecord;
}

export class LoggingEventSink implements PortOf<EventSinkOperations> {
  private readonly kept: KeptEvent[] = [];
  private oldest = 0;
  /** Events that are no longer kept. */
  dropped = 0;

  constructor(
    private readonly logger: Logger,
    private readonly now: () => Micros,
    private readonly keptMax = 1_000,
  ) {}

  async record(record: EventRecord): Promise<null> {
    const { namespace = '', name = '', kind, apiVersion, fieldPath = '' } = record.involvedObject;
    const object = namespace === '' ? name : `${namespace}/${name}`;
    const { type, reason, message } = record;
    this.logger.log(type === 'Warning' ? 'warn' : 'info', 'Event occurred', { object, fieldPath, kind, apiVersion, type, reason, message });
    this.keep({ at: this.now(), record });
    return null;
  }

  /** Oldest first. */
  latest(): readonly KeptEvent[] {
    return [...this.kept.slice(this.oldest), ...this.kept.slice(0, this.oldest)];
  }

  private keep(event: KeptEvent): void {
    if (this.kept.length < this.keptMax) {
      this.kept.push(event);
      return;
    }
    this.dropped++;
    if (this.keptMax === 0) return;
    this.kept[this.oldest] = event;
    this.oldest = (this.oldest + 1) % this.keptMax;
  }
}
