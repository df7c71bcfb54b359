// Checks whether a connection's peer is alive: pings one that is silent while answers are awaited, and drops it without a reply.
// Otherwise TCP would detect a dead server only after a quarter of an hour.
// Invariant: a connection without requests costs no timer.

export interface LivenessLimits {
  /** Silence after which the peer is pinged. */
  readonly silentMillis: number;
  /** The time limit for any reply. */
  readonly answerMillis: number;
}

export class Liveness {
  private timer: NodeJS.Timeout | null = null;
  private isAsked = false;

  /** @param isAwaited whether an answer is awaited @param ask sends a ping @param lost called without a reply */
  constructor(
    private readonly limits: LivenessLimits,
    private readonly isAwaited: () => boolean,
    private readonly ask: () => void,
    private readonly lost: () => void,
  ) {}

  /** A request was sent. */
  began(): void {
    if (this.timer === null) this.wait(this.limits.silentMillis);
  }

  /** Something came. */
  heard(): void {
    if (this.timer === null) return;
    if (!this.isAsked) {
      this.timer.refresh();
      return;
    }
    this.isAsked = false;
    this.stop();
    this.wait(this.limits.silentMillis);
  }

  stop(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
  }

  private wait(millis: number): void {
    this.timer = setTimeout(() => this.due(), millis);
    this.timer.unref();
  }

  private due(): void {
    this.timer = null;
    if (this.isAsked) this.lost();
    else if (this.isAwaited()) {
      this.isAsked = true;
      this.ask();
      this.wait(this.limits.answerMillis);
    }
  }
}
