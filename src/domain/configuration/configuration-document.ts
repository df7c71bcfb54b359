// The required kind and version of a configuration document, and the strictness of reading it.
// Invariant: the main file falls back from strict to lenient reading with a warning; drop-ins are refused if they aren't exact.
import type { ConfigurationFile, ParsedText, ParsedValue } from '../../ports/outbound/configuration-source.js';
import { goQuote } from '../values/go-text.js';
import { type DraftResult, readDraft } from './draft.js';
import { configurationKind, configurationVersion, type DraftConfiguration } from './schema.js';
import { isMap } from './value-kind.js';

/** Other known kinds of the group that are no configuration of the kubelet. */
const otherKinds: ReadonlySet<string> = new Set(
  [
    ...['v1', 'v1beta1', 'v1alpha1'].map((version) => ['CredentialProviderConfig', version]),
    ...['ImagePullIntent', 'ImagePulledRecord'].flatMap((kind) => ['v1beta1', 'v1alpha1'].map((version) => [kind, version])),
    ['SerializedNodeConfigSource', 'v1beta1'],
  ].map(([kind, version]) => `kubelet.config.k8s.io/${version}, Kind=${kind}`),
);

const scheme = 'pkg/kubelet/apis/config/scheme/scheme.go:33';

export type MainDocument = { readonly ok: true; readonly draft: DraftConfiguration; readonly strictDecodingError: string | null } | { readonly ok: false; readonly error: string };

/** Reads the file named by --config. */
export function readMainDocument(file: ConfigurationFile): MainDocument {
  if (!file.ok) return { ok: false, error: `failed to read kubelet config file ${goQuote(file.path)}, error: ${file.error}` };
  if (file.text === '') return { ok: false, error: `kubelet config file ${goQuote(file.path)} was empty` };
  const { parsed } = file;
  if (!parsed.ok) return { ok: false, error: `failed to decode: ${syntaxError(parsed, file.text)}` };
  const identity = identityOf(parsed.value, file.text);
  if (!identity.ok) return { ok: false, error: `failed to decode: ${identity.error}` };
  const { apiVersion, kind } = identity;
  if (otherKinds.has(`${apiVersion}, Kind=${kind}`)) return { ok: false, error: `failed to cast object to KubeletConfiguration, unexpected type: ${apiVersion}, Kind=${kind}` };
  if (apiVersion !== configurationVersion || kind !== configurationKind) {
    return { ok: false, error: `failed to decode: no kind ${goQuote(kind)} is registered for version ${goQuote(apiVersion)} in scheme ${goQuote(scheme)}` };
  }
  const read = readDraft(parsed.value);
  if (!read.ok) return { ok: false, error: `failed to decode: ${read.error}` };
  return {
    ok: true,
    draft: read.draft,
    strictDecodingError: strictError([...duplicateErrors(parsed, read.unknownFields), ...read.unknownFields.map((path) => `unknown field ${goQuote(path)}`)]),
  };
}

export type DropInDocument = { readonly ok: true; readonly patch: ParsedValue } | { readonly ok: false; readonly error: string };

/** Reads one drop-in file into the patch that it is. The error begins with the file's path. */
export function readDropIn(file: ConfigurationFile): DropInDocument {
  const refuse = (error: string): DropInDocument => ({ ok: false, error: `failed to load kubelet dropin file, path: ${file.path}, error: ${error}` });
  if (!file.ok) return refuse(`failed to read kubelet config file ${goQuote(file.path)}, error: ${file.error}`);
  if (file.text === '') return refuse(`kubelet config file ${goQuote(file.path)} was empty`);
  const { parsed } = file;
  if (!parsed.ok) return refuse(syntaxError(parsed, file.text));
  const identity = kindAndVersion(parsed.value, findExactly);
  if (!identity.ok) return refuse(identity.error);
  if (identity.kind === '') return refuse(missing('Kind', file.text));
  const duplicates = strictError(duplicateErrors(parsed, []));
  if (duplicates !== null) return refuse(duplicates);
  const { apiVersion, kind } = identity;
  if (apiVersion !== configurationVersion || kind !== configurationKind) {
    const version = apiVersion.includes('/') ? apiVersion : `/${apiVersion}`;
    return { ok: false, error: `failed to load kubelet dropin file, path: ${file.path}, unknown apiVersion/kind: ${version}, Kind=${kind}` };
  }
  return { ok: true, patch: parsed.value };
}

/** Reads the result of merging drop-ins; fields that don't exist are dropped in silence. */
export function readMergedDocument(document: ParsedValue): DraftResult {
  return readDraft(document);
}

function syntaxError(parsed: ParsedText & { readonly ok: false }, text: string): string {
  // Text that begins with a brace is read as JSON, whose kind is checked first.
  if (/^\s*\{/.test(text)) return `couldn't get version/kind; json parse error: ${parsed.line > 0 ? `line ${parsed.line}: ` : ''}${parsed.message}`;
  return parsed.line > 0 ? `error converting YAML to JSON: yaml: line ${parsed.line}: ${parsed.message}` : parsed.message;
}

function missing(field: string, text: string): string {
  return `Object '${field}' is missing in '${text}'`;
}

type Identity = { readonly ok: true; readonly apiVersion: string; readonly kind: string } | { readonly ok: false; readonly error: string };

function identityOf(document: ParsedValue, text: string): Identity {
  const identity = kindAndVersion(document, findAnyCase);
  if (!identity.ok) return identity;
  if (identity.kind === '') return { ok: false, error: missing('Kind', text) };
  if (identity.apiVersion === '') return { ok: false, error: missing('apiVersion', text) };
  if (identity.apiVersion.split('/').length > 2) return { ok: false, error: `unexpected GroupVersion string: ${identity.apiVersion}` };
  return identity;
}

type Find = (document: { readonly [key: string]: ParsedValue }, key: string) => ParsedValue | undefined;

const findExactly: Find = (document, key) => document[key];

/** Finds the main file's kind and version case-insensitively; such a spelling is still reported as an unknown field. */
const findAnyCase: Find = (document, key) => document[key] ?? Object.entries(document).find(([name]) => name.toLowerCase() === key.toLowerCase())?.[1];

function kindAndVersion(document: ParsedValue, find: Find): Identity {
  if (document === null) return { ok: true, apiVersion: '', kind: '' };
  const wrong = (what: string): Identity => ({ ok: false, error: `couldn't get version/kind; json parse error: json: cannot unmarshal ${what}` });
  if (!isMap(document)) return wrong(`${Array.isArray(document) ? 'array' : typeof document} into an object with kind and apiVersion`);
  const apiVersion = find(document, 'apiVersion') ?? '';
  const kind = find(document, 'kind') ?? '';
  if (typeof apiVersion !== 'string') return wrong('apiVersion: it must be a string');
  if (typeof kind !== 'string') return wrong('kind: it must be a string');
  return { ok: true, apiVersion, kind };
}

/** JSON names each repeated field once, and only those that exist; YAML every repeated line. */
function duplicateErrors(parsed: ParsedText & { readonly ok: true }, unknownFields: readonly string[]): string[] {
  if (parsed.duplicateKeys.length === 0) return [];
  if (parsed.format === 'json') {
    const known = parsed.duplicateKeys.filter(({ path }) => !unknownFields.some((unknown) => path === unknown || path.startsWith(`${unknown}.`) || path.startsWith(`${unknown}[`)));
    return [...new Set(known.map(({ path }) => `duplicate field ${goQuote(path)}`))];
  }
  const lines = parsed.duplicateKeys.map(({ key, line }) => `\n  line ${line}: key ${goQuote(key)} already set in map`);
  return [`yaml: unmarshal errors:${lines.join('')}`];
}

function strictError(problems: readonly string[]): string | null {
  return problems.length === 0 ? null : `strict decoding error: ${problems.join(', ')}`;
}
