// One HTTP request to the mock apiserver: authentication, target, and the answer in the requested form.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import {
  ApiRefusal,
  type ApiRequest,
  type ApiResponse,
  type ApiTarget,
  type ApiUser,
  type ApiVerb,
  badRequest,
  findResourceType,
  type JsonObject,
  noSuchPath,
  refusal,
  type SimApiserver,
} from '../../sim/index.js';
import { answerOnSocket } from '../http-server/index.js';
import type { RealTime } from '../time/index.js';
import { notAcceptable, sendJson, sendText, unauthorized, type WantedForm, wantedForm } from './answers.js';
import { type AuthenticationOptions, userOf } from './authentication.js';
import { documentAt } from './documents.js';
import { type KubeletStreams, statusOf } from './kubelet-streams.js';
import { answerControl, controlsPrefix } from './mock-controls.js';
import { inForm } from './object-forms.js';
import { patchKindOf, readBody } from './request-body.js';
import { readRequestPath } from './request-path.js';
import { type RequestQuery, readQuery } from './request-query.js';
import { metricsDiscovery, type ResourceMetrics } from './resource-metrics.js';
import { cut, isGone } from './response-end.js';
import { WatchStream } from './watch-stream.js';

const defaultWatchSeconds = 1800;
const noPage = '404 page not found\n';

export class HttpApi {
  private watches = 0;

  constructor(
    private readonly server: SimApiserver,
    private readonly time: RealTime,
    private readonly options: AuthenticationOptions & { readonly version: JsonObject },
    private readonly kubelets: KubeletStreams | null = null,
    private readonly metrics: ResourceMetrics | null = null,
  ) {}

  /** Never rejects: an error is an answer, or ends the connection. */
  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      await this.answer(request, response);
    } catch (error) {
      if (isGone(response) || response.headersSent) cut(response);
      else if (error instanceof ApiRefusal) sendJson(request, response, error.code, error.status);
      else sendJson(request, response, 500, refusal(500, 'InternalError', `Internal error occurred: ${error instanceof Error ? error.message : String(error)}`).status);
    }
  }

  /** A request that wants another protocol: only what kubelets answer has one. */
  async upgrade(request: IncomingMessage, socket: Socket, head: Buffer): Promise<void> {
    try {
      const user = userOf(request, this.server, this.options);
      const path = readRequestPath(new URL(request.url ?? '/', 'http://server').pathname);
      if (user === null) throw refusal(401, 'Unauthorized', 'Unauthorized');
      if (path.kind !== 'resource' || this.kubelets === null) throw noSuchPath();
      await this.kubelets.upgrade(request, socket, head, user, path.target);
    } catch (error) {
      const { code, body } = statusOf(error);
      answerOnSocket(socket, { status: code, headers: { 'Content-Type': 'application/json' }, body: `${JSON.stringify(body)}\n` });
    }
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = urlOf(request.url ?? '/');
    const user = userOf(request, this.server, this.options);
    if (user === null) {
      sendJson(request, response, 401, unauthorized());
      return;
    }
    const path = readRequestPath(pathname);
    if (path.kind === 'resource' && !this.hasGroup(path.target.resource.group)) sendText(response, 404, noPage);
    else if (path.kind === 'resource') await this.answerResource(request, response, user, path.target, searchParams);
    else if (path.kind === 'document' && path.path.startsWith(controlsPrefix)) await this.answerControl(request, response, user, path.path, searchParams.get('nodes') === 'true');
    else if (path.kind === 'document') this.answerDocument(request, response, user, path.path);
    else sendText(response, 404, noPage);
  }

  /** What no group answers for is no affair of the API's. */
  private hasGroup(group: string): boolean {
    return group === metricsDiscovery.group.name || this.server.resourceTypes.some((type) => type.group === group);
  }

  private async answerControl(request: IncomingMessage, response: ServerResponse, user: ApiUser, path: string, ofNodes: boolean): Promise<void> {
    this.checkPath(request, user, path);
    const body = request.method === 'GET' ? undefined : await readBody(request, 'Controls');
    sendJson(request, response, 200, answerControl(this.server, String(request.method), path, ofNodes, body, this.time.now()));
  }

  private checkPath(request: IncomingMessage, user: ApiUser, path: string): void {
    if (this.server.authorizer.decidePath(user, path).allowed) return;
    throw refusal(403, 'Forbidden', `forbidden: User "${user.name}" cannot ${String(request.method).toLowerCase()} path "${path}"`, {});
  }

  private answerDocument(request: IncomingMessage, response: ServerResponse, user: ApiUser, path: string): void {
    this.checkPath(request, user, path);
    const found = documentAt(path, String(request.headers.accept ?? ''), this.options.version, this.server.resourceTypes);
    const group = /^\/(?:api()|apis\/([^/]+))\//.exec(path);
    if (found === null && group !== null && this.hasGroup(group[1] ?? group[2] ?? '')) throw noSuchPath();
    if (found === null) sendText(response, 404, noPage);
    else if (typeof found.body === 'string') sendText(response, 200, found.body);
    else sendJson(request, response, 200, found.body, found.contentType);
  }

  private async answerResource(request: IncomingMessage, response: ServerResponse, user: ApiUser, target: ApiTarget, parameters: URLSearchParams): Promise<void> {
    if (this.kubelets?.concerns(target) === true) {
      await this.kubelets.pass(request, response, user, target);
      return;
    }
    if (this.metrics?.concerns(target) === true) {
      if (request.method !== 'GET') throw refusal(405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource', {});
      sendJson(request, response, 200, await this.metrics.answer(user, target, parameters.get('labelSelector')));
      return;
    }
    const form = wantedForm(request.headers.accept);
    if (form === 'unacceptable') {
      sendJson(request, response, 406, notAcceptable());
      return;
    }
    const query = readQuery(parameters);
    const verb = verbOf(request.method, target);
    if (query.watch && (verb === 'list' || verb === 'get')) this.watch(request, response, user, target, query, form);
    else {
      const asked = await this.requestOf(request, user, target, verb, query);
      this.finish(request, response, target, this.server.handle(asked, this.time.now()), query, form);
    }
  }

  private async requestOf(request: IncomingMessage, user: ApiUser, target: ApiTarget, verb: ApiVerb, query: RequestQuery): Promise<ApiRequest> {
    const { dryRun, fieldValidation, fieldManager, force } = query;
    const base = { ...target, user, verb, options: query, dryRun, fieldValidation, fieldManager, force, userAgent: String(request.headers['user-agent'] ?? '') };
    const body = verb === 'get' || verb === 'list' ? undefined : await readBody(request, findResourceType(target.resource)?.kind ?? '');
    if (verb === 'patch') return { ...base, body, patch: patchKindOf(request) };
    const isDeletion = verb === 'delete' || verb === 'deletecollection';
    if (isDeletion && body === undefined && query.gracePeriodSeconds !== null) return { ...base, body: { gracePeriodSeconds: query.gracePeriodSeconds } };
    return { ...base, body };
  }

  private finish(request: IncomingMessage, response: ServerResponse, target: ApiTarget, answer: ApiResponse, query: RequestQuery, form: WantedForm): void {
    const send = (): void => {
      if (answer.lost) cut(response);
      else if (!isGone(response)) sendJson(request, response, answer.code, this.shaped(answer.body, target, query, form), 'application/json', answer.warnings);
    };
    if (answer.latencyMicros === 0) send();
    else this.time.after(answer.latencyMicros, send);
  }

  private shaped(body: JsonObject, { resource }: ApiTarget, { includeObject }: RequestQuery, form: WantedForm): JsonObject {
    const type = findResourceType(resource);
    return type === null ? body : inForm(body, { form, type, includeObject, now: this.server.clockAt(this.time.now()) });
  }

  private watch(request: IncomingMessage, response: ServerResponse, user: ApiUser, target: ApiTarget, query: RequestQuery, form: WantedForm): void {
    const owner = `http-${++this.watches}`;
    const { fieldSelector, labelSelector, resourceVersion, bookmarks, sendInitialEvents, timeoutSeconds } = query;
    const asked = { user, target, fieldSelector, labelSelector, resourceVersion, bookmarks, sendInitialEvents, timeoutSeconds: timeoutSeconds ?? defaultWatchSeconds };
    const opened = this.server.watch(owner, asked, this.time.now());
    if ('refused' in opened) {
      this.finish(request, response, target, opened.refused, query, form);
      return;
    }
    const type = findResourceType(target.resource);
    if (type === null) throw noSuchPath();
    new WatchStream(this.server, owner, opened.watch, response, { form, type, includeObject: query.includeObject, now: () => this.server.clockAt(this.time.now()) }).start();
  }
}

function urlOf(path: string): URL {
  try {
    return new URL(`http://server${path}`);
  } catch {
    throw badRequest(`the path ${JSON.stringify(path)} is not understood`);
  }
}

function verbOf(method: string | undefined, { name, subresource }: ApiTarget): ApiVerb {
  const hasName = name !== null;
  switch (method) {
    case 'GET':
    case 'HEAD':
      return hasName ? 'get' : 'list';
    case 'POST':
      if (hasName && subresource === null) throw refusal(405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource', {});
      return 'create';
    case 'PUT':
    case 'PATCH':
      if (!hasName) throw refusal(405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource', {});
      return method === 'PUT' ? 'update' : 'patch';
    case 'DELETE':
      return hasName ? 'delete' : 'deletecollection';
    default:
      throw refusal(405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource', {});
  }
}
