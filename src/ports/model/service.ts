// core/v1 Service, as far as the environment of containers describes services.
import type { ObjectMeta } from './object-meta.js';

export interface ServicePort {
  readonly name?: string;
  readonly protocol?: string;
  readonly port: number;
}
export interface Service {
  readonly metadata: ObjectMeta;
  readonly spec?: {
    /** The service's address; `''` or `None` for none. */
    readonly clusterIP?: string;
    readonly ports?: readonly ServicePort[];
  };
}
