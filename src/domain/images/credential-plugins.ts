// Credential provider plugins: programs that return the credentials of an image. The request, the interpretation of an answer, and its cache duration.
// Invariants: an answer is used for the images that its kind of cache key names, until it expires; texts of plugins' answers are never
// repeated in messages, since they may hold secrets.
import type { Micros } from '../../ports/micros.js';
import type { PluginRun } from '../../ports/outbound/registry-credentials.js';
import { type Nanoseconds, nanosPerMicrosecond, parseDuration } from '../values/go-duration.js';
import { goJsonProblem } from '../values/go-json.js';
import { goQuote } from '../values/go-text.js';
import type { DockerConfig, RegistryLogin } from './docker-config.js';
import { identityKey, type PluginIdentity } from './plugin-identity.js';
import { keyMatchesRepository, registryKey } from './registry-location.js';

export interface TokenAttributes {
  readonly serviceAccountTokenAudience: string;
  readonly cacheType: 'Token' | 'ServiceAccount';
  readonly requireServiceAccount: boolean;
  readonly requiredServiceAccountAnnotationKeys: readonly string[];
  readonly optionalServiceAccountAnnotationKeys: readonly string[];
}

/** One entry of a CredentialProviderConfig. */
export interface CredentialProvider {
  readonly name: string;
  readonly matchImages: readonly string[];
  readonly defaultCacheDuration: Nanoseconds;
  readonly apiVersion: string;
  readonly args: readonly string[];
  readonly env: readonly { readonly name: string; readonly value: string }[];
  /** null: the plugin gets no service account's token. */
  readonly tokenAttributes: TokenAttributes | null;
}

export interface CachedAnswer {
  readonly config: DockerConfig;
  readonly until: Micros;
}

/** A plugin that runs. */
export interface AwaitedPlugin {
  /** Of the image manager. */
  readonly runs: number[];
  /** null: for the node. */
  readonly identity: PluginIdentity | null;
}

/** Plain data, changed in place. */
export interface CredentialPluginCache {
  /** Oldest first. */
  readonly answers: Map<string, CachedAnswer>;
  /** By plugin, repository and identity: one run of the plugin serves all waiting runs. */
  readonly waiting: Map<string, AwaitedPlugin>;
}

/** The limit of cached answers of all plugins; beyond it the oldest is dropped. */
const maxAnswers = 1_000;
/** A plugin that has not answered by then is killed. */
export const pluginTimeout: Micros = 60_000_000;

export function newCredentialPluginCache(): CredentialPluginCache {
  return { answers: new Map(), waiting: new Map() };
}

/** @param repository fully qualified, without tag and digest */
export function providesFor({ matchImages }: CredentialProvider, repository: string): boolean {
  return matchImages.some((pattern) => keyMatchesRepository(registryKey(pattern) ?? pattern, repository));
}

/** null: the plugin must be called. */
export function cachedAnswer(cache: CredentialPluginCache, provider: CredentialProvider, repository: string, identity: PluginIdentity | null, now: Micros): DockerConfig | null {
  for (const key of [repository, registryOf(repository), globalKey]) {
    const answer = cache.answers.get(cacheKey(provider, key, identity));
    if (answer !== undefined && now < answer.until) return answer.config;
  }
  return null;
}

export function pluginRun({ name, args, env, apiVersion }: CredentialProvider, repository: string, identity: PluginIdentity | null): PluginRun {
  const request = { kind: 'CredentialProviderRequest', apiVersion, image: repository, ...(identity === null ? {} : forAccount(identity)) };
  return { name, args, env, stdin: `${JSON.stringify(request)}\n` };
}

function forAccount({ token, annotations }: PluginIdentity): object {
  return { serviceAccountToken: token, ...(Object.keys(annotations).length === 0 ? {} : { serviceAccountAnnotations: annotations }) };
}

export type PluginAnswer = { readonly ok: true; readonly config: DockerConfig } | { readonly ok: false; readonly message: string };

/** The subject of a plugin's call. */
export interface PluginQuestion {
  readonly provider: CredentialProvider;
  readonly repository: string;
  readonly identity: PluginIdentity | null;
}

/** Parses an answer and caches it for its duration. */
export function takeAnswer(cache: CredentialPluginCache, { provider, repository, identity }: PluginQuestion, stdout: string, now: Micros): PluginAnswer {
  forgetExpiredAnswers(cache, now);
  const read = readAnswer(provider, stdout);
  if (!read.ok) return read;
  const { cacheKeyType, config } = read;
  if (identity !== null && provider.tokenAttributes?.cacheType !== 'Token' && [...config.values()].some(({ password }) => password === identity.token))
    return refused('its answer has the service account token itself as a password, which needs the cacheType Token');
  const key = cacheKeyType === 'Image' ? repository : cacheKeyType === 'Registry' ? registryOf(repository) : globalKey;
  const holds = Math.floor((read.cacheDuration ?? provider.defaultCacheDuration) / nanosPerMicrosecond);
  if (holds > 0) keep(cache, cacheKey(provider, key, identity), { config, until: now + holds });
  return { ok: true, config };
}

function forgetExpiredAnswers(cache: CredentialPluginCache, now: Micros): void {
  for (const [key, { until }] of cache.answers) if (until <= now) cache.answers.delete(key);
}

const globalKey = '<global>';

function cacheKey({ name, tokenAttributes }: CredentialProvider, key: string, identity: PluginIdentity | null): string {
  return `${name} ${key} ${identityKey(identity, tokenAttributes?.cacheType ?? null)}`;
}

function registryOf(repository: string): string {
  const slash = repository.indexOf('/');
  return slash < 0 ? repository : repository.slice(0, slash);
}

function keep(cache: CredentialPluginCache, key: string, answer: CachedAnswer): void {
  cache.answers.delete(key);
  cache.answers.set(key, answer);
  const oldest = cache.answers.keys().next();
  if (cache.answers.size > maxAnswers && oldest.done !== true) cache.answers.delete(oldest.value);
}

type ReadAnswer =
  | { readonly ok: true; readonly config: DockerConfig; readonly cacheKeyType: 'Image' | 'Registry' | 'Global'; readonly cacheDuration: Nanoseconds | null }
  | { readonly ok: false; readonly message: string };

function readAnswer({ apiVersion }: CredentialProvider, stdout: string): ReadAnswer {
  // Without the decoder's message: it may quote the content.
  if (goJsonProblem(stdout) !== null) return refused('its answer is no JSON');
  const answer: unknown = JSON.parse(stdout);
  if (!isObject(answer)) return refused('its answer is no object');
  if (answer.kind !== 'CredentialProviderResponse') return refused('its answer is of another kind than CredentialProviderResponse');
  if (answer.apiVersion !== apiVersion) return refused(`apiVersion from credential plugin response did not match expected apiVersion ${goQuote(apiVersion)}`);
  const { cacheKeyType } = answer;
  if (cacheKeyType !== 'Image' && cacheKeyType !== 'Registry' && cacheKeyType !== 'Global') return refused('its answer has a cacheKeyType that is none of Image, Registry, Global');
  const cacheDuration = readCacheDuration(answer.cacheDuration);
  if (!cacheDuration.ok) return refused('its answer has a cacheDuration that is no duration, or below 0');
  const config = readAuth(answer.auth);
  if (config === null) return refused('its answer has an auth that does not hold a username and a password each');
  return { ok: true, config, cacheKeyType, cacheDuration: cacheDuration.value };
}

function readCacheDuration(value: unknown): { readonly ok: true; readonly value: Nanoseconds | null } | { readonly ok: false } {
  if (value === undefined || value === null) return { ok: true, value: null };
  if (typeof value !== 'string') return { ok: false };
  const parsed = parseDuration(value);
  return parsed.ok && parsed.value >= 0 ? { ok: true, value: parsed.value } : { ok: false };
}

function readAuth(auth: unknown): DockerConfig | null {
  const config = new Map<string, RegistryLogin>();
  if (auth === undefined || auth === null) return config;
  if (!isObject(auth)) return null;
  for (const [location, login] of Object.entries(auth)) {
    if (!isObject(login)) return null;
    const { username = '', password = '' } = login;
    if (typeof username !== 'string' || typeof password !== 'string') return null;
    config.set(location, { username, password });
  }
  return config;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function refused(message: string): { readonly ok: false; readonly message: string } {
  return { ok: false, message };
}
