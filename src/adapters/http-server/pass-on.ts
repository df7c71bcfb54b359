// Forwards bytes between two sockets: a bounded number in flight, and in writes as large as the received data.
// Invariant: all setup is per stream. A chunk adds no listener, no timer and no closure, so that many chunks to a slow reader cost no more.
import type { Socket } from 'node:net';
import type { BackendConnection, TakeBytes } from './backend-connection.js';
import { readInto } from './read-into.js';

/** The target of bytes. Each write's `done` is called, in order, even if the write failed. */
export interface BytesTaker {
  readonly writable: boolean;
  write(bytes: Uint8Array, done: () => void): unknown;
  cork(): void;
  uncork(): void;
}

/** The limit of bytes in flight to a slow socket: beyond it, its writer isn't read. */
const waitingBytesMax = 256 * 1024;
const blockBytes = 64 * 1024;
/** Blocks that no stream needs at the moment; a stream at rest has none. */
const spareBlocksMax = 64;
/** The maximum record size of Node's TLS. */
const recordBytes = 16 * 1024;

/** One chunk after the other: each is written before the next one is read over it. What comes for a socket that is closed is thrown away. */
export function passOnEach(from: BackendConnection, to: Socket): TakeBytes {
  const next = (): void => from.resume();
  return (chunk) => {
    if (!to.writable) return true;
    to.write(chunk, next);
    return false;
  };
}

/** Forwards whole blocks, and the remainder at the end of each turn of the event loop. The caller handles the end, which it receives after this. */
export function passOn(from: Socket, to: BytesTaker): void {
  if (!passOnCopied(from, to)) passOnGathered(from, to);
}

const records = Buffer.allocUnsafeSlow(recordBytes);
const spareBlocks: Buffer[] = [];

/** Read into one piece of memory, and gathered in blocks that are used again. False: this Node can't. */
export function passOnCopied(from: Socket, to: BytesTaker): boolean {
  let block: Buffer | null = null;
  let filled = 0;
  let waitingBytes = 0;
  let isArmed = false;
  /** Writes that are not done yet, in order. */
  const underWay: { readonly whole: Buffer; readonly bytes: number }[] = [];
  const written = (): void => {
    const first = underWay.shift();
    if (first === undefined) return;
    if (spareBlocks.length < spareBlocksMax) spareBlocks.push(first.whole);
    const wasHeldUp = waitingBytes >= waitingBytesMax;
    waitingBytes -= first.bytes;
    if (wasHeldUp && waitingBytes < waitingBytesMax) from.resume();
  };
  const send = (): void => {
    if (block === null) return;
    const [whole, bytes] = [block, filled];
    block = null;
    filled = 0;
    if (!to.writable) return;
    waitingBytes += bytes;
    underWay.push({ whole, bytes });
    to.write(bytes === blockBytes ? whole : whole.subarray(0, bytes), written);
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
  // The last data precedes the end that the caller handles.
  from.once('end', send).once('close', send);
  return true;
}

/** Gathers the data of one turn of the event loop, which over TLS is a chunk per record, into one write. */
export function passOnGathered(from: Socket, to: BytesTaker): void {
  let gathering = false;
  let waitingBytes = 0;
  const underWay: number[] = [];
  const send = (): void => {
    gathering = false;
    to.uncork();
  };
  const written = (): void => {
    const wasHeldUp = waitingBytes >= waitingBytesMax;
    waitingBytes -= underWay.shift() ?? 0;
    if (wasHeldUp && waitingBytes < waitingBytesMax) from.resume();
  };
  from.on('data', (chunk: Buffer) => {
    if (!to.writable) return;
    if (!gathering) {
      gathering = true;
      to.cork();
      setImmediate(send);
    }
    waitingBytes += chunk.length;
    underWay.push(chunk.length);
    to.write(chunk, written);
    if (waitingBytes >= waitingBytesMax) from.pause();
  });
  from.resume();
}
