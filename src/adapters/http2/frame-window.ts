// The receiving side of flow control (RFC 9113, section 5.2): how much the peer may still send, and when to send a window update.
import { Http2ProtocolError, http2Error } from './frames.js';

/** Larger than HTTP/2's first window of 64 KiB: a list of hundreds of containers would wait for window updates. */
export const windowBytes = 1024 * 1024;

export class FrameWindow {
  private left = windowBytes;

  /** Takes what came. Throws Http2ProtocolError. */
  take(bytes: number): void {
    this.left -= bytes;
    if (this.left < 0) throw new Http2ProtocolError(http2Error.flowControlError, 'more data than its window holds');
  }

  /** What came is dealt with. @returns by how much to enlarge the peer's window now; 0: not yet */
  refill(): number {
    if (this.left > windowBytes / 2) return 0;
    const more = windowBytes - this.left;
    this.left = windowBytes;
    return more;
  }
}
