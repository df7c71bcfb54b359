// The state of a lifecycle hook.
import type { Micros } from '../../ports/micros.js';
import type { LifecycleHandler } from '../../ports/model/container.js';
import type { Pod } from '../../ports/model/pod.js';
import type { HttpGetRequest } from '../../ports/outbound/probing.js';

export interface LifecycleHook {
  readonly pod: Pod;
  readonly containerName: string;
  readonly handler: LifecycleHandler;
  readonly slot: string;
  /** A sleep's end; null: it ends with an answer. */
  readonly sleepsUntil: Micros | null;
  /** The last HTTP request. */
  http: HttpGetRequest | null;
}
