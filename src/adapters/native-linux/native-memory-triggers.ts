// MemoryTriggers on PSI triggers and on cgroup v1 eventfds, each one descriptor on the event loop.

import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { MemoryTriggers, PressureTrigger, TriggerEvent, TriggerSubscription } from '../../ports/outbound/memory-triggers.js';
import type { NativeBinding } from './binding.d.ts';
import { checked } from './errno.js';

export class NativeMemoryTriggers implements MemoryTriggers {
  readonly #binding: NativeBinding;

  constructor(binding: NativeBinding) {
    this.#binding = binding;
  }

  onPressure(trigger: PressureTrigger, listener: (event: TriggerEvent) => void): TriggerSubscription {
    const text = `${trigger.kind} ${trigger.stallMicros} ${trigger.windowMicros}`;
    return this.#subscribe(
      (deliver) => this.#binding.psiOpen(trigger.path, text, deliver),
      () => false,
      'MemoryTriggers.onPressure',
      trigger.path,
      listener,
    );
  }

  onMemoryUsage(directory: string, bytes: bigint, listener: (event: TriggerEvent) => void): TriggerSubscription {
    return this.#subscribe(
      (deliver) => this.#binding.cgroupEventOpen(join(directory, 'cgroup.event_control'), join(directory, 'memory.usage_in_bytes'), bytes.toString(), deliver),
      // The kernel fires once more when the cgroup is removed, without another sign.
      () => !exists(directory),
      'MemoryTriggers.onMemoryUsage',
      directory,
      listener,
    );
  }

  #subscribe(
    open: (deliver: (status: number) => void) => number,
    hasEnded: () => boolean,
    operation: string,
    subject: string,
    listener: (event: TriggerEvent) => void,
  ): TriggerSubscription {
    let handle: number | null = null;
    const close = (): void => {
      if (handle === null) return;
      const closing = handle;
      handle = null;
      checked(this.#binding.watchClose(closing), `${operation}: close`, subject);
    };
    handle = checked(
      open((status) => {
        if (handle === null) return;
        if (status < 0) handle = null;
        const ended = status < 0 || hasEnded();
        if (ended) close();
        listener(ended ? 'ended' : 'fired');
      }),
      operation,
      subject,
    );
    return { close };
  }
}

function exists(directory: string): boolean {
  try {
    readdirSync(directory);
    return true;
  } catch {
    return false;
  }
}
