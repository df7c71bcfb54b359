// The result of a batch read: items packed one after the other, decoded on demand.
// Invariant: `items` holds for each slot its length or negative errno, then 1 when truncated; item i begins where the previous ones end.

import type { PortErrorKind } from '../../ports/port-error.js';
import { errorKindOf } from './errno.js';
import type { FileBatchContent } from './file-batch-reader.js';

export class PackedFileBatchContent implements FileBatchContent {
  readonly count: number;
  readonly #buffer: Buffer;
  readonly #items: Int32Array;
  readonly #offsets: Uint32Array;

  constructor(bytes: Uint8Array, items: Int32Array, count: number) {
    this.count = count;
    this.#buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#items = items;
    this.#offsets = new Uint32Array(count);
    let offset = 0;
    for (let index = 0; index < count; index++) {
      this.#offsets[index] = offset;
      offset += Math.max(items[index * 2]!, 0);
    }
  }

  bytes(index: number): Uint8Array | null {
    const size = this.#status(index);
    return size < 0 ? null : this.#buffer.subarray(this.#offsets[index]!, this.#offsets[index]! + size);
  }

  text(index: number): string | null {
    const size = this.#status(index);
    return size < 0 ? null : this.#buffer.toString('utf8', this.#offsets[index]!, this.#offsets[index]! + size);
  }

  failure(index: number): PortErrorKind | null {
    const status = this.#status(index);
    return status < 0 ? errorKindOf(status) : null;
  }

  truncated(index: number): boolean {
    return this.#status(index) >= 0 && this.#items[index * 2 + 1] === 1;
  }

  #status(index: number): number {
    if (!(index >= 0 && index < this.count)) throw new RangeError(`FileBatchContent: index ${index} of ${this.count}`);
    return this.#items[index * 2]!;
  }
}
