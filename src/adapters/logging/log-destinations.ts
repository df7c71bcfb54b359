// Log destinations: all to standard error, or errors there and the rest to standard output, through a buffer that is flushed periodically.
// Invariants: a closed stream costs lines, never the daemon; an error is written at once; the buffer is flushed when the process ends.
import { type DestinationStream, destination } from 'pino';

export interface LogDestinations {
  readonly errors: DestinationStream;
  /** All but errors. */
  readonly others: DestinationStream;
}

/** Most that is written at once; pino's destination wants it to be more than its buffer. */
const writeBytes = 16 * 1024;

export interface SplitOptions {
  /** Bytes that may wait on their way to standard output; 0: none. */
  readonly bufferBytes: number;
  /** The longest that they wait. */
  readonly flushMillis: number;
}

/** The standard error stream. Written at once, so that the last words before a crash are not lost; `onError` hears of a closed stream. */
export function standardErrorDestination(onError: (error: Error) => void): DestinationStream {
  const stream = destination({ fd: 2, sync: true });
  stream.on('error', onError);
  return stream;
}

/** @param split null: everything is written to standard error */
export function standardDestinations(split: SplitOptions | null, onError: (error: Error) => void): LogDestinations {
  const errors = standardErrorDestination(onError);
  if (split === null) return { errors, others: errors };
  const others = destination({ fd: 1, sync: true, minLength: split.bufferBytes, maxWrite: Math.max(writeBytes, split.bufferBytes + 1) });
  others.on('error', onError);
  if (split.bufferBytes > 0) {
    const flush = (): void => {
      try {
        others.flushSync();
      } catch (error) {
        onError(error as Error);
      }
    };
    setInterval(flush, split.flushMillis).unref();
    process.once('exit', flush);
  }
  return { errors, others };
}
