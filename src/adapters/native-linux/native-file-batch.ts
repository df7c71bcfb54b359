// FileBatchReader on the addon: one call reads all, descriptors stay open within a bound, the buffer is kept between calls.
// Invariant: the buffer only grows, to slots * itemBytesMax; a background read has a buffer of its own.

import type { NativeBinding } from './binding.d.ts';
import { checked, closedError, errno, portErrorOf } from './errno.js';
import { PackedFileBatchContent } from './file-batch-content.js';
import type { FileBatchContent, FileBatchReader } from './file-batch-reader.js';
import { FileBatchNumbers, formNumbers, type NumberForm } from './number-form.js';

export interface FileBatchLimits {
  /** Descriptors kept open; 0: none. */
  readonly descriptorsMax: number;
  /** Bytes read of one file; the rest is cut off and the item marked. */
  readonly itemBytesMax: number;
}

export class NativeFileBatch implements FileBatchReader {
  readonly #binding: NativeBinding;
  readonly #itemBytesMax: number;
  #handle: number | null;
  #buffer = new Uint8Array(0);
  #items = new Int32Array(0);

  constructor(binding: NativeBinding, limits: FileBatchLimits) {
    this.#binding = binding;
    this.#itemBytesMax = limits.itemBytesMax;
    this.#handle = checked(binding.fileBatchOpen(limits.descriptorsMax), 'FileBatchReader.open', '');
  }

  add(path: string): number {
    return checked(this.#binding.fileBatchAdd(this.#open('add'), path), 'FileBatchReader.add', path);
  }

  addNumbers(path: string, form: NumberForm): number {
    const keys = form.kind === 'keyed' ? form.keys.join('\n') : '';
    return checked(this.#binding.fileBatchAddNumbers(this.#open('addNumbers'), path, formNumbers[form.kind], keys), 'FileBatchReader.addNumbers', path);
  }

  remove(slot: number): void {
    const status = this.#binding.fileBatchRemove(this.#open('remove'), slot);
    if (status < 0 && status !== -errno.ENOENT) throw portErrorOf(status, 'FileBatchReader.remove', String(slot));
  }

  read(slots: readonly number[] | Int32Array): FileBatchContent {
    const handle = this.#open('read');
    const numbers = slots instanceof Int32Array ? slots : Int32Array.from(slots);
    const size = numbers.length * this.#itemBytesMax;
    if (this.#buffer.length < size) this.#buffer = new Uint8Array(size);
    if (this.#items.length < numbers.length * 2) this.#items = new Int32Array(numbers.length * 2);
    checked(this.#binding.fileBatchRead(handle, numbers, this.#itemBytesMax, this.#buffer, this.#items), 'FileBatchReader.read', '');
    return new PackedFileBatchContent(this.#buffer, this.#items, numbers.length);
  }

  async readInBackground(slots: readonly number[] | Int32Array): Promise<FileBatchContent> {
    const numbers = slots instanceof Int32Array ? slots : Int32Array.from(slots);
    const started = this.#binding.fileBatchReadOnPool(this.#open('readInBackground'), numbers, this.#itemBytesMax);
    if (typeof started === 'number') throw portErrorOf(started, 'FileBatchReader.readInBackground', '');
    const { bytes, items } = await started;
    return new PackedFileBatchContent(bytes, items, items.length / 2);
  }

  async numbersInBackground(slots: readonly number[] | Int32Array): Promise<FileBatchNumbers> {
    const asked = slots instanceof Int32Array ? slots : Int32Array.from(slots);
    const started = this.#binding.fileBatchNumbersOnPool(this.#open('numbersInBackground'), asked, this.#itemBytesMax);
    if (typeof started === 'number') throw portErrorOf(started, 'FileBatchReader.numbersInBackground', '');
    const { numbers, counts } = await started;
    return new FileBatchNumbers(numbers, counts);
  }

  openDescriptors(): number {
    return checked(this.#binding.fileBatchDescriptors(this.#open('openDescriptors')), 'FileBatchReader.openDescriptors', '');
  }

  close(): void {
    if (this.#handle === null) return;
    checked(this.#binding.fileBatchClose(this.#handle), 'FileBatchReader.close', '');
    this.#handle = null;
  }

  #open(operation: string): number {
    if (this.#handle === null) throw closedError(`FileBatchReader.${operation}`);
    return this.#handle;
  }
}
