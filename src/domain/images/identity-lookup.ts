// The identity for a credential provider plugin: the node, or the pod's service account with a token of it (KEP-4412).
//
// | the plugin                                    | the pod                                        | it is called                       |
// |-----------------------------------------------|------------------------------------------------|------------------------------------|
// | takes no tokens                               | any                                            | for the node                       |
// | takes tokens, needs none                      | without a service account                      | for the node                       |
// | takes tokens, needs one                       | without a service account                      | not                                |
// | takes tokens                                  | with one that lacks a required annotation      | not, which the workload may intend |
// | takes tokens                                  | with one that is unavailable, or whose token is | not, and the log says so          |
// | takes tokens                                  | with one                                       | for it, with a token bound to the pod |
//
// Invariant: a token is sent to the plugin and written nowhere.
import type { Micros } from '../../ports/micros.js';
import type { ApiObject } from '../../ports/model/api-object.js';
import { byCodeUnits } from '../values/text-order.js';
import type { CredentialProvider, TokenAttributes } from './credential-plugins.js';
import type { ImageContext } from './image-context.js';
import type { ImageRun } from './image-manager-state.js';
import type { PluginIdentity } from './plugin-identity.js';

export type IdentityAnswer =
  | { readonly kind: 'node' }
  | { readonly kind: 'account'; readonly identity: PluginIdentity }
  /** It gives nothing for this pod. */
  | { readonly kind: 'not-asked' }
  /** The request for the account or its token is in flight; waiting runs are notified. */
  | { readonly kind: 'pending' };

const notAsked: IdentityAnswer = { kind: 'not-asked' };

/** @param since the start of the look-up */
export function identityFor(provider: CredentialProvider, run: ImageRun, since: Micros, context: ImageContext): IdentityAnswer {
  const { tokenAttributes: attributes } = provider;
  if (attributes === null) return { kind: 'node' };
  const { metadata, spec } = run.request.pod;
  const { serviceAccountName: name = '' } = spec;
  if (name === '') return attributes.requireServiceAccount ? notAsked : { kind: 'node' };
  const { apiData } = context;
  if (apiData === null) return failed(provider, 'cannot get ServiceAccounts when kubelet is in standalone mode', context);
  // No more requests for a pod that was removed meanwhile: its token is useless.
  if (!run.isAwaited) return notAsked;
  const { namespace = '', name: podName, uid: podUid = '' } = metadata;
  const account = apiData.serviceAccount(namespace, name, since);
  if (account.kind === 'pending') return { kind: 'pending' };
  if (account.kind !== 'found') return failed(provider, `failed to get service account ${namespace}/${name}: ${account.message}`, context);
  const annotations = namedAnnotations(attributes, account.object);
  if (annotations === null) return notAsked;
  const audiences = [attributes.serviceAccountTokenAudience];
  const token = apiData.pluginToken({ namespace, serviceAccountName: name, audiences, expirationSeconds: null, podName, podUid }, since);
  if (token.kind === 'pending') return { kind: 'pending' };
  if (token.kind === 'failed') return failed(provider, `failed to get service account token for ${namespace}/${name}: ${token.message}`, context);
  return { kind: 'account', identity: { namespace, name, uid: account.object.metadata.uid ?? '', annotations, token: token.token } };
}

/** null: a required one is missing. */
function namedAnnotations(attributes: TokenAttributes, { metadata }: ApiObject): Readonly<Record<string, string>> | null {
  const { annotations = {} } = metadata;
  const { requiredServiceAccountAnnotationKeys: required, optionalServiceAccountAnnotationKeys: optional } = attributes;
  if (!required.every((key) => Object.hasOwn(annotations, key))) return null;
  const names = [...required, ...optional].filter((key) => Object.hasOwn(annotations, key)).sort(byCodeUnits);
  return Object.fromEntries(names.map((key) => [key, annotations[key] ?? '']));
}

function failed({ name }: CredentialProvider, err: string, { turn }: ImageContext): IdentityAnswer {
  turn.log('error', 'Failed to get credentials from a credential provider plugin', { provider: name, err });
  return notAsked;
}
