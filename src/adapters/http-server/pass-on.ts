// How bytes of one socket go to another: never more on their way than a bounded number, and in writes as large as what has come.
import type { Socket } from 'node:net';
import type { TakeBytes } from './backend-connection.js';

/** Of what is on its way to a socket that does not take it: more, and its writer isn't read. */
const waitingBytesMax = 256 * 1024;

/** One chunk after the other: each is written before the next one is read over it. */
export function passOnEach(from: Socket, to: Socket): TakeBytes {
  const next = (): void => {
    from.resume();
  };
  return (chunk) => {
    if (to.writable) to.write(chunk, next);
    return false;
  };
}

/** What comes in one turn of the loop, which over TLS is a chunk for each of its records, is one write. */
export function passOnGathered(from: Socket, to: Socket): void {
  let gathering = false;
  const send = (): void => {
    gathering = false;
    to.uncork();
  };
  from.on('data', (chunk: Buffer) => {
    if (!to.writable) return;
    if (!gathering) {
      gathering = true;
      to.cork();
      setImmediate(send);
    }
    if (!to.write(chunk) && to.writableLength >= waitingBytesMax) from.pause();
  });
  to.on('drain', () => from.resume());
  from.resume();
}
