// Reads and watches of the apiserver. A watch delivers its events in order, all that arrived together in one batch.
//
// | a watch ends because                                     | answer                                       |
// |----------------------------------------------------------|----------------------------------------------|
// | the server ended it, the connection broke or fell silent | success, also in the middle of a line        |
// | it was cancelled                                         | success                                      |
// | an ERROR event                                           | the failure in the event's Status            |
// | a line that isn't an event                               | data-loss: the caller must list again        |
import { readNamed, structOfAnswer } from '../../domain/values/api-schema/api-kinds.js';
import type { Micros } from '../../ports/micros.js';
import type { ApiObject, UnusableObject } from '../../ports/model/api-object.js';
import type { Call, PortOf } from '../../ports/operation.js';
import type { ApiClient, ApiList, ApiReaderOperations, ApiWatchEvent, ApiWatchEvents } from '../../ports/outbound/apiserver.js';
import { PortError } from '../../ports/port-error.js';
import type { Answer } from './answer.js';
import { localFailure, statusCodeOf, statusFailure } from './api-failures.js';
import { listOf, objectBytesMax, Slices } from './body.js';
import { type Exchanges, Scope, type Sent } from './exchanges.js';
import { JsonLines } from './json-lines.js';
import { objectOf } from './read-body.js';
import { collectionPath, objectPath, queryOf, resourceName, selectionParameters } from './resource-path.js';

type Requests = { readonly [Name in keyof ApiReaderOperations]: ApiReaderOperations[Name]['request'] };

export interface ReaderOptions {
  readonly clients: Readonly<Record<ApiClient, Exchanges>>;
  readonly deliver: (events: ApiWatchEvents) => void;
  now(): Micros;
}

/** How long a watch may exceed its requested timeout: the server ends it by then, unless it is gone. */
const overdueMillis = 30_000;
/** A server sends bookmarks about once a minute; after this much silence the watch is restarted from its last version. */
export const silentMillis = 180_000;
/** Items of a list that are read before others get the loop, where their time is up. */
const itemsAtOnce = 32;

export class HttpApiReader implements PortOf<ApiReaderOperations> {
  constructor(private readonly options: ReaderOptions) {}

  async list(request: Requests['list'], call: Call): Promise<ApiList> {
    const { resource, namespace, resourceVersion, limit, continueToken } = request;
    const query = queryOf({ ...selectionParameters(request), limit, continue: continueToken, resourceVersion: continueToken === null ? resourceVersion : null });
    const sent: Sent = { ...this.asking('list', request), method: 'GET', path: collectionPath(resource, namespace) + query, contentType: null, body: null };
    const list = await this.options.clients.main.call(sent, call, (response) => listOf(response));
    if (!isRecord(list) || !isRecord(list.metadata) || !(list.items === null || Array.isArray(list.items)))
      throw localFailure(sent, 'data-loss', `couldn't decode the answer: it is no list (${sent.path})`);
    const { apiVersion, kind, metadata } = list;
    const typeMeta = { ...(typeof apiVersion === 'string' ? { apiVersion } : {}), ...(typeof kind === 'string' ? { kind: kind.replace(/List$/, '') } : {}) };
    const { items, unusable } = await readItems(list.items ?? [], structOfAnswer(resource, null), typeMeta);
    const { continue: next, resourceVersion: version } = metadata;
    return { items, unusable, resourceVersion: typeof version === 'string' ? version : '', continueToken: typeof next === 'string' && next !== '' ? next : null };
  }

  get({ client, resource, namespace, name, resourceVersion }: Requests['get'], call: Call): Promise<ApiObject> {
    const path = objectPath(resource, namespace, name, null) + queryOf({ resourceVersion });
    const sent: Sent = { operation: 'apiReader.get', verb: 'get', resource: resourceName(resource), namespace, name, method: 'GET', path, contentType: null, body: null };
    return this.options.clients[client].call(sent, call, (response) => objectOf(response, sent, structOfAnswer(resource, null)));
  }

  async watch(request: Requests['watch'], call: Call): Promise<null> {
    const { resource, namespace, resourceVersion, timeoutSeconds } = request;
    const query = queryOf({ watch: 'true', allowWatchBookmarks: 'true', resourceVersion, timeoutSeconds, ...selectionParameters(request) });
    const sent: Sent = { ...this.asking('watch', request), method: 'GET', path: collectionPath(resource, namespace) + query, contentType: null, body: null };
    const scope = new Scope(call, timeoutSeconds * 1000 + overdueMillis);
    const silence = setTimeout(() => scope.abort(new Error('the watch is silent')), silentMillis);
    try {
      const response = await this.options.clients.main.openWatch(sent, scope);
      await this.follow(request, sent, response, silence);
    } catch (error) {
      if (error instanceof PortError && !(scope.signal.aborted && error.kind === 'cancelled')) throw error;
    } finally {
      clearTimeout(silence);
      scope.end();
    }
    return null;
  }

  private asking(verb: 'list' | 'watch', { resource, namespace }: Requests['list'] | Requests['watch']) {
    return { operation: `apiReader.${verb}`, verb, resource: resourceName(resource), namespace, name: null };
  }

  private async follow({ watch, resource }: Requests['watch'], sent: Sent, response: Answer, silence: NodeJS.Timeout): Promise<void> {
    const lines = new JsonLines(objectBytesMax);
    const slices = new Slices();
    const struct = structOfAnswer(resource, null);
    try {
      for await (const chunk of response) {
        silence.refresh();
        this.deliver(watch, struct, sent, lines.take(chunk));
        await slices.pass();
      }
    } catch (error) {
      if (error instanceof RangeError) throw localFailure(sent, 'data-loss', `unable to decode an event from the watch stream: ${error.message}`);
      throw error;
    } finally {
      response.destroy();
    }
  }

  /** Delivers the events before one that can't be read. */
  private deliver(watch: string, struct: string | null, sent: Sent, lines: readonly string[]): void {
    const events: ApiWatchEvent[] = [];
    try {
      for (const line of lines) if (line !== '') events.push(eventOf(sent, struct, line));
    } finally {
      if (events.length > 0) this.options.deliver({ type: 'api-watch', watch, at: this.options.now(), events });
    }
  }
}

/** Items of a list, which name neither their apiVersion nor their kind. */
async function readItems(raw: readonly unknown[], struct: string | null, typeMeta: object): Promise<{ readonly items: ApiObject[]; readonly unusable: UnusableObject[] }> {
  const items: ApiObject[] = [];
  const unusable: UnusableObject[] = [];
  const slices = new Slices();
  for (const [i, item] of raw.entries()) {
    const read = readNamed(isRecord(item) ? { ...typeMeta, ...item } : item, struct);
    if (read.ok) items.push(read.object);
    else unusable.push(read.unusable);
    if (i % itemsAtOnce === itemsAtOnce - 1) await slices.pass();
  }
  return { items, unusable };
}

function eventOf(sent: Sent, struct: string | null, line: string): ApiWatchEvent {
  const garbage = (): PortError => localFailure(sent, 'data-loss', 'unable to decode an event from the watch stream: it is no watch event');
  let parsed: unknown;
  try {
    parsed = JSON.parse(line);
  } catch {
    throw garbage();
  }
  if (!isRecord(parsed) || !isRecord(parsed.object)) throw garbage();
  const { type, object } = parsed;
  switch (type) {
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED': {
      const read = readNamed(object, struct);
      return read.ok ? { type, object: read.object } : { type: 'UNUSABLE', isDeleted: type === 'DELETED', object: read.unusable };
    }
    case 'BOOKMARK': {
      const version = isRecord(object.metadata) ? object.metadata.resourceVersion : null;
      return { type, resourceVersion: typeof version === 'string' ? version : '' };
    }
    case 'ERROR':
      throw statusFailure(sent, object, statusCodeOf(object), null);
    default:
      throw garbage();
  }
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
