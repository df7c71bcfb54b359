// Pods in which something was created lately: a listing uses it to decide for which pods it is still complete.
// Exits and removals need no record, since an inspection by id shows them; no other client creates anything in the kubelet's pods.

/**
 * For how long a listing may be trusted at most, in milliseconds; older notes are dropped. It also bounds how late a creation is seen
 * that an earlier life of the agent asked for, of which this one knows nothing.
 */
export const listingMaxAgeMs = 1_000;

/** Times are those of a monotonic clock, in milliseconds. */
export class CreatedPods {
  /** Oldest first. */
  private readonly latest = new Map<string, number>();

  constructor(readonly clock: () => number = () => performance.now()) {}

  /** Performs a creation in a pod. It may take effect at any time until it has been answered, so both ends are noted. */
  async during<T>(uid: string, create: () => Promise<T>): Promise<T> {
    this.note(uid);
    try {
      return await create();
    } finally {
      this.note(uid);
    }
  }

  /** Whether a listing that was asked for at that time has all that there is of a pod. */
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
