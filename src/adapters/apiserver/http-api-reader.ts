// Reads and watches of the apiserver. What a watch sees is delivered as events, in order, as many at once as came at once.
//
// | a watch ends because                                     | answer                                       |
// |----------------------------------------------------------|----------------------------------------------|
// | the server ended it, the connection broke or fell silent | success, also in the middle of a line        |
// | it was cancelled                                         | success                                      |
// | an ERROR event                                           | what the event's Status says                 |
// | what isn't an event                                      | data-loss: its place must be found by a list |
import type { Micros } from '../../ports/micros.js';
import type { ApiObject } from '../../ports/model/api-object.js';
import type { Call, PortOf } from '../../ports/operation.js';
import type { ApiClient, ApiList, ApiReaderOperations, ApiWatchEvent, ApiWatchEvents } from '../../ports/outbound/apiserver.js';
import { PortError } from '../../ports/port-error.js';
import type { Answer } from './answer.js';
import { localFailure, statusCodeOf, statusFailure } from './api-failures.js';
import { listOf, objectBytesMax, parsedJson, Slices, textOf } from './body.js';
import { type Exchanges, Scope, type Sent } from './exchanges.js';
import { JsonLines } from './json-lines.js';
import { collectionPath, objectPath, queryOf, resourceName, selectionParameters } from './resource-path.js';

type Requests = { readonly [Name in keyof ApiReaderOperations]: ApiReaderOperations[Name]['request'] };

export interface ReaderOptions {
  readonly clients: Readonly<Record<ApiClient, Exchanges>>;
  readonly deliver: (events: ApiWatchEvents) => void;
  now(): Micros;
}

/** How much longer than it asked for a watch may go on: the server ends it, unless it is gone. */
const overdueMillis = 30_000;
/** A server sends bookmarks about once a minute; one that is silent for so long is taken for gone, and watched anew from where it was. */
export const silentMillis = 180_000;

interface RawList {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata?: { readonly resourceVersion?: string; readonly continue?: string };
  readonly items?: readonly Mutable[] | null;
}
type Mutable = { -readonly [Key in keyof ApiObject]: ApiObject[Key] };

export class HttpApiReader implements PortOf<ApiReaderOperations> {
  constructor(private readonly options: ReaderOptions) {}

  async list(request: Requests['list'], call: Call): Promise<ApiList> {
    const { resource, namespace, resourceVersion, limit, continueToken } = request;
    const query = queryOf({ ...selectionParameters(request), limit, continue: continueToken, resourceVersion: continueToken === null ? resourceVersion : null });
    const sent: Sent = { ...this.asking('list', request), method: 'GET', path: collectionPath(resource, namespace) + query, contentType: null, body: null };
    const list = await this.options.clients.main.call(sent, call, (response) => listOf(response));
    const { apiVersion, kind, metadata, items } = (list ?? {}) as RawList;
    if (metadata === undefined || !(items === null || Array.isArray(items))) throw localFailure(sent, 'data-loss', `couldn't decode the answer: it is no list (${sent.path})`);
    const itemKind = kind?.replace(/List$/, '');
    for (const item of items ?? []) {
      if (apiVersion !== undefined) item.apiVersion ??= apiVersion;
      if (itemKind !== undefined) item.kind ??= itemKind;
    }
    const { continue: next = '', resourceVersion: version = '' } = metadata;
    return { items: items ?? [], resourceVersion: version, continueToken: next === '' ? null : next };
  }

  get({ client, resource, namespace, name, resourceVersion }: Requests['get'], call: Call): Promise<ApiObject> {
    const path = objectPath(resource, namespace, name, null) + queryOf({ resourceVersion });
    const sent: Sent = { operation: 'apiReader.get', verb: 'get', resource: resourceName(resource), namespace, name, method: 'GET', path, contentType: null, body: null };
    return this.options.clients[client].call(sent, call, async (response) => parsedJson(await textOf(response, objectBytesMax)) as ApiObject);
  }

  async watch(request: Requests['watch'], call: Call): Promise<null> {
    const { resource, namespace, resourceVersion, timeoutSeconds } = request;
    const query = queryOf({ watch: 'true', allowWatchBookmarks: 'true', resourceVersion, timeoutSeconds, ...selectionParameters(request) });
    const sent: Sent = { ...this.asking('watch', request), method: 'GET', path: collectionPath(resource, namespace) + query, contentType: null, body: null };
    const scope = new Scope(call, timeoutSeconds * 1000 + overdueMillis);
    const silence = setTimeout(() => scope.abort(new Error('the watch is silent')), silentMillis);
    try {
      const response = await this.options.clients.main.openWatch(sent, scope);
      await this.follow(request.watch, sent, response, silence);
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

  private async follow(watch: string, sent: Sent, response: Answer, silence: NodeJS.Timeout): Promise<void> {
    const lines = new JsonLines(objectBytesMax);
    const slices = new Slices();
    try {
      for await (const chunk of response) {
        silence.refresh();
        this.deliver(watch, sent, lines.take(chunk));
        await slices.pass();
      }
    } catch (error) {
      if (error instanceof RangeError) throw localFailure(sent, 'data-loss', `unable to decode an event from the watch stream: ${error.message}`);
      throw error;
    } finally {
      response.destroy();
    }
  }

  /** Delivers what is good before what isn't is told. */
  private deliver(watch: string, sent: Sent, lines: readonly string[]): void {
    const events: ApiWatchEvent[] = [];
    try {
      for (const line of lines) if (line !== '') events.push(eventOf(sent, line));
    } finally {
      if (events.length > 0) this.options.deliver({ type: 'api-watch', watch, at: this.options.now(), events });
    }
  }
}

function eventOf(sent: Sent, line: string): ApiWatchEvent {
  const garbage = (): PortError => localFailure(sent, 'data-loss', 'unable to decode an event from the watch stream: it is no watch event');
  let parsed: { readonly type?: unknown; readonly object?: ApiObject | null } | null;
  try {
    parsed = JSON.parse(line);
  } catch {
    throw garbage();
  }
  const { type, object } = parsed ?? {};
  if (typeof object !== 'object' || object === null) throw garbage();
  switch (type) {
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED':
      if (typeof object.metadata !== 'object') throw garbage();
      return { type, object };
    case 'BOOKMARK':
      return { type, resourceVersion: object.metadata?.resourceVersion ?? '' };
    case 'ERROR':
      throw statusFailure(sent, object as object, statusCodeOf(object as object), null);
    default:
      throw garbage();
  }
}
