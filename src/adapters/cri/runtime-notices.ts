// The runtime's container events as events of the agent. The first answer shows whether the runtime supports them, and the agent is made accordingly.
// Invariant: a runtime that stops supporting them (it was replaced by an older one) is relisted every second from then on.
import type { RuntimeEvent, RuntimeEventSource } from '../../ports/outbound/runtime-events.js';

/** What the agent is notified of. */
export type RuntimeNotice = { readonly type: 'runtimeChanged'; readonly uids: readonly string[] } | { readonly type: 'runtimeChangesLost' };

/** After this much silence the runtime counts as one without events until its first answer. */
const firstAnswerMillis = 300;
const lookEveryMillis = 1_000;

export class RuntimeNotices {
  private deliver: ((event: RuntimeNotice) => void) | null = null;
  private answered: ((offers: boolean) => void) | null = null;
  private poll: NodeJS.Timeout | null = null;

  constructor(private readonly source: RuntimeEventSource) {}

  /** Subscribes. Resolves to whether the runtime sends events; drops those before `connect`: the agent begins with a relist. */
  open(): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.answered?.(false), firstAnswerMillis);
      this.answered = (offers) => {
        clearTimeout(timer);
        this.answered = null;
        resolve(offers);
      };
      this.source.start((event) => this.take(event));
    });
  }

  connect(deliver: (event: RuntimeNotice) => void): void {
    this.deliver = deliver;
  }

  stop(): void {
    this.deliver = null;
    if (this.poll !== null) clearInterval(this.poll);
    this.source.stop();
  }

  private take(event: RuntimeEvent): void {
    this.answered?.(event.kind !== 'unsupported');
    switch (event.kind) {
      case 'changed':
        this.deliver?.({ type: 'runtimeChanged', uids: [event.podUid] });
        return;
      case 'lost':
        this.deliver?.({ type: 'runtimeChangesLost' });
        return;
      case 'unsupported':
        this.lookByOurselves();
        return;
    }
  }

  private lookByOurselves(): void {
    if (this.deliver === null) return;
    this.poll ??= setInterval(() => this.deliver?.({ type: 'runtimeChangesLost' }), lookEveryMillis);
    this.poll.unref();
  }
}
