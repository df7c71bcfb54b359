// Registry credentials in pull secrets: Docker's config.json and the older .dockercfg.
// Invariant: pure; an unreadable document is an answer in the words of Go's decoders, which pods show as their waiting reason.
import type { Secret } from '../../ports/model/config-objects.js';
import { base64Decode, readBase64 } from '../values/base64.js';
import { goJsonProblem } from '../values/go-json.js';
import { utf8Decode } from '../values/utf8.js';

export interface RegistryLogin {
  readonly username: string;
  readonly password: string;
}

/** Registry location as written -> login. */
export type DockerConfig = ReadonlyMap<string, RegistryLogin>;

export type DockerConfigRead = { readonly ok: true; readonly config: DockerConfig } | { readonly ok: false; readonly message: string };

type Read<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly message: string };

const entryType = 'dockerConfigEntryWithAuth';
const authFormat = 'unable to parse auth field, must be formatted as base64(username:password)';

/** Null for a secret of another type, or one without a document: it is no pull secret, which is no error. */
export function dockerConfigOfSecret(secret: Secret): DockerConfigRead | null {
  if (secret.type === 'kubernetes.io/dockerconfigjson') return readDocument(secret, '.dockerconfigjson', 'DockerConfigJSON', readConfigJson);
  if (secret.type === 'kubernetes.io/dockercfg') return readDocument(secret, '.dockercfg', 'DockerConfig', readEntries);
  return null;
}

/** Docker's config.json, `{"auths": {...}}`. */
export function readDockerConfigJson(text: string): DockerConfigRead {
  return read(text, 'DockerConfigJSON', readConfigJson);
}

/** The older .dockercfg, whose members are what `auths` is now. */
export function readDockerCfg(text: string): DockerConfigRead {
  return read(text, 'DockerConfig', readEntries);
}

type ReadRoot = (root: Readonly<Record<string, unknown>>) => Read<DockerConfig>;

function readDocument(secret: Secret, key: string, type: string, readRoot: ReadRoot): DockerConfigRead | null {
  const data = secret.data ?? {};
  const encoded = Object.hasOwn(data, key) ? data[key]! : '';
  if (encoded === '') return null;
  const bytes = base64Decode(encoded);
  return bytes === null ? { ok: false, message: 'the secret is no base64' } : read(utf8Decode(bytes), type, readRoot);
}

function read(text: string, type: string, readRoot: ReadRoot): DockerConfigRead {
  const problem = goJsonProblem(text);
  if (problem !== null) return { ok: false, message: problem };
  const root: unknown = JSON.parse(text);
  if (root === null) return { ok: true, config: new Map() };
  if (!isObject(root)) return { ok: false, message: `json: cannot unmarshal ${kindOf(root)} into Go value of type credentialprovider.${type}` };
  const entries = readRoot(root);
  return entries.ok ? { ok: true, config: entries.value } : entries;
}

function readConfigJson(root: Readonly<Record<string, unknown>>): Read<DockerConfig> {
  const auths = member(root, 'auths');
  if (auths === undefined || auths === null) return { ok: true, value: new Map() };
  if (!isObject(auths)) return refused(`json: cannot unmarshal ${kindOf(auths)} into Go struct field DockerConfigJSON.auths of type credentialprovider.DockerConfig`);
  return readEntries(auths);
}

function readEntries(entries: Readonly<Record<string, unknown>>): Read<DockerConfig> {
  const config = new Map<string, RegistryLogin>();
  for (const [location, entry] of Object.entries(entries)) {
    const login = readEntry(entry);
    if (!login.ok) return login;
    config.set(location, login.value);
  }
  return { ok: true, value: config };
}

function readEntry(entry: unknown): Read<RegistryLogin> {
  if (entry === null) return { ok: true, value: { username: '', password: '' } };
  if (!isObject(entry)) return refused(`json: cannot unmarshal ${kindOf(entry)} into Go value of type credentialprovider.${entryType}`);
  const username = textMember(entry, 'username');
  if (!username.ok) return username;
  const password = textMember(entry, 'password');
  if (!password.ok) return password;
  const auth = textMember(entry, 'auth');
  if (!auth.ok) return auth;
  return auth.value === '' ? { ok: true, value: { username: username.value, password: password.value } } : readAuth(auth.value);
}

/** `auth` is base64 of `user:password`, completed by `=` or not, and wins over the plain fields. */
function readAuth(auth: string): Read<RegistryLogin> {
  const decoded = readBase64(auth, auth.trim().endsWith('='));
  if (!decoded.ok) return decoded;
  const text = utf8Decode(decoded.bytes);
  const colon = text.indexOf(':');
  return colon < 0 ? refused(authFormat) : { ok: true, value: { username: text.slice(0, colon), password: text.slice(colon + 1) } };
}

function textMember(entry: Readonly<Record<string, unknown>>, name: string): Read<string> {
  const value = member(entry, name);
  if (value === undefined || value === null) return { ok: true, value: '' };
  return typeof value === 'string' ? { ok: true, value } : refused(`json: cannot unmarshal ${kindOf(value)} into Go struct field ${entryType}.${name} of type string`);
}

/** Member names match case-insensitively; the last one counts. */
function member(object: Readonly<Record<string, unknown>>, name: string): unknown {
  let found: unknown;
  for (const [key, value] of Object.entries(object)) if (key.toLowerCase() === name) found = value;
  return found;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return 'array';
  return typeof value === 'boolean' ? 'bool' : typeof value;
}

function refused(message: string): { readonly ok: false; readonly message: string } {
  return { ok: false, message };
}
