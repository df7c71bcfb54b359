// The log of events of a simulated node: the newest of them.
import type { Micros } from '../../ports/micros.js';
import type { EventSinkOperations } from '../../ports/outbound/event-sink.js';
import type { SimHostSettings } from './host-options.js';
import type { ModelOf } from './host-ports.js';
import type { SimHostState } from './host-state.js';

export class SimEventSink implements ModelOf<EventSinkOperations> {
  constructor(
    private readonly state: Pick<SimHostState, 'events' | 'eventsLost'>,
    private readonly settings: SimHostSettings,
  ) {}

  record(record: EventSinkOperations['record']['request'], at: Micros): null {
    this.state.events.push({ at, record });
    if (this.state.events.length > this.settings.eventsMax) {
      this.state.events.shift();
      this.state.eventsLost++;
    }
    return null;
  }
}
