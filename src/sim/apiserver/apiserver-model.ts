// The apiserver as a member of a world beside the nodes: it has no agent, only its own timed work.
import type { Micros } from '../../ports/micros.js';
import type { NodeModel, Outside } from '../world.js';
import type { SimApiserver } from './sim-apiserver.js';

export class ApiserverModel<Event, Ops> implements NodeModel<Event, Ops> {
  constructor(private readonly server: SimApiserver) {}

  /** It has no agent. */
  perform(): void {}
  cancel(): void {}

  nextAt(): Micros | null {
    return this.server.nextAt();
  }

  advance(outside: Outside<Event, Ops>): void {
    this.server.advance(outside.now);
  }
}
