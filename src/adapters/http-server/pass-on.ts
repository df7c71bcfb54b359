// How bytes of one socket go to another: never more on their way than a bounded number, and in writes as large as what has come.
import type { Socket } from 'node:net';
import type { TakeBytes } from './backend-connection.js';
import { readInto } from './read-into.js';

/** Of what is on its way to a socket that does not take it: more, and its writer isn't read. */
const waitingBytesMax = 256 * 1024;
const blockBytes = 64 * 1024;
/** Blocks that no stream needs at the moment; a stream at rest has none. */
const spareBlocksMax = 64;
/** Node's TLS hands out records of at most that. */
const recordBytes = 16 * 1024;

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

/** All that comes, in whole blocks and what is left at the end of each turn of the loop. Its end is the caller's, who hears of it after this. */
export function passOn(from: Socket, to: Socket): void {
  if (!passOnCopied(from, to)) passOnGathered(from, to);
}

const records = Buffer.allocUnsafeSlow(recordBytes);
const spareBlocks: Buffer[] = [];

/** Read into one piece of memory, and gathered in blocks that are used again. False: this Node can't. */
export function passOnCopied(from: Socket, to: Socket): boolean {
  let block: Buffer | null = null;
  let filled = 0;
  let waitingBytes = 0;
  let isArmed = false;
  const send = (): void => {
    if (block === null) return;
    const [whole, bytes] = [block, filled];
    block = null;
    filled = 0;
    if (!to.writable) return;
    waitingBytes += bytes;
    to.write(bytes === blockBytes ? whole : whole.subarray(0, bytes), () => {
      if (spareBlocks.length < spareBlocksMax) spareBlocks.push(whole);
      const wasHeldUp = waitingBytes >= waitingBytesMax;
      waitingBytes -= bytes;
      if (wasHeldUp && waitingBytes < waitingBytesMax) from.resume();
    });
  };
  const turnEnds = (): void => {
    isArmed = false;
    send();
  };
  const take = (bytes: Uint8Array, count: number): boolean => {
    if (!to.writable) return true;
    for (let start = 0; start < count; ) {
      block ??= spareBlocks.pop() ?? Buffer.allocUnsafeSlow(blockBytes);
      const end = Math.min(count, start + blockBytes - filled);
      block.set(end - start === bytes.length ? bytes : bytes.subarray(start, end), filled);
      filled += end - start;
      start = end;
      if (filled === blockBytes) send();
    }
    if (!isArmed) {
      isArmed = true;
      setImmediate(turnEnds);
    }
    return waitingBytes < waitingBytesMax;
  };
  if (!readInto(from, records, take)) return false;
  // What came last goes before the end that the caller makes of it.
  from.once('end', send).once('close', send);
  return true;
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
