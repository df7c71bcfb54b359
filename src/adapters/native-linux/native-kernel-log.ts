// KernelLog on the addon: one poll on /dev/kmsg, whole records, the overrun (EPIPE) passed on as `lost`.
// Invariant: at most one descriptor; no batch after `close` or after one with `ended`.
import { parseKmsgRecord } from '../../domain/values/kmsg-record.js';
import type { KernelLog, KernelLogListener, KernelLogRecord } from '../../ports/outbound/kernel-log.js';
import { PortError } from '../../ports/port-error.js';
import type { NativeBinding } from './binding.d.ts';
import { checked, portErrorOf } from './errno.js';

export class NativeKernelLog implements KernelLog {
  readonly #binding: NativeBinding;
  readonly #path: string;
  #state: 'new' | 'following' | 'closed' = 'new';
  #handle: number | null = null;

  constructor(binding: NativeBinding, path: string) {
    this.#binding = binding;
    this.#path = path;
  }

  follow(fromOldest: boolean, listener: KernelLogListener): void {
    if (this.#state !== 'new')
      throw new PortError({ kind: 'failed-precondition', message: `KernelLog.follow: ${this.#state}`, operation: 'KernelLog.follow', subject: this.#path });
    const deliver = (raw: string[], overruns: number, status: number): void => {
      if (this.#state !== 'following') return;
      if (status < 0) {
        this.#handle = null;
        this.#state = 'closed';
      }
      listener({ records: recordsOf(raw), lost: overruns > 0, ended: status < 0 ? portErrorOf(status, 'KernelLog.read', this.#path).message : null });
    };
    this.#handle = checked(this.#binding.kmsgOpen(this.#path, fromOldest, deliver), 'KernelLog.follow', this.#path);
    this.#state = 'following';
  }

  close(): void {
    this.#state = 'closed';
    if (this.#handle === null) return;
    const handle = this.#handle;
    this.#handle = null;
    checked(this.#binding.watchClose(handle), 'KernelLog.close', this.#path);
  }
}

/** Skips malformed records. */
export function recordsOf(raw: readonly string[]): KernelLogRecord[] {
  return raw.flatMap((text) => {
    const parsed = parseKmsgRecord(text);
    if (!parsed.ok) return [];
    const { priority, sequence, microsSinceBoot, message } = parsed.value;
    const end = message.indexOf('\n');
    return [{ level: priority & 7, facility: priority >> 3, sequence, sinceBootMicros: Number(microsSinceBoot), text: end < 0 ? message : message.slice(0, end) }];
  });
}
