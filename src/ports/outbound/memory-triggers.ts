// Wake-ups by the kernel when memory (or cpu, io) gets short, so that nothing has to poll for it.
// A trigger is a hint: the consumer reads the figures and decides.

export interface PressureTrigger {
  /** A pressure file: /proc/pressure/memory, or a cgroup's memory.pressure. */
  readonly path: string;
  readonly kind: 'some' | 'full';
  /** Fires when tasks stalled for this long within the window. */
  readonly stallMicros: number;
  /** 500 ms to 10 s; without CAP_SYS_RESOURCE a multiple of 2 s. At most one wake-up a window. */
  readonly windowMicros: number;
}

/** `ended`: the cgroup is gone, no further event follows. */
export type TriggerEvent = 'fired' | 'ended';

export interface TriggerSubscription {
  /** Idempotent; no event afterwards. */
  close(): void;
}

export interface MemoryTriggers {
  /** Errors: not-found, invalid-argument (window out of range), unimplemented (a kernel without PSI), permission-denied. */
  onPressure(trigger: PressureTrigger, listener: (event: TriggerEvent) => void): TriggerSubscription;
  /** cgroup v1: fires each time usage crosses `bytes`, in either direction. `directory` is the cgroup's in the memory hierarchy. */
  onMemoryUsage(directory: string, bytes: bigint, listener: (event: TriggerEvent) => void): TriggerSubscription;
}
