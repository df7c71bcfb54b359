// What eviction watches: each signal, the node condition that it raises and the word that its resource has in messages.

export const evictionSignals = [
  'memory.available',
  'allocatableMemory.available',
  'nodefs.available',
  'nodefs.inodesFree',
  'imagefs.available',
  'imagefs.inodesFree',
  'containerfs.available',
  'containerfs.inodesFree',
  'pid.available',
] as const;

export type EvictionSignal = (typeof evictionSignals)[number];
export type PressureCondition = 'MemoryPressure' | 'DiskPressure' | 'PIDPressure';
export type StarvedResource = 'memory' | 'ephemeral-storage' | 'inodes' | 'pids';

export function isEvictionSignal(text: string): text is EvictionSignal {
  return (evictionSignals as readonly string[]).includes(text);
}

export function isMemorySignal(signal: EvictionSignal): boolean {
  return signal === 'memory.available' || signal === 'allocatableMemory.available';
}

export function starvedResource(signal: EvictionSignal): StarvedResource {
  if (isMemorySignal(signal)) return 'memory';
  if (signal === 'pid.available') return 'pids';
  return signal.endsWith('.inodesFree') ? 'inodes' : 'ephemeral-storage';
}

export function pressureCondition(signal: EvictionSignal): PressureCondition {
  if (isMemorySignal(signal)) return 'MemoryPressure';
  return signal === 'pid.available' ? 'PIDPressure' : 'DiskPressure';
}

/** Which parts of the node's disk are file systems of their own. */
export interface FileSystemLayout {
  /** Images lie on another device than the kubelet's root directory. */
  readonly dedicatedImageFs: boolean;
  /** Beside that, the containers' root layers lie apart from the images. */
  readonly splitContainerFs: boolean;
}
