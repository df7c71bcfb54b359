// The receiving side of flow control (RFC 9113, section 5.2): what the peer may still send, and when it is to be told of more.
// Invariant: more is left than a frame holds, as what comes is taken at once, so a peer that keeps to frames can't overrun it.

/** Larger than HTTP/2's first window of 64 KiB: a list of hundreds of containers would wait for window updates. */
export const windowBytes = 1024 * 1024;

export class FrameWindow {
  private left = windowBytes;

  /** Takes what came. @returns by how much to enlarge the peer's window now; 0: not yet. */
  take(bytes: number): number {
    this.left -= bytes;
    if (this.left > windowBytes / 2) return 0;
    const more = windowBytes - this.left;
    this.left = windowBytes;
    return more;
  }
}
