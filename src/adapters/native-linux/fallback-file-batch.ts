// FileBatchReader without the addon: each file is opened, read and closed, on the calling thread.
// Invariant: no descriptor stays open; the buffer is used again, as the addon's is.
import { closeSync, constants, openSync, readdirSync, readlinkSync, readSync, statSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { closedError, errno } from './errno.js';
import { PackedFileBatchContent } from './file-batch-content.js';
import type { FileBatchContent, FileBatchReader } from './file-batch-reader.js';
import { FileBatchNumbers, type NumberForm, numbersOfText, socketsLookedAtMax } from './number-form.js';

/** Some ten microseconds each. */
const filesPerTurn = 128;

export class FallbackFileBatch implements FileBatchReader {
  readonly #itemBytesMax: number;
  readonly #paths: (string | null)[] = [];
  readonly #forms: (NumberForm | null)[] = [];
  readonly #free: number[] = [];
  #buffer = Buffer.alloc(0);
  #closed = false;

  constructor(itemBytesMax: number) {
    this.#itemBytesMax = itemBytesMax;
  }

  add(path: string): number {
    this.#assertOpen('add');
    return this.#slotFor(path, null);
  }

  addNumbers(path: string, form: NumberForm): number {
    this.#assertOpen('addNumbers');
    return this.#slotFor(path, form);
  }

  #slotFor(path: string, form: NumberForm | null): number {
    const slot = this.#free.pop() ?? this.#paths.length;
    this.#paths[slot] = path;
    this.#forms[slot] = form;
    return slot;
  }

  remove(slot: number): void {
    this.#assertOpen('remove');
    if ((this.#paths[slot] ?? null) === null) return;
    this.#paths[slot] = null;
    this.#free.push(slot);
  }

  read(slots: readonly number[] | Int32Array): FileBatchContent {
    this.#assertOpen('read');
    if (this.#buffer.length < slots.length * this.#itemBytesMax) this.#buffer = Buffer.alloc(slots.length * this.#itemBytesMax);
    return this.#readInto(this.#buffer, slots);
  }

  async readInBackground(slots: readonly number[] | Int32Array): Promise<FileBatchContent> {
    this.#assertOpen('readInBackground');
    const items = new Int32Array(slots.length * 2);
    const one = Buffer.allocUnsafe(this.#itemBytesMax);
    const parts: Buffer[] = [];
    for (const [index, slot] of slots.entries()) {
      // Runs on the main thread: yields to other work.
      if (index > 0 && index % filesPerTurn === 0) await nextTurn();
      const { status, truncated } = this.#readSlot(slot, one);
      items[index * 2] = status;
      items[index * 2 + 1] = truncated ? 1 : 0;
      if (status > 0) parts.push(Buffer.from(one.subarray(0, status)));
    }
    return new PackedFileBatchContent(Buffer.concat(parts), items, slots.length);
  }

  async numbersInBackground(slots: readonly number[] | Int32Array): Promise<FileBatchNumbers> {
    this.#assertOpen('numbersInBackground');
    const one = Buffer.allocUnsafe(this.#itemBytesMax);
    const counts = new Int32Array(slots.length);
    const numbers: number[] = [];
    for (const [index, slot] of slots.entries()) {
      if (index > 0 && index % filesPerTurn === 0) await nextTurn();
      const found = this.#numbersOf(slot, one);
      counts[index] = typeof found === 'number' ? found : found.length;
      if (typeof found !== 'number') numbers.push(...found);
    }
    return new FileBatchNumbers(Float64Array.from(numbers), counts);
  }

  /** Or negative errno. */
  #numbersOf(slot: number, into: Buffer): readonly number[] | number {
    const path = this.#paths[slot] ?? null;
    const form = this.#forms[slot] ?? null;
    if (path === null) return -errno.ENOENT;
    if (form === null) return -errno.EINVAL;
    if (form.kind === 'links' || form.kind === 'sockets') return numbersOfPath(form.kind, path);
    const { status, truncated } = readFile(path, into);
    return status < 0 ? status : numbersOfText(form, into.toString('latin1', 0, status), truncated);
  }

  openDescriptors(): number {
    this.#assertOpen('openDescriptors');
    return 0;
  }

  close(): void {
    this.#closed = true;
  }

  #readInto(buffer: Buffer, slots: readonly number[] | Int32Array): FileBatchContent {
    const items = new Int32Array(slots.length * 2);
    let offset = 0;
    for (const [index, slot] of slots.entries()) {
      const { status, truncated } = this.#readSlot(slot, buffer.subarray(offset, offset + this.#itemBytesMax));
      items[index * 2] = status;
      items[index * 2 + 1] = truncated ? 1 : 0;
      offset += Math.max(status, 0);
    }
    return new PackedFileBatchContent(buffer, items, slots.length);
  }

  #readSlot(slot: number, into: Buffer): { status: number; truncated: boolean } {
    const path = this.#paths[slot] ?? null;
    return path === null ? { status: -errno.ENOENT, truncated: false } : readFile(path, into);
  }

  #assertOpen(operation: string): void {
    if (this.#closed) throw closedError(`FileBatchReader.${operation}`);
  }
}

function numbersOfPath(kind: 'links' | 'sockets', path: string): readonly number[] | number {
  try {
    if (kind === 'links') {
      const stats = statSync(path);
      return stats.isDirectory() ? [stats.nlink] : -errno.ENOTDIR;
    }
    const names = readdirSync(path);
    const isSocket = (name: string): boolean => linkAt(`${path}/${name}`).startsWith('socket:');
    return [names.length, names.slice(0, socketsLookedAtMax).filter(isSocket).length];
  } catch (error) {
    return errnoOf(error);
  }
}

function linkAt(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}

function errnoOf(error: unknown): number {
  return error instanceof Error && 'errno' in error && typeof error.errno === 'number' ? error.errno : -errno.EIO;
}

const oneByte = Buffer.alloc(1);

/** Bytes read, or negative errno. */
function readFile(path: string, into: Buffer): { status: number; truncated: boolean } {
  let fd: number | null = null;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    let size = 0;
    while (size < into.length) {
      const got = readSync(fd, into, size, into.length - size, null);
      if (got === 0) return { status: size, truncated: false };
      size += got;
    }
    return { status: size, truncated: readSync(fd, oneByte, 0, 1, null) > 0 };
  } catch (error) {
    return { status: errnoOf(error), truncated: false };
  } finally {
    if (fd !== null) closeSync(fd);
  }
}
