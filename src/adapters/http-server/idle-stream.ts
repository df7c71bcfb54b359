// Closes an upgraded connection without traffic for `streamingConnectionIdleTimeout`.
// Invariants: it only checks its connection's counters, eight times in that period, so that a busy stream has no cost per byte; a connection
// with traffic within the period is never cut, an idle one at most an eighth late. Unanswered requests have limits of their own.
import type { Socket } from 'node:net';

export interface IdleTimers {
  /** Calls back once, after that many milliseconds. */
  set(callback: () => void, millis: number): unknown;
  clear(timer: unknown): void;
}

export type CountedStream = Pick<Socket, 'bytesRead' | 'bytesWritten' | 'writableLength' | 'destroy' | 'once'>;

const looksInPeriod = 8;
/** The maximum of a Node timer. */
const longestMillis = 2 ** 31 - 1;

/** It keeps no process alive. */
const nodeTimers: IdleTimers = {
  set: (callback, millis) => setTimeout(callback, millis).unref(),
  clear: (timer) => clearTimeout(timer as NodeJS.Timeout),
};

/**
 * All of a stream passes through the client's connection: its end is the other's, too.
 * @param idleMillis 0 or less: never
 * @param onIdle once, before it is cut
 */
export function endWhenIdle(client: CountedStream, idleMillis: number, onIdle: () => void, timers: IdleTimers = nodeTimers): void {
  if (idleMillis <= 0) return;
  const writtenBefore = client.bytesWritten;
  const period = Math.min(Math.max(1, Math.ceil(idleMillis / looksInPeriod)), longestMillis);
  // `bytesWritten` counts what still waits to be sent; a slow client that takes it makes the stream move.
  const sent = (): number => client.bytesWritten - client.writableLength;
  let [read, written] = [client.bytesRead, sent()];
  let silentMillis = 0;
  const look = (): void => {
    const moved = client.bytesRead !== read || sent() !== written;
    // What moved may have done so at the end of the period.
    silentMillis = moved || client.bytesWritten === writtenBefore ? 0 : silentMillis + period;
    [read, written] = [client.bytesRead, sent()];
    if (silentMillis >= idleMillis) {
      onIdle();
      client.destroy();
    } else timer = timers.set(look, period);
  };
  let timer = timers.set(look, period);
  client.once('close', () => timers.clear(timer));
}
