// Receives the adapters' own events. Adapters are made before the shell that takes their events; an event before
// that is dropped without loss, since the agent begins with complete listings.
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
