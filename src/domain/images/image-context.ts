// The image manager's interface to the agent.

import type { Micros } from '../../ports/micros.js';
import type { Secret } from '../../ports/model/config-objects.js';
import type { Pod } from '../../ports/model/pod.js';
import type { AgentOperations } from '../../ports/outbound/outbound-ports.js';
import type { ApiData } from '../api-data/api-data.js';
import type { Address, Turn } from '../kernel/machine.js';
import type { ImageManagerState, ImageSettings } from './image-manager-state.js';

export interface ImageContext {
  readonly turn: Turn<AgentOperations>;
  readonly images: ImageManagerState;
  readonly imageSettings: ImageSettings;
  readonly runtimeRequestTimeout: Micros;
  /** Records an event about the pod, or about one of its containers. */
  event(pod: Pod, containerName: string | null, type: 'Normal' | 'Warning', reason: string, message: string): void;
  /** null: no apiserver. */
  readonly apiData: ApiData | null;
  /** A pull secret as last seen; null: absent, or no apiserver. */
  pullSecret(namespace: string, name: string): Secret | null;
  /** Does something for a pod: what fails in it is laid to that pod. */
  forPod<Result>(uid: string, work: () => Result): Result;
  /** An image that the pod waits for has come, or failed to. */
  imageReady(podUid: string): void;
}

export const imageMachine = 'image';
export const imageStoreAddress: Address = { machine: 'image-store', key: '' };
export const credentialPluginMachine = 'credential-plugin';

export function imageAddress(id: number): Address {
  return { machine: imageMachine, key: String(id) };
}
