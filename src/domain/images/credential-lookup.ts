// Looks up a pod's credentials for an image: its pull secrets, then the node's Docker configuration, then the plugins in their order.
//
// Each keyring is filled when its answer arrives; the look-up ends when all have. Unreadable secrets fail it; an unavailable node configuration or
// plugin is logged and gives no credentials, so that the pull continues with the rest.
import type { Micros } from '../../ports/micros.js';
import type { Secret } from '../../ports/model/config-objects.js';
import type { Pod } from '../../ports/model/pod.js';
import type { AgentOperations } from '../../ports/outbound/outbound-ports.js';
import type { ReplyFor } from '../kernel/machine.js';
import { cachedAnswer, pluginRun, pluginTimeout, providesFor, takeAnswer } from './credential-plugins.js';
import { readDockerCfg, readDockerConfigJson } from './docker-config.js';
import { identityFor } from './identity-lookup.js';
import { credentialPluginMachine, type ImageContext, imageStoreAddress } from './image-context.js';
import type { CredentialLookup, ImageRun } from './image-manager-state.js';
import { type CredentialSource, credentialsFor, type Keyring, keyringOfConfig, keyringOfSecrets, type TrackedCredentials } from './keyring.js';
import { type PluginIdentity, runKey } from './plugin-identity.js';

const nodeKeyringHolds: Micros = 300_000_000;
const empty: Keyring = new Map();
const nodeSource = { kind: 'node' } as const;
/** The place of the first plugin's keyring, after those of the secrets and of the node. */
const firstPlugin = 2;

export type LookUp =
  | { readonly kind: 'found'; readonly credentials: readonly TrackedCredentials[] }
  | { readonly kind: 'failed'; readonly message: string }
  /** A request was sent; check again after its answer. */
  | { readonly kind: 'waiting' };

export function lookUpCredentials(run: ImageRun, context: ImageContext): LookUp {
  if (run.credentials !== null) return { kind: 'found', credentials: run.credentials };
  if (run.lookup === null) {
    const secrets = keyringOfSecrets(pullSecrets(run.request.pod, context));
    if (!secrets.ok) return { kind: 'failed', message: secrets.message };
    const lookup: CredentialLookup = { since: context.turn.now, keyrings: [secrets.keyring, nodeKeyring(run, context)], withoutIdentity: new Set() };
    run.lookup = lookup;
    for (let i = 0; i < context.imageSettings.credentialProviders.length; i++) lookup.keyrings.push(pluginKeyring(i, run, lookup, context));
  } else {
    const { lookup } = run;
    for (const i of lookup.withoutIdentity) lookup.keyrings[firstPlugin + i] = pluginKeyring(i, run, lookup, context);
  }
  const keyrings = run.lookup.keyrings.filter((keyring) => keyring !== null);
  if (keyrings.length < run.lookup.keyrings.length) return { kind: 'waiting' };
  run.credentials = credentialsFor(keyrings, run.ensure.repository);
  run.lookup = null;
  return { kind: 'found', credentials: run.credentials };
}

/** The pod's available secrets; logs the names of the others. */
function pullSecrets(pod: Pod, context: ImageContext): Secret[] {
  const { namespace = '' } = pod.metadata;
  const missing: string[] = [];
  const found: Secret[] = [];
  for (const { name = '' } of pod.spec.imagePullSecrets ?? []) {
    if (name === '') continue;
    const secret = context.pullSecret(namespace, name);
    if (secret === null) missing.push(name);
    else found.push(secret);
  }
  if (missing.length > 0) {
    const message = `Unable to retrieve some image pull secrets (${missing.join(', ')}); attempting to pull the image may not succeed.`;
    context.event(pod, null, 'Warning', 'FailedToRetrieveImagePullSecret', message);
  }
  return found;
}

/** null: it is being read. */
function nodeKeyring(run: ImageRun, { images, turn }: ImageContext): Keyring | null {
  const { nodeKeyring: node } = images;
  if (node.keyring !== null && turn.now - node.readAt < nodeKeyringHolds) return node.keyring;
  node.waiting.push(run.id);
  if (!turn.inFlight(imageStoreAddress, 'nodeConfig')) turn.ask('registryCredentials.readNodeConfig', imageStoreAddress, 'nodeConfig', null);
  return null;
}

/** Stores the node's configuration. Returns the runs that may resume. */
export function nodeConfigReplied(context: ImageContext, reply: ReplyFor<AgentOperations, 'registryCredentials.readNodeConfig'>): number[] {
  const { images, turn } = context;
  const { nodeKeyring: node } = images;
  node.keyring = empty;
  node.readAt = turn.now;
  if (!reply.outcome.ok) turn.log('error', 'The node has no readable Docker configuration', { err: reply.outcome.error.message });
  else if (reply.outcome.value !== null) {
    const { format, path, text } = reply.outcome.value;
    const read = format === 'config.json' ? readDockerConfigJson(text) : readDockerCfg(text);
    if (read.ok) node.keyring = keyringOfConfig(read.config, nodeSource);
    // Without the decoder's message, which may quote the content.
    else turn.log('error', 'The Docker configuration of the node is not understood', { path, format });
  }
  const waiting = node.waiting.splice(0);
  for (const id of waiting) setKeyring(context, id, 1, node.keyring);
  return waiting;
}

/** null: the plugin, or its identity, has been requested. */
function pluginKeyring(index: number, run: ImageRun, lookup: CredentialLookup, context: ImageContext): Keyring | null {
  const { images, imageSettings, turn } = context;
  const provider = imageSettings.credentialProviders[index];
  const { repository } = run.ensure;
  if (provider === undefined || !providesFor(provider, repository)) return empty;
  const answer = identityFor(provider, run, lookup.since, context);
  if (answer.kind === 'pending') {
    lookup.withoutIdentity.add(index);
    return null;
  }
  lookup.withoutIdentity.delete(index);
  if (answer.kind === 'not-asked') return empty;
  const identity = answer.kind === 'account' ? answer.identity : null;
  const cached = cachedAnswer(images.plugins, provider, repository, identity, turn.now);
  if (cached !== null) return keyringOfConfig(cached, sourceOf(identity));
  const key = `${provider.name} ${repository} ${runKey(identity)}`;
  const waiting = images.plugins.waiting.get(key);
  if (waiting !== undefined) {
    waiting.runs.push(run.id);
    return null;
  }
  images.plugins.waiting.set(key, { runs: [run.id], identity });
  turn.ask('registryCredentials.runPlugin', { machine: credentialPluginMachine, key }, 'run', pluginRun(provider, repository, identity), pluginTimeout);
  return null;
}

function sourceOf(identity: PluginIdentity | null): CredentialSource {
  if (identity === null) return nodeSource;
  const { namespace, name, uid } = identity;
  return { kind: 'service-account', namespace, name, uid };
}

/** Stores a plugin's answer or failure. Returns the runs that may resume. */
export function pluginReplied(context: ImageContext, key: string, reply: ReplyFor<AgentOperations, 'registryCredentials.runPlugin'>): number[] {
  const { images, imageSettings, turn } = context;
  const [name = '', repository = ''] = key.split(' ');
  const index = imageSettings.credentialProviders.findIndex((provider) => provider.name === name);
  const provider = imageSettings.credentialProviders[index];
  const { runs, identity } = images.plugins.waiting.get(key) ?? { runs: [], identity: null };
  images.plugins.waiting.delete(key);
  if (provider === undefined) return runs;
  const answer = reply.outcome.ok
    ? takeAnswer(images.plugins, { provider, repository, identity }, reply.outcome.value.stdout, turn.now)
    : { ok: false as const, message: `error execing credential provider plugin ${name} for image ${repository}: ${reply.outcome.error.message}` };
  if (!answer.ok) turn.log('error', 'Failed to get credentials from a credential provider plugin', { provider: name, image: repository, err: answer.message });
  const keyring = answer.ok ? keyringOfConfig(answer.config, sourceOf(identity)) : empty;
  for (const id of runs) setKeyring(context, id, firstPlugin + index, keyring);
  return runs;
}

function setKeyring({ images }: ImageContext, id: number, index: number, keyring: Keyring): void {
  const keyrings = images.runs.get(id)?.lookup?.keyrings;
  if (keyrings !== undefined) keyrings[index] = keyring;
}
