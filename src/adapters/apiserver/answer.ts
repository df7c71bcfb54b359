// An answer of the apiserver over either protocol: its head has arrived, its body streams as it is read.
import type { IncomingMessage } from 'node:http';
import { type Http2Request, http2Error, type StreamEnd } from '../http2/index.js';

export interface Answer extends AsyncIterable<Buffer> {
  readonly status: number;
  header(name: string): string | undefined;
  /** Abandons the rest of the body. */
  destroy(): void;
}

/** From HTTP/1.1. */
export function answerOf(message: IncomingMessage): Answer {
  return {
    status: message.statusCode ?? 0,
    header: (name) => [message.headers[name]].flat()[0],
    destroy: () => void message.destroy(),
    [Symbol.asyncIterator]: () => message[Symbol.asyncIterator](),
  };
}

/** Bytes buffered for the reader before flow control stops the server. */
const waitingBytesMax = 256 * 1024;

/** From HTTP/2. Received data waits for its reader, within the limit and the stream's window. */
export class StreamedAnswer implements Answer {
  private readonly chunks: Buffer[] = [];
  private bytes = 0;
  private end: Error | 'whole' | null = null;
  private isHeld = false;
  private wake: (() => void) | null = null;

  constructor(
    readonly status: number,
    private readonly headers: ReadonlyMap<string, string>,
    private readonly request: Http2Request,
    private readonly over: () => void,
  ) {}

  header(name: string): string | undefined {
    return this.headers.get(name);
  }

  take(bytes: Buffer): void {
    if (this.end !== null) return;
    this.chunks.push(bytes);
    this.bytes += bytes.length;
    if (this.bytes > waitingBytesMax) this.hold(true);
    this.awaken();
  }

  /** @param problem null: that was all */
  ended(problem: Error | null): void {
    this.end ??= problem ?? 'whole';
    this.awaken();
  }

  destroy(): void {
    if (this.end === null) {
      this.request.cancel();
      this.ended(null);
      this.over();
    }
    this.chunks.length = 0;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer> {
    try {
      for (;;) {
        const chunk = this.chunks.shift();
        if (chunk !== undefined) {
          this.bytes -= chunk.length;
          if (this.isHeld && this.bytes <= waitingBytesMax / 2) this.hold(false);
          yield chunk;
        } else if (this.end === 'whole') return;
        else if (this.end !== null) throw this.end;
        else
          await new Promise<void>((resolve) => {
            this.wake = resolve;
          });
      }
    } finally {
      this.destroy();
    }
  }

  private hold(isHeld: boolean): void {
    this.isHeld = isHeld;
    this.request.hold(isHeld);
  }

  private awaken(): void {
    const { wake } = this;
    this.wake = null;
    wake?.();
  }
}

/** The server reports that it has not processed the request: any request may be sent again. */
export class Unseen extends Error {}

const names = new Map<number, string>(Object.entries(http2Error).map(([name, code]) => [code, name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()]));

/** Why the answer is missing or incomplete. @param problem the connection's error */
export function problemOf(end: StreamEnd, problem: Error | null): Error | null {
  if (end.how === 'whole') return null;
  if (end.how === 'connection') return problem ?? broken('socket hang up');
  // A closing server ends unanswered requests with this code.
  if (end.code === http2Error.noError) return broken('socket hang up');
  if (end.code === http2Error.refusedStream) return new Unseen('http2: server refused the stream');
  return new Error(`stream error: ${names.get(end.code) ?? end.code}; received from peer`);
}

/** Node's error for connections that end too early. */
export function broken(message: 'socket hang up' | 'aborted'): Error {
  return Object.assign(new Error(message), { code: 'ECONNRESET' });
}
