// Forwards kubelets' answers: logs and the node proxy as HTTP requests of the server's own; exec, attach and port-forward
// as bytes; and the pod proxy. The server presents a client certificate of its authority to the kubelet, as the real one does.
// Clients that speak WebSocket are in websocket-streams.
import { request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Socket } from 'node:net';
import { createSecureContext, type SecureContext } from 'node:tls';
import { ApiRefusal, type ApiTarget, type ApiUser, type ApiVerb, badRequest, type JsonObject, refusal, type SimApiserver } from '../../sim/index.js';
import { answerOnSocket, proxyUpgrade } from '../http-server/index.js';
import { type CommandWishes, translateCommand, tunnelSpdy } from '../streaming/index.js';
import type { KeyAndCertificate } from './authority.js';
import { type KubeletPath, kubeletAddress, kubeletPathOf, nodeProxyPath, streamSubresources } from './kubelet-reach.js';
import { podUrl, proxiedLocation, proxiedPath, proxiedPod } from './proxied-path.js';
import { cut } from './response-end.js';
import { webSocketKind } from './websocket-streams.js';

export interface KubeletReach {
  readonly pair: KeyAndCertificate;
  /** The address of every kubelet; null: the address in its Node. */
  readonly host: string | null;
}

/** Headers that are between two neighbours only, or the client's own. */
const ownHeaders: ReadonlySet<string> = new Set(['host', 'connection', 'authorization', 'keep-alive', 'transfer-encoding', 'upgrade', 'te', 'trailer', 'content-length']);
const dialMillis = 30_000;
/** Of a kubelet's refusal. */
const refusedTextMax = 2_000;

export class KubeletStreams {
  private readonly secureContext: SecureContext;

  constructor(
    private readonly server: SimApiserver,
    private readonly reach: KubeletReach,
    private readonly now: () => number,
  ) {
    const { key, certificate: cert } = reach.pair;
    this.secureContext = createSecureContext({ key, cert });
  }

  /** Whether a kubelet or a pod answers that. */
  concerns({ resource, subresource, name }: ApiTarget): boolean {
    if (name === null || resource.group !== '' || subresource === null) return false;
    return (resource.plural === 'pods' && (streamSubresources.includes(subresource) || subresource === 'proxy')) || (resource.plural === 'nodes' && subresource === 'proxy');
  }

  /** Throws `ApiRefusal`. */
  async pass(request: IncomingMessage, response: ServerResponse, user: ApiUser, target: ApiTarget): Promise<void> {
    const url = this.urlFor(request, user, target);
    if (isOfPodByProxy(target) && isWithoutPath(request)) {
      const { pathname, search } = new URL(request.url ?? '/', 'http://server');
      response.writeHead(301, { Location: `${pathname}/${search}` }).end();
      return;
    }
    if (target.subresource === 'log' || target.subresource === 'proxy') {
      await this.relay(request, response, url, target);
      return;
    }
    throw badRequest('Upgrade request required');
  }

  /** Throws `ApiRefusal` before anything is written to the socket. */
  async upgrade(request: IncomingMessage, socket: Socket, head: Buffer, user: ApiUser, target: ApiTarget): Promise<void> {
    if (!this.concerns(target)) throw badRequest('this is not a stream');
    const { url, node } = this.reached(request, user, target);
    if (node === null) {
      await proxyUpgrade(request, socket, head, url, { rejectUnauthorized: false });
      return;
    }
    const isWebSocket = request.headers.upgrade?.toLowerCase() === 'websocket' && target.resource.plural === 'pods';
    // A WebSocket uses GET, but has the effect of a POST.
    if (isWebSocket) this.server.permit(user, 'create', target, this.now());
    const kind = isWebSocket ? webSocketKind(request, target.subresource ?? '', node) : 'other';
    const dial = { secureContext: this.secureContext, rejectUnauthorized: false, answerMillis: dialMillis };
    if (kind === 'channels') await translateCommand(request, socket, head, url, wishesOf(url.searchParams), dial);
    else if (kind === 'tunnel') {
      const refused = await tunnelSpdy(request, socket, head, url, dial);
      if (refused !== null) answerOnSocket(socket, { status: refused.status, headers: { 'Content-Type': refused.contentType }, body: refused.body });
    } else {
      const { key, certificate: cert } = this.reach.pair;
      await proxyUpgrade(request, socket, head, url, { key, cert, rejectUnauthorized: false });
    }
  }

  private urlFor(request: IncomingMessage, user: ApiUser, target: ApiTarget): URL {
    return this.reached(request, user, target).url;
  }

  /** Throws `ApiRefusal`. node: null for a pod that is reached without its kubelet. */
  private reached(request: IncomingMessage, user: ApiUser, target: ApiTarget): { readonly url: URL; readonly node: JsonObject | null } {
    this.server.permit(user, verbs.get(request.method ?? '') ?? 'get', target, this.now());
    const { pathname, search, searchParams } = new URL(request.url ?? '/', 'http://server');
    if (isOfPodByProxy(target)) {
      const asked = proxiedPod(target.name ?? '');
      const pod = this.server.object(target.resource, target.namespace, asked.name) as JsonObject;
      return { url: podUrl(pod, asked, proxiedPath(pathname).rest + search), node: null };
    }
    const { nodeName, path } = this.pathFor(target, pathname, search, searchParams);
    const node = this.server.object({ group: '', version: 'v1', plural: 'nodes' }, null, nodeName) as JsonObject;
    const { host, port } = kubeletAddress(node, nodeName);
    return { url: new URL(path, `https://${hostText(this.reach.host ?? host)}:${port}`), node };
  }

  private pathFor(target: ApiTarget, pathname: string, search: string, query: URLSearchParams): KubeletPath {
    if (target.resource.plural === 'nodes') return nodeProxyPath(target, proxiedPath(pathname).rest + search);
    const pod = this.server.object(target.resource, target.namespace, target.name ?? '');
    return kubeletPathOf(pod as JsonObject, target.subresource ?? '', query);
  }

  private relay(request: IncomingMessage, response: ServerResponse, url: URL, target: ApiTarget): Promise<void> {
    const headers = Object.fromEntries(Object.entries(request.headers).filter(([name]) => !ownHeaders.has(name) && !name.startsWith(':')));
    const { key, certificate: cert } = this.reach.pair;
    const ofPod = isOfPodByProxy(target);
    const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
    // Pods don't get the server's client certificate.
    const shown = ofPod ? {} : { key, cert };
    return new Promise((resolve, reject) => {
      const asked = send(url, { method: request.method, headers, ...shown, rejectUnauthorized: false, agent: false, timeout: dialMillis }, (answer) => {
        asked.setTimeout(0);
        const { statusCode = 502 } = answer;
        if (target.subresource === 'log' && (statusCode < 200 || statusCode > 206)) {
          refusedLog(answer, statusCode).then(reject, reject);
          return;
        }
        const kept = Object.fromEntries(Object.entries(answer.headers).filter(([name]) => name === 'content-length' || !ownHeaders.has(name)));
        if (ofPod && kept.location !== undefined)
          kept.location = proxiedLocation(String(kept.location), url, proxiedPath(new URL(request.url ?? '/', 'http://server').pathname).own);
        response.writeHead(statusCode, kept);
        response.flushHeaders();
        answer.pipe(response);
        answer.once('close', resolve);
      });
      response.once('close', () => asked.destroy());
      asked.once('timeout', () => asked.destroy(new Error('i/o timeout')));
      asked.once('error', (error) => {
        if (response.headersSent) cut(response);
        else if (ofPod) reject(refusal(503, 'ServiceUnavailable', `error trying to reach service: ${error.message}`));
        else reject(refusal(500, 'InternalError', `Get "${url.origin}${url.pathname}": ${error.message}`));
        resolve();
      });
      request.pipe(asked);
    });
  }
}

const verbs: ReadonlyMap<string, ApiVerb> = new Map([
  ['POST', 'create'],
  ['PUT', 'update'],
  ['PATCH', 'patch'],
  ['DELETE', 'delete'],
]);

/** From the parameters of a kubelet's path. */
function wishesOf(query: URLSearchParams): CommandWishes {
  const is = (name: string): boolean => query.get(name) === '1';
  return { stdin: is('input'), stdout: is('output'), stderr: is('error') && !is('tty'), tty: is('tty') };
}

function isOfPodByProxy({ resource, subresource }: ApiTarget): boolean {
  return resource.plural === 'pods' && subresource === 'proxy';
}

/** Relative links of such a page would be wrong. */
function isWithoutPath(request: IncomingMessage): boolean {
  return (request.method === 'GET' || request.method === 'HEAD') && proxiedPath(new URL(request.url ?? '/', 'http://server').pathname).rest === '';
}

/** A kubelet's refusal of a log, in the server's form. */
async function refusedLog(answer: IncomingMessage, statusCode: number): Promise<ApiRefusal> {
  let text = '';
  for await (const chunk of answer) if (text.length < refusedTextMax) text += (chunk as Buffer).toString();
  text = text.slice(0, refusedTextMax);
  if (statusCode === 400) return badRequest(text);
  if (statusCode === 404) return refusal(404, 'NotFound', `the server could not find the requested resource: ${text}`);
  return refusal(500, 'InternalError', `Internal error occurred: ${text}`);
}

export function statusOf(error: unknown): { readonly code: number; readonly body: unknown } {
  if (error instanceof ApiRefusal) return { code: error.code, body: error.status };
  return { code: 500, body: refusal(500, 'InternalError', `Internal error occurred: ${error instanceof Error ? error.message : String(error)}`).status };
}

function hostText(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}
