// The state of log rotation, as data; its machine is in log-rotation.
export interface LogRotation {
  readonly podUid: string;
  readonly path: string;
  step: 'reopening' | 'measuring' | 'listing' | 'discarding' | 'compressing' | 'moving' | 'reopeningMoved' | 'restoring';
  discard: readonly string[];
  compress: string[];
  utcOffsetSeconds: number;
  /** The log's name after the move. */
  rotatedName: string;
}

export interface LogRotationState {
  phase: 'unswept' | 'sweeping' | 'idle' | 'measuring';
  /** The next check is scheduled. */
  planned: boolean;
  /** The logs being measured, in request order. */
  measured: readonly WaitingLog[];
  /** By container id, oldest first; at most one entry a running container. */
  readonly waiting: Map<string, WaitingLog>;
  /** By container id. */
  readonly active: Map<string, LogRotation>;
}

export interface WaitingLog {
  readonly containerId: string;
  readonly podUid: string;
  readonly path: string;
  readonly missing: boolean;
}

export function newLogRotation(): LogRotationState {
  return { phase: 'unswept', planned: false, measured: [], waiting: new Map(), active: new Map() };
}
