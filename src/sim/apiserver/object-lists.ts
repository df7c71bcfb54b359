// Lists: in pages on request, at the newest version or at the client's.
// Invariant: the joined pages of one list are the state at the answer of its first page; a version that is no longer known is 410.
import { base64Decode, base64Encode } from '../../domain/values/base64.js';
import { goJsonProblem } from '../../domain/values/go-json.js';
import { byCodeUnits } from '../../domain/values/text-order.js';
import { utf8Decode, utf8Encode } from '../../domain/values/utf8.js';
import type { ListOptions } from './api-request.js';
import { type ApiRefusal, badRequest, expired, refusal, unexpected } from './api-status.js';
import type { ObjectStore, StoredObject } from './object-store.js';
import { type ResourceType, resourceKey } from './resource-types.js';
import { isSelected, readSelection } from './selection.js';

export interface ListedObjects {
  readonly items: readonly StoredObject[];
  readonly revision: number;
  readonly continueToken: string | null;
  /** The number of remaining objects; null: not counted, since a selector was used. */
  readonly remaining: number | null;
}

const tokenTooOld = [
  'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter,',
  'or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an',
  'inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.',
].join(' ');

/** @param stale the revision of a lagging cache, for clients that accept any version. null: no lag */
export function listObjects(
  store: ObjectStore,
  type: ResourceType,
  namespace: string | null,
  options: ListOptions,
  stale: number | null,
  podsOfNode: (node: string) => ReadonlyMap<string, StoredObject>,
): ListedObjects {
  const selection = readSelection(type, namespace, options.fieldSelector, options.labelSelector);
  const from = options.continueToken === null || options.continueToken === '' ? null : readToken(options.continueToken);
  const revision = from === null ? revisionOf(store, options, stale) : from.revision;
  const node = type.kind === 'Pod' ? selection.fields.find(({ path, operator, value }) => path === 'spec.nodeName' && operator === '=' && value !== '') : undefined;
  const within = node === undefined ? null : podsOfNode(node.value);
  const chosen = store.ordered(resourceKey(type), revision, (key, object) => (from === null || byCodeUnits(key, from.after) > 0) && isSelected(selection, object), within);
  if (chosen === null) {
    if (from === null) throw expired(`too old resource version: ${revision} (${store.state.compacted})`);
    throw expired(tokenTooOld, { continue: writeToken(store.revision, from.after) });
  }
  const limit = options.limit === null || options.limit === 0 ? chosen.length : options.limit;
  const page = chosen.slice(0, limit);
  const left = chosen.length - page.length;
  const last = page.at(-1)?.[0] ?? '';
  const isCounted = selection.fields.length === 0 && selection.labels.length === 0;
  return { items: page.map(([, object]) => object), revision, continueToken: left > 0 ? writeToken(revision, last) : null, remaining: left > 0 && isCounted ? left : null };
}

function revisionOf(store: ObjectStore, { resourceVersion, resourceVersionMatch }: ListOptions, stale: number | null): number {
  if (resourceVersion === null || resourceVersion === '') return store.revision;
  const asked = parseRevision(resourceVersion, (why) => badRequest(`invalid resource version: ${why}`));
  if (resourceVersionMatch === 'Exact') return asked;
  if (asked > store.revision) throw tooLarge(asked, store.revision);
  return Math.max(asked, stale ?? store.revision);
}

export function parseRevision(text: string, refuse: (why: string) => ApiRefusal = unexpected): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw refuse(`resourceVersion: Invalid value: ${JSON.stringify(text)}: strconv.ParseUint: parsing ${JSON.stringify(text)}: invalid syntax`);
}

/** The real server waits a while for its cache, then answers this. */
function tooLarge(asked: number, current: number) {
  const details = { retryAfterSeconds: 1, causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }] };
  return refusal(504, 'Timeout', `Timeout: Too large resource version: ${asked}, current: ${current}`, details);
}

function writeToken(revision: number, after: string): string {
  return base64Encode(utf8Encode(JSON.stringify({ v: 'meta.k8s.io/v1', rv: revision, start: after })));
}

function readToken(token: string): { readonly revision: number; readonly after: string } {
  const refused = (why: string) => badRequest(`invalid continue token: continue key is not valid: ${why}`);
  const bytes = base64Decode(token);
  if (bytes === null) throw refused('illegal base64 data');
  const text = utf8Decode(bytes);
  const problem = goJsonProblem(String.fromCharCode(...bytes));
  if (problem !== null) throw refused(problem);
  const read = JSON.parse(text) as { readonly rv?: unknown; readonly start?: unknown } | null;
  if (typeof read?.rv !== 'number' || typeof read.start !== 'string') throw refused('incorrect encoded start resourceVersion 0 (version meta.k8s.io/v1)');
  return { revision: read.rv, after: read.start };
}
