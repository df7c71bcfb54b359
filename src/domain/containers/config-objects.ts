// Config maps and secrets as the environment of a container looks them up.
import type { ConfigMap, Secret } from '../../ports/model/config-objects.js';

export type ObjectLookup<T> =
  | { readonly kind: 'found'; readonly value: T }
  | { readonly kind: 'notFound'; readonly message?: string }
  | { readonly kind: 'failed'; readonly message: string };

/** Config maps and secrets of the pod's namespace, by name. */
export interface ConfigObjects {
  configMap(name: string): ObjectLookup<ConfigMap>;
  secret(name: string): ObjectLookup<Secret>;
}
