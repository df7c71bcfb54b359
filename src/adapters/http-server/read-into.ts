// Has a socket that is open already read into memory that is used again, as `onread` does for connections that are made with it. Node has no such
// option for a connection that a server has accepted, and through its streams each record of TLS (16 KiB) comes in memory of its own: a quarter of
// all processor time of an upload (bench/port-forward.ts).
//
// What is used here is what `onread` consists of within Node: two members of net.Socket that its symbols name, and `useUserBuffer` of its handle. Nobody
// promises them. So all of it is looked for first, as it was in Node 20 to 24, and a socket that has anything else is left as it is: whoever asks then reads
// it as a stream. test/adapters/read-into.test.ts fails on a Node that has changed this, so that the loss is seen.
// Invariants: the socket holds the memory for as long as its handle may write to it; what came before is taken first, in order; pausing, resuming, the
// end, errors and the counters of bytes remain the socket's own.
import type { Socket } from 'node:net';

/** Takes the first `count` bytes, which the next read overwrites. False: no further ones before the socket is resumed, but for those that have come. */
export type TakeInto = (bytes: Uint8Array, count: number) => boolean;

interface ReadingHandle {
  readonly onread: unknown;
  readonly useUserBuffer: (buffer: Uint8Array) => void;
}

interface ReadMembers {
  readonly handle: ReadingHandle;
  readonly buffer: symbol;
  readonly callback: symbol;
}

/** null: this Node's sockets, or this one, are made another way. */
function readMembersOf(socket: Socket): ReadMembers | null {
  const members = socket as unknown as Record<string | symbol, unknown>;
  const handle = members._handle as Partial<ReadingHandle> | null | undefined;
  if (typeof handle?.useUserBuffer !== 'function' || (handle.onread as { readonly name?: string } | undefined)?.name !== 'onStreamRead') return null;
  const symbols = Object.getOwnPropertySymbols(socket);
  const [buffer, callback, generator] = ['kBuffer', 'kBufferCb', 'kBufferGen'].map((name) => symbols.find(({ description }) => description === name));
  if (buffer === undefined || callback === undefined || generator === undefined) return null;
  const isFree = members[buffer] === null && members[callback] === null && members[generator] === null;
  return isFree ? { handle: handle as ReadingHandle, buffer, callback } : null;
}

/**
 * From now on, as long as the socket is open. It flows afterwards.
 * @param memory may be that of other sockets, too: it is read into and taken in one go
 * @returns false: it can't be done, and the socket is as it was
 */
export function readInto(socket: Socket, memory: Uint8Array, take: TakeInto): boolean {
  const found = readMembersOf(socket);
  if (found === null) return false;
  const { handle, buffer, callback } = found;
  let goesOn = true;
  for (let chunk: Buffer | null = socket.read(); chunk !== null; chunk = socket.read()) goesOn = take(chunk, chunk.length) && goesOn;
  Object.assign(socket, { [buffer]: memory, [callback]: (count: number, bytes: Uint8Array): boolean => take(bytes, count) });
  handle.useUserBuffer(memory);
  if (goesOn) socket.resume();
  else socket.pause();
  return true;
}
