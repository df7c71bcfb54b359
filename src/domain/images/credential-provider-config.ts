// CredentialProviderConfig files: strictly decoded and validated, since a plugin that is never called would show only in a failed pull.
// Invariant: a valid provider has everything for its calls; a refusal names the file, the field and the expectation.
import type { ConfigurationFile, ParsedValue } from '../../ports/outbound/configuration-source.js';
import { qualifiedNameProblems } from '../values/dns-names.js';
import { globMatches } from '../values/glob.js';
import { type Nanoseconds, parseDuration } from '../values/go-duration.js';
import { goQuote } from '../values/go-text.js';
import type { CredentialProvider, TokenAttributes } from './credential-plugins.js';
import { registryKey } from './registry-location.js';

const configGroup = 'kubelet.config.k8s.io';
const configVersions = ['v1', 'v1beta1', 'v1alpha1'].map((version) => `${configGroup}/${version}`);
const pluginGroup = 'credentialprovider.kubelet.k8s.io';
const pluginVersions = ['v1', 'v1beta1', 'v1alpha1'].map((version) => `${pluginGroup}/${version}`);
/** Tokens are part of the newest protocol alone. */
const tokenVersion = `${pluginGroup}/v1`;

export type CredentialProvidersRead = { readonly ok: true; readonly providers: readonly CredentialProvider[] } | { readonly ok: false; readonly error: string };

/** The providers of all files, in their order. */
export function readCredentialProviders(files: readonly ConfigurationFile[]): CredentialProvidersRead {
  const providers: CredentialProvider[] = [];
  try {
    for (const file of files) {
      for (const provider of providersOf(file)) {
        if (providers.some(({ name }) => name === provider.name)) return { ok: false, error: `duplicate provider name ${goQuote(provider.name)} found in configuration file(s)` };
        providers.push(provider);
      }
    }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return { ok: false, error: error.message };
  }
  return { ok: true, providers };
}

/** Thrown inside, answered by the entry. */
class Refusal extends Error {}

type Fields = Readonly<Record<string, ParsedValue>>;

function providersOf(file: ConfigurationFile): CredentialProvider[] {
  if (!file.ok) throw new Refusal(file.error);
  const { path, parsed } = file;
  if (!parsed.ok) throw new Refusal(`${path}:${parsed.line}:${parsed.column}: ${parsed.message}`);
  const [repeated] = parsed.duplicateKeys;
  if (repeated !== undefined) throw new Refusal(`${path}: line ${repeated.line}: key ${goQuote(repeated.key)} already set in map`);
  const root = fieldsOf(parsed.value, path, '', ['apiVersion', 'kind', 'providers']);
  if (root.kind !== 'CredentialProviderConfig') throw new Refusal(`${path}: kind: must be CredentialProviderConfig`);
  if (typeof root.apiVersion !== 'string' || !configVersions.includes(root.apiVersion)) throw new Refusal(`${path}: apiVersion: must be one of ${configVersions.join(', ')}`);
  const list = listOf(root.providers, path, 'providers');
  if (list.length === 0) throw new Refusal(`${path}: providers: at least 1 item in plugins is required`);
  return list.map((value, i) => providerOf(value, path, `providers[${i}]`));
}

const providerFields = ['name', 'matchImages', 'defaultCacheDuration', 'apiVersion', 'args', 'env', 'tokenAttributes'];

function providerOf(value: ParsedValue, path: string, field: string): CredentialProvider {
  const fields = fieldsOf(value, path, field, providerFields);
  const refuse = (name: string, why: string): never => {
    throw new Refusal(`${path}: ${field}.${name}: ${why}`);
  };
  const name = textOf(fields.name, path, `${field}.name`);
  if (name === '') refuse('name', 'name is required');
  if (name.includes('/') || name.includes(' ') || name === '.' || name === '..')
    refuse('name', 'name cannot be ".", "..", or contain "/" or spaces: it is the file name of the plugin');
  if (name.includes('\0')) refuse('name', 'name cannot contain NUL');
  const matchImages = textsOf(fields.matchImages, path, `${field}.matchImages`);
  if (matchImages.length === 0) refuse('matchImages', 'at least 1 item in matchImages is required');
  for (const pattern of matchImages) if (!isPattern(pattern)) refuse('matchImages', `${goQuote(pattern)} is no pattern of images: host[:port][/path], without scheme`);
  const apiVersion = textOf(fields.apiVersion, path, `${field}.apiVersion`);
  if (!pluginVersions.includes(apiVersion)) refuse('apiVersion', `unsupported apiVersion ${goQuote(apiVersion)}, must be one of ${pluginVersions.join(', ')}`);
  const tokenAttributes =
    fields.tokenAttributes === undefined || fields.tokenAttributes === null ? null : tokenAttributesOf(fields.tokenAttributes, path, `${field}.tokenAttributes`);
  if (tokenAttributes !== null && apiVersion !== tokenVersion) refuse('tokenAttributes', `is only supported for ${tokenVersion}`);
  return {
    name,
    matchImages,
    defaultCacheDuration: durationOf(fields.defaultCacheDuration, path, `${field}.defaultCacheDuration`),
    apiVersion,
    args: textsOf(fields.args, path, `${field}.args`),
    env: listOf(fields.env, path, `${field}.env`).map((entry, i) => variableOf(entry, path, `${field}.env[${i}]`)),
    tokenAttributes,
  };
}

/** A glob of a host, with port and path; a scheme is a common mistake. */
function isPattern(pattern: string): boolean {
  if (pattern === '' || pattern.includes('://')) return false;
  const key = registryKey(pattern);
  return (
    key !== null &&
    key
      .split('/')[0]!
      .split('.')
      .every((part) => globMatches(part, '') !== null)
  );
}

function variableOf(value: ParsedValue, path: string, field: string): { readonly name: string; readonly value: string } {
  const fields = fieldsOf(value, path, field, ['name', 'value']);
  const name = textOf(fields.name, path, `${field}.name`);
  if (name === '' || name.includes('=') || name.includes('\0')) throw new Refusal(`${path}: ${field}.name: must be the name of an environment variable`);
  // Its value may be a secret: it is not repeated.
  const text = textOf(fields.value, path, `${field}.value`);
  if (text.includes('\0')) throw new Refusal(`${path}: ${field}.value: cannot contain NUL`);
  return { name, value: text };
}

const tokenFields = ['serviceAccountTokenAudience', 'cacheType', 'requireServiceAccount', 'requiredServiceAccountAnnotationKeys', 'optionalServiceAccountAnnotationKeys'] as const;

function tokenAttributesOf(value: ParsedValue, path: string, field: string): TokenAttributes {
  const fields = fieldsOf(value, path, field, tokenFields);
  const refuse = (name: (typeof tokenFields)[number], why: string): never => {
    throw new Refusal(`${path}: ${field}.${name}: ${why}`);
  };
  const serviceAccountTokenAudience = textOf(fields.serviceAccountTokenAudience, path, `${field}.serviceAccountTokenAudience`);
  if (serviceAccountTokenAudience === '') refuse('serviceAccountTokenAudience', 'serviceAccountTokenAudience is required');
  const { cacheType, requireServiceAccount } = fields;
  if (cacheType !== 'Token' && cacheType !== 'ServiceAccount') return refuse('cacheType', 'must be Token or ServiceAccount');
  if (typeof requireServiceAccount !== 'boolean') return refuse('requireServiceAccount', 'must be true or false');
  const required = keysOf(fields.requiredServiceAccountAnnotationKeys, path, `${field}.requiredServiceAccountAnnotationKeys`);
  const optional = keysOf(fields.optionalServiceAccountAnnotationKeys, path, `${field}.optionalServiceAccountAnnotationKeys`);
  if (required.length > 0 && !requireServiceAccount)
    refuse('requiredServiceAccountAnnotationKeys', 'requireServiceAccount cannot be false when requiredServiceAccountAnnotationKeys is set');
  const [both] = required.filter((key) => optional.includes(key));
  if (both !== undefined) refuse('optionalServiceAccountAnnotationKeys', `${goQuote(both)} is among the required keys, too`);
  return { serviceAccountTokenAudience, cacheType, requireServiceAccount, requiredServiceAccountAnnotationKeys: required, optionalServiceAccountAnnotationKeys: optional };
}

function keysOf(value: ParsedValue | undefined, path: string, field: string): readonly string[] {
  const keys = textsOf(value, path, field);
  for (const [i, key] of keys.entries()) {
    const [problem] = qualifiedNameProblems(key.toLowerCase());
    if (problem !== undefined) throw new Refusal(`${path}: ${field}[${i}]: ${problem}`);
    if (keys.indexOf(key) < i) throw new Refusal(`${path}: ${field}[${i}]: ${goQuote(key)} is there twice`);
  }
  return keys;
}

function durationOf(value: ParsedValue | undefined, path: string, field: string): Nanoseconds {
  if (value === undefined || value === null) throw new Refusal(`${path}: ${field}: defaultCacheDuration is required`);
  const parsed = parseDuration(textOf(value, path, field));
  if (!parsed.ok) throw new Refusal(`${path}: ${field}: ${parsed.error}`);
  if (parsed.value < 0) throw new Refusal(`${path}: ${field}: defaultCacheDuration must be greater than or equal to 0`);
  return parsed.value;
}

function fieldsOf(value: ParsedValue, path: string, field: string, known: readonly string[]): Fields {
  const at = field === '' ? path : `${path}: ${field}`;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Refusal(`${at}: must be an object`);
  for (const key of Object.keys(value)) if (!known.includes(key)) throw new Refusal(`${path}: unknown field ${goQuote(field === '' ? key : `${field}.${key}`)}`);
  return value as Fields;
}

function listOf(value: ParsedValue | undefined, path: string, field: string): readonly ParsedValue[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw new Refusal(`${path}: ${field}: must be a list`);
  return value as readonly ParsedValue[];
}

function textsOf(value: ParsedValue | undefined, path: string, field: string): readonly string[] {
  return listOf(value, path, field).map((element, i) => textOf(element, path, `${field}[${i}]`));
}

function textOf(value: ParsedValue | undefined, path: string, field: string): string {
  if (value === undefined || value === null) return '';
  if (typeof value !== 'string') throw new Refusal(`${path}: ${field}: must be a string`);
  return value;
}
