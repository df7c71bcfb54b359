// A lane over TLS: HTTP/2, until the server shows that it speaks only HTTP/1.1; then that, for as long as the identity lives.
import type { LivenessLimits } from '../http2/index.js';
import type { Answer } from './answer.js';
import type { ClientIdentity } from './credentials.js';
import { Http1Lane } from './http1-lane.js';
import { Http2Lane, OnlyHttp1 } from './http2-lane.js';
import type { Lane, Outgoing, Route } from './lane.js';

export class SecureLane implements Lane {
  private newer: Http2Lane;
  private older: Http1Lane | null = null;

  constructor(
    private readonly route: Route,
    private readonly liveness: LivenessLimits,
  ) {
    this.newer = new Http2Lane(route, liveness);
  }

  async send(outgoing: Outgoing, identity: ClientIdentity): Promise<Answer> {
    if (this.older === null) {
      try {
        return await this.newer.send(outgoing, identity);
      } catch (error) {
        if (!(error instanceof OnlyHttp1)) throw error;
        this.older ??= new Http1Lane(this.route, error.socket);
      }
    }
    return this.older.send(outgoing, identity);
  }

  retire(): void {
    this.newer.retire();
    this.older?.retire();
  }

  /** What is cut may be made anew: by the next request, should there be one. */
  destroy(): void {
    this.newer.destroy();
    this.newer = new Http2Lane(this.route, this.liveness);
    this.older?.destroy();
  }
}
