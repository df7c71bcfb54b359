// Makes an open socket read into a reused buffer, as `onread` does for new client connections. Node has no such
// option for accepted connections, and through its streams each TLS record (16 KiB) gets a buffer of its own: a quarter of
// all processor time of an upload (bench/port-forward.ts).
//
// This uses the internals of Node's `onread`: two members of net.Socket named by its symbols, and `useUserBuffer` of its handle. They are
// not public API. So each is verified first, as it was in Node 20 to 24, and a socket that differs is left unchanged: the caller then reads
// it as a stream. test/adapters/read-into.test.ts fails on a Node that has changed this, so that the loss is seen.
// Invariants: the socket holds the buffer for as long as its handle may write to it; bytes received earlier are taken first, in order; pausing, resuming, the
// end, errors and the byte counters remain the socket's own.
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
 * @param memory may be shared with other sockets: it is read into and consumed at once
 * @returns false: unsupported, and the socket is unchanged
 */
export function readInto(socket: Socket, memory: Uint8Array, take: TakeInto): boolean {
  const found = readMembersOf(socket);
  if (found === null) return false;
  const { handle, buffer, callback } = found;
  let acceptsMore = true;
  for (let chunk: Buffer | null = socket.read(); chunk !== null; chunk = socket.read()) acceptsMore = take(chunk, chunk.length) && acceptsMore;
  Object.assign(socket, { [buffer]: memory, [callback]: (count: number, bytes: Uint8Array): boolean => take(bytes, count) });
  handle.useUserBuffer(memory);
  if (acceptsMore) socket.resume();
  else socket.pause();
  return true;
}
