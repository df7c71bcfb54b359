// Where adapters put the events that they come upon by themselves. Adapters are made before the shell that takes their events; until that
// is there an event is dropped, which costs nothing, since the agent begins by looking at everything.
import type { KubeletEvent } from '../../domain/agent/kubelet.js';

export class Inbox {
  private take: ((event: KubeletEvent) => void) | null = null;

  connect(take: (event: KubeletEvent) => void): void {
    this.take = take;
  }

  deliver(event: KubeletEvent): void {
    this.take?.(event);
  }
}
