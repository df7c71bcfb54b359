// What environment variables and downward API volumes point at: a field of the pod, or a resource of one of its containers.
import type { Quantity } from './object-meta.js';

export interface ObjectFieldSelector {
  readonly apiVersion?: string;
  readonly fieldPath: string;
}
export interface ResourceFieldSelector {
  readonly containerName?: string;
  readonly resource: string;
  readonly divisor?: Quantity;
}
