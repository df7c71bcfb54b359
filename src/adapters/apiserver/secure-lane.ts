// A lane over TLS: HTTP/2, until the server supports only HTTP/1.1; then HTTP/1.1 for the lifetime of the identity.
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

  /** The next request may open a new connection. */
  destroy(): void {
    this.newer.destroy();
    this.newer = new Http2Lane(this.route, this.liveness);
    this.older?.destroy();
  }
}
