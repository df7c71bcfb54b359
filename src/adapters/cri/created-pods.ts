// Pods in which something was created lately: a listing uses it to decide for which pods it is still complete.
// Exits and removals need no record, since an inspection by id shows them; no other client creates anything in the kubelet's pods.

/**
 * The maximum age of a listing that may be used, in milliseconds; older records are dropped. It also bounds the delay of a creation
 * that an earlier life of the agent requested.
 */
const listingMaxAgeMs = 1_000;

/** Times are those of a monotonic clock, in milliseconds. */
export class CreatedPods {
  /** Oldest first. */
  private readonly latest = new Map<string, number>();

  constructor(readonly clock: () => number = () => performance.now()) {}

  /** Performs a creation in a pod. It may take effect at any time until its answer, so both ends are recorded. */
  async during<T>(uid: string, create: () => Promise<T>): Promise<T> {
    this.note(uid);
    try {
      return await create();
    } finally {
      this.note(uid);
    }
  }

  /** Whether a listing requested at that time contains everything of a pod. */
  isCompleteFor(uid: string, listedAtMs: number): boolean {
    return this.clock() - listedAtMs < listingMaxAgeMs && (this.latest.get(uid) ?? Number.NEGATIVE_INFINITY) < listedAtMs;
  }

  private note(uid: string): void {
    const now = this.clock();
    this.latest.delete(uid);
    this.latest.set(uid, now);
    for (const [old, at] of this.latest) {
      if (now - at <= listingMaxAgeMs) return;
      this.latest.delete(old);
    }
  }
}
