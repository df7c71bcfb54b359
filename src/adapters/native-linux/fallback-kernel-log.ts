// KernelLog without the addon: /dev/kmsg read without waiting, once a second.
// Invariant: one descriptor, closed when the log ends or is closed; each read is one record.
import { closeSync, constants, openSync, readSync } from 'node:fs';
import type { KernelLog, KernelLogListener } from '../../ports/outbound/kernel-log.js';
import { PortError } from '../../ports/port-error.js';
import { errno, portErrorFrom } from './errno.js';
import { recordsOf } from './native-kernel-log.js';

const pollIntervalMs = 1000;
/** One record is 8 KiB at most. */
const recordBytesMax = 16 * 1024;
/** Records of one batch; the rest follows at the next turn. */
const recordsPerBatch = 512;

export class FallbackKernelLog implements KernelLog {
  readonly #path: string;
  readonly #buffer = Buffer.alloc(recordBytesMax);
  #state: 'new' | 'following' | 'closed' = 'new';
  #fd: number | null = null;
  #timer: NodeJS.Timeout | null = null;

  constructor(path: string) {
    this.#path = path;
  }

  follow(fromOldest: boolean, listener: KernelLogListener): void {
    if (this.#state !== 'new')
      throw new PortError({ kind: 'failed-precondition', message: `KernelLog.follow: ${this.#state}`, operation: 'KernelLog.follow', subject: this.#path });
    try {
      this.#fd = openSync(this.#path, constants.O_RDONLY | constants.O_NONBLOCK);
    } catch (error) {
      throw portErrorFrom(error, 'KernelLog.follow', this.#path);
    }
    this.#state = 'following';
    // Node has no lseek(2): existing records are read and discarded.
    if (!fromOldest) while (this.#drain().raw.length > 0);
    this.#poll(listener, 0);
  }

  close(): void {
    this.#state = 'closed';
    if (this.#timer !== null) clearTimeout(this.#timer);
    if (this.#fd !== null) closeSync(this.#fd);
    this.#fd = null;
  }

  #poll(listener: KernelLogListener, delayMs: number): void {
    this.#timer = setTimeout(() => {
      const { raw, lost, ended } = this.#drain();
      if (ended !== null) this.close();
      if (raw.length > 0 || lost || ended !== null) listener({ records: recordsOf(raw), lost, ended });
      if (this.#state === 'following') this.#poll(listener, raw.length === recordsPerBatch ? 0 : pollIntervalMs);
    }, delayMs);
    this.#timer.unref();
  }

  #drain(): { raw: string[]; lost: boolean; ended: string | null } {
    const raw: string[] = [];
    let lost = false;
    while (raw.length < recordsPerBatch && this.#fd !== null) {
      try {
        const size = readSync(this.#fd, this.#buffer, 0, recordBytesMax, null);
        if (size === 0) return { raw, lost, ended: `KernelLog.read ${this.#path}: end of file` };
        raw.push(this.#buffer.toString('utf8', 0, size));
      } catch (error) {
        const code = error instanceof Error && 'errno' in error ? error.errno : null;
        if (code === -errno.EAGAIN) break;
        if (code !== -errno.EPIPE) return { raw, lost, ended: portErrorFrom(error, 'KernelLog.read', this.#path).message };
        lost = true;
      }
    }
    return { raw, lost, ended: null };
  }
}
