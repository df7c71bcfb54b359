// The credentials that are tried for an image, in order.
// Invariant: the most specific location first; of one location, the first secret first; without any match the list is empty.
import type { Secret } from '../../ports/model/config-objects.js';
import type { PullCredentials } from '../../ports/outbound/container-runtime.js';
import { defaultRegistry } from '../values/image-reference.js';
import { byCodeUnits } from '../values/text-order.js';
import { type DockerConfig, dockerConfigOfSecret } from './docker-config.js';
import { keyMatchesRepository, registryKey } from './registry-location.js';

/** The owner of credentials, recorded with a pull. */
export type CredentialSource =
  | { readonly kind: 'secret'; readonly namespace: string; readonly name: string; readonly uid: string }
  | { readonly kind: 'service-account'; readonly namespace: string; readonly name: string; readonly uid: string }
  /** The node's own configuration, or a credential plugin without a service account: for every pod of the node. */
  | { readonly kind: 'node' };

export interface TrackedCredentials {
  readonly credentials: PullCredentials;
  readonly source: CredentialSource;
}

/** Credentials by the key of their location, in the order they were added. */
export type Keyring = ReadonlyMap<string, readonly TrackedCredentials[]>;

export type KeyringRead = { readonly ok: true; readonly keyring: Keyring } | { readonly ok: false; readonly message: string };

/** The key of the default registry in `docker login`'s file. */
const defaultRegistryKey = 'index.docker.io';

/** One unreadable pull secret fails the whole pull: a pod must not depend on which of its secrets happens to be good. */
export function keyringOfSecrets(secrets: readonly Secret[]): KeyringRead {
  const keyring = new Map<string, TrackedCredentials[]>();
  for (const secret of secrets) {
    const read = dockerConfigOfSecret(secret);
    if (read === null) continue;
    if (!read.ok) return read;
    const { name, namespace = '', uid = '' } = secret.metadata;
    addTo(keyring, read.config, { kind: 'secret', name, namespace, uid });
  }
  return { ok: true, keyring };
}

/** Of the node's own Docker configuration, or of a credential plugin's answer. */
export function keyringOfConfig(config: DockerConfig, source: CredentialSource): Keyring {
  const keyring = new Map<string, TrackedCredentials[]>();
  addTo(keyring, config, source);
  return keyring;
}

/**
 * The credentials of several keyrings, one after the other.
 * @param repository fully qualified, without tag and digest
 */
export function credentialsFor(keyrings: readonly Keyring[], repository: string): readonly TrackedCredentials[] {
  return keyrings.flatMap((keyring) => lookUp(keyring, repository));
}

function lookUp(keyring: Keyring, repository: string): readonly TrackedCredentials[] {
  const keys = [...keyring.keys()].sort(byCodeUnits).reverse();
  const found = keys.filter((key) => keyMatchesRepository(key, repository)).flatMap((key) => keyring.get(key)!);
  if (found.length > 0 || !isOfDefaultRegistry(repository)) return found;
  return keyring.get(defaultRegistryKey) ?? [];
}

function isOfDefaultRegistry(repository: string): boolean {
  const slash = repository.indexOf('/');
  const first = slash < 0 ? repository : repository.slice(0, slash);
  if (first === '') return false;
  return slash < 0 || first === defaultRegistry || first === defaultRegistryKey || !/[.:]/.test(first);
}

function addTo(keyring: Map<string, TrackedCredentials[]>, config: DockerConfig, source: CredentialSource): void {
  for (const [location, { username, password }] of config) {
    const key = registryKey(location);
    // A location that is no URL is for no image; the others of the secret still count.
    if (key === null) continue;
    const credentials = { username, password, serverAddress: '', identityToken: '', registryToken: '' };
    keyring.set(key, [...(keyring.get(key) ?? []), { credentials, source }]);
  }
}
