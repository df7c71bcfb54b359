// Malformed, ambiguous and malicious requests for the kubelet's port, on raw connections, from a seed; and a server whose routes report
// each call. For every input: no request reaches a route without the token, no answer contains what a request injected, no token
// is disclosed, and afterwards there are as many connections as before.
import { connect, type Socket } from 'node:net';
import { Authenticator, alwaysAllow, type KubeletRoute, KubeletServer } from '../../src/adapters/http-server/index.js';
import { requestPolicy } from '../../src/domain/authorization/request-policy.js';

export interface FuzzOutcome {
  readonly sent: number;
  /** Requests with the token that got to a route. */
  readonly reached: number;
  readonly statuses: Readonly<Record<string, number>>;
  /** What must never happen, with the bytes that made it happen. */
  readonly broken: readonly string[];
  readonly openAfterwards: number;
  readonly heapGrowthBytes: number;
}

const goodToken = 'the-good-token';
const badToken = 'a-bad-token';
const canary = 'canary-of-a-route';
const planted = 'x-planted';
const problemsMax = 20;

/** Mulberry32: a number in [0, 1) from a seed. */
export function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const methods = ['GET', 'GET', 'GET', 'POST', 'PUT', 'DELETE', 'HEAD', 'OPTIONS', 'CONNECT', 'TRACE', 'PRI', 'get', 'G\tET', 'FOO', '', 'GET GET', 'UPGRADE'];
const paths = [
  '/pods',
  '/pods/',
  '/healthz',
  '/healthz/ping',
  '/metrics',
  '/configz',
  '/run/default/p/c?cmd=id',
  '/exec/default/p/c?command=id&output=1',
  '/attach/default/p/c',
  '/portForward/default/p',
  '/containerLogs/default/p/c',
  '/logs/',
  '/logs/../../etc/passwd',
  '/logs/..%2f..%2fetc%2fpasswd',
  '/logs/%2e%2e/%2e%2e/etc/passwd',
  '/checkpoint/default/p/c',
  '/debug/flags/v',
  '/stats/summary',
  '/healthz/../exec/default/p/c',
  '/healthz/%2e%2e/exec/default/p/c',
  '/healthz%2f..%2fexec/default/p/c',
  '//exec/default/p/c',
  '/./exec//default/p/c',
  '/exec%2fdefault/p/c',
  '/%65xec/default/p/c',
  '/EXEC/default/p/c',
  'http://any.example/exec/default/p/c',
  'https://127.0.0.1/pods',
  'http:///pods',
  'http://u:p@h/pods',
  'HTTP://h/pods',
  'ftp://h/pods',
  'any.example:443',
  '*',
  '',
  '/',
  '/\0',
  '/%00pods',
  '/pods%00',
  '/%',
  '/%zz',
  '/\u00ff',
  '/pods#x',
  '/pods;x=1',
  '/pods?\r\nx-planted: 1',
  `/%0d%0a${planted}:%201`,
  `/x/../%0d%0a${planted}:%201`,
  `/stats?%0d%0a${planted}:1`,
  '/a\\..\\exec/x',
  '/..;/exec/default/p/c',
  '/runningpods',
  `/${'a/'.repeat(2000)}`,
  `/${'../'.repeat(2000)}pods`,
  `/${'%2e%2e/'.repeat(300)}pods`,
] as const;
/** Those of the list that are as they should be. */
const plainPaths = 12;
const versions = ['HTTP/1.1', 'HTTP/1.1', 'HTTP/1.1', 'HTTP/1.0', 'HTTP/2.0', 'HTTP/0.9', 'HTTP/1.2', 'HTTP/9.9', 'http/1.1', 'HTTP/1.1 ', 'HTTP/01.1', ''];
const headers = [
  'Host: x',
  'Host: x',
  'Host: x\r\nHost: y',
  'Host: a b',
  `Host: x\r\n${planted}: 1`,
  'Host:',
  'Host: [::1',
  'Content-Length: 0',
  'Content-Length: 5',
  'Content-Length: -1',
  'Content-Length: +5',
  'Content-Length: 5, 6',
  'Content-Length: 99999999999999999999',
  'Content-Length: 5\r\nContent-Length: 6',
  'Content-Length : 5',
  'Transfer-Encoding: chunked',
  'Transfer-Encoding: chunked\r\nContent-Length: 3',
  'Transfer-Encoding: xchunked',
  'Transfer-Encoding: chunked, identity',
  'Transfer-Encoding:\tchunked',
  'Transfer-Encoding : chunked',
  'Transfer-Encoding: chunked\r\nTransfer-Encoding: identity',
  'Transfer-Encoding: \x0bchunked',
  'Connection: close',
  'Connection: keep-alive',
  'Connection: upgrade\r\nUpgrade: websocket',
  'Connection: Upgrade\r\nUpgrade: SPDY/3.1',
  'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA',
  'Upgrade: SPDY/3.1',
  'Connection: authorization',
  'Connection: upgrade',
  'Sec-WebSocket-Protocol: v5.channel.k8s.io',
  `Sec-WebSocket-Protocol: base64url.bearer.authorization.k8s.io.${Buffer.from(badToken).toString('base64url')}, v4.channel.k8s.io`,
  'Expect: 100-continue',
  'Expect: nonsense',
  'X-Forwarded-For: 127.0.0.1',
  'X-Original-URL: /exec/default/p/c',
  'X-HTTP-Method-Override: POST',
  'X-Remote-User: system:admin',
  'X-Remote-Group: system:masters',
  'Impersonate-User: admin',
  'Cookie: a=b',
  `Authorization: Bearer ${badToken}`,
  'Authorization: Bearer',
  'Authorization: Bearer ',
  'Authorization: Basic YTpi',
  'Authorization: bearer  ',
  `Authorization: Bearer ${badToken}\r\nAuthorization: Bearer x`,
  ' folded: x',
  '\tfolded',
  'no colon',
  ': empty',
  'X\x00: y',
  'X: \x00',
  'X: \x7f',
  'Accept: */*',
  'Accept: text/html',
  'Range: bytes=0-0,1-1',
  `X: ${'y'.repeat(9000)}`,
  'Trailer: Authorization',
  'Proxy-Authorization: Bearer x',
  'TE: trailers',
  'Keep-Alive: timeout=99999',
  'Forwarded: for=127.0.0.1',
  'X-Forwarded-Proto: https',
  'X-Forwarded-Client-Cert: Subject="CN=admin"',
  'Content-Type: application/json',
];
const smuggled = 'GET /pods HTTP/1.1\r\nHost: x\r\n\r\n';
/** From here on the list has headers that don't make a request ambiguous. */
const plainHeaders = 24;
const bodies = [
  '',
  '',
  '',
  'hello',
  smuggled,
  '5\r\nhello\r\n0\r\n\r\n',
  '0\r\n\r\n',
  `0\r\n\r\n${smuggled}`,
  'ffffffffffffffff\r\nx',
  '-1\r\nx',
  '5;ext="\r\nhello\r\n0\r\n\r\n',
  '5\nhello\n0\n\n',
  '0x5\r\nhello\r\n0\r\n\r\n',
  `0\r\nAuthorization: Bearer ${badToken}\r\n\r\n`,
  '1\r\nab\r\n0\r\n\r\n',
  'z'.repeat(3000),
];

export class Maker {
  constructor(readonly random: () => number) {}

  pick<T>(list: readonly T[]): T {
    return list[Math.floor(this.random() * list.length)] as T;
  }

  chance(of: number): boolean {
    return this.random() < of;
  }

  private path(): string {
    let path: string = this.pick(paths);
    if (this.chance(0.1)) path = path.replace(/[a-z]/g, (letter) => (this.chance(0.3) ? `%${letter.charCodeAt(0).toString(16)}` : letter));
    if (this.chance(0.05)) path = path.replaceAll('/', this.pick(['//', '/./', '%2f', '\\', '/%2e/']));
    return path;
  }

  /** One request, or something like one: half of them odd in one way only, since what is wrong in many ways is refused for the first. */
  request(): string {
    if (this.chance(0.5)) return this.tame();
    const end = this.chance(0.05) ? '\n' : '\r\n';
    const lines = [`${this.pick(methods)} ${this.path()} ${this.pick(versions)}`];
    if (this.chance(0.8)) lines.push('Host: x');
    for (let i = Math.floor(this.random() * 4); i > 0; i--) lines.push(this.pick(headers));
    if (this.chance(0.005)) lines.push(...Array.from({ length: 3000 }, (_, i) => `h${i}: v`));
    let text = `${lines.join(end)}${end}${end}${this.pick(bodies)}`;
    for (let spoils = this.chance(0.3) ? 1 + Math.floor(this.random() * 3) : 0; spoils > 0; spoils--) text = this.spoiled(text);
    return text;
  }

  private tame(): string {
    const isOddPath = this.chance(0.5);
    const body = this.chance(0.2) ? this.pick(bodies) : '';
    const lines = [`${this.pick(['GET', 'GET', 'POST', 'PUT', 'DELETE', 'HEAD'])} ${isOddPath ? this.path() : this.pick(paths.slice(0, plainPaths))} HTTP/1.1`, 'Host: x'];
    if (body !== '') lines.push(`Content-Length: ${body.length}`);
    if (!isOddPath) lines.push(this.pick(headers.slice(plainHeaders)));
    return `${lines.join('\r\n')}\r\n\r\n${body}`;
  }

  private spoiled(text: string): string {
    const at = Math.floor(this.random() * text.length);
    const odd = this.pick(['\r', '\n', '\r\n', '\0', ' ', ':', '\x80', '\xff', '%', '/', '..', '\t', '']);
    if (this.chance(0.25)) return text.slice(0, at);
    return text.slice(0, at) + odd + text.slice(at + (this.chance(0.5) ? 1 : 0));
  }

  /** What is sent on one connection, and how many well-formed requests with the token are in it, in front. */
  connection(): { readonly bytes: Buffer; readonly allowed: number; readonly requests: number } {
    const allowed = this.chance(0.1) ? 1 + Math.floor(this.random() * 2) : 0;
    const good = `GET ${this.pick(['/pods', '/healthz', '/metrics'])} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${goodToken}\r\n\r\n`;
    const others = 1 + Math.floor(this.random() * 3);
    const texts = [...Array.from({ length: allowed }, () => good), ...Array.from({ length: others }, () => this.request())];
    return { bytes: Buffer.from(texts.join(''), 'latin1'), allowed, requests: texts.length };
  }
}

const patterns = [
  '/healthz',
  '/healthz/ping',
  '/metrics',
  '/configz',
  '/debug/flags/v',
  '/pods',
  '/pods/',
  '/exec/',
  '/attach/',
  '/portForward/',
  '/run/',
  '/containerLogs/',
  '/stats/',
  '/runningpods/',
  '/logs/',
  '/checkpoint/',
  '/debug/pprof/',
];

interface Peer {
  readonly server: KubeletServer;
  readonly errors: string[];
  reached: number;
}

async function peerOf(): Promise<Peer> {
  const reviews = {
    reviewToken: (token: string) => Promise.resolve(token === goodToken ? { username: 'jane', uid: '', groups: [], extra: {} } : null),
  };
  const authenticator = new Authenticator({ certificates: null, tokens: { reviews, cacheMillis: 60_000 }, anonymous: false, nowMillis: () => Date.now() });
  const errors: string[] = [];
  const reach = { count: 0 };
  const routes = patterns.map((pattern): KubeletRoute => {
    const answer = () => {
      reach.count++;
      return { status: 200, headers: { 'Content-Type': 'text/plain' }, body: canary };
    };
    return { pattern, methods: null, produces: null, answer };
  });
  const limits = { headersMillis: 1_000, requestMillis: 1_500, keepAliveMillis: 300, headerBytesMax: 16 * 1024, bodyBytesMax: 2048 };
  const access = { authenticator, authorizer: alwaysAllow };
  const server = await KubeletServer.listen({
    address: '127.0.0.1',
    port: 0,
    policy: requestPolicy('n'),
    routes,
    tls: null,
    access,
    limits,
    onError: (error) => errors.push(error instanceof Error ? error.message : String(error)),
  });
  return {
    server,
    errors,
    get reached() {
      return reach.count;
    },
  };
}

/** How the other end behaves: all at once, in pieces, and whether it says that it is done, goes away, or just stays. */
function send(maker: Maker, port: number, bytes: Buffer, sockets: Set<Socket>): Promise<string> {
  const inPieces = maker.chance(0.1);
  const leaves = maker.chance(0.1);
  const ends = maker.chance(0.7);
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true });
    sockets.add(socket);
    let got = '';
    const done = (): void => {
      clearTimeout(limit);
      socket.destroy();
      sockets.delete(socket);
      resolve(got);
    };
    const limit = setTimeout(done, ends ? 1_000 : 150);
    socket.setEncoding('latin1');
    socket.on('data', (chunk: string) => {
      got += chunk;
    });
    socket.once('end', done);
    socket.once('close', done);
    socket.on('error', done);
    socket.once('connect', () => {
      if (inPieces) {
        const middle = Math.floor(bytes.length / 2);
        socket.write(bytes.subarray(0, middle));
        setImmediate(() => {
          if (!socket.destroyed) socket.write(bytes.subarray(middle));
          if (!socket.destroyed && ends) socket.end();
        });
      } else {
        socket.write(bytes, () => {
          if (leaves) done();
        });
        if (ends) socket.end();
      }
    });
  });
}

/** Why an answer must not be; null when it may. @param allowed requests that carried the token */
function problemOf(answer: string, allowed: number): string | null {
  const passed = answer.split(canary).length - 1;
  if (passed > allowed) return `${passed} requests got through, ${allowed} may`;
  if (answer.includes(goodToken) || answer.includes(badToken)) return 'a token is told';
  if (new RegExp(`^${planted}`, 'im').test(answer)) return 'a header was planted';
  if (/^HTTP\/1\.[01] 5\d\d/m.test(answer)) return `an error of the server: ${answer.slice(0, 200)}`;
  return null;
}

const heapAfterCollection = (): number => {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
};

export async function fuzzKubeletPort(seed: number, requests: number, width = 32): Promise<FuzzOutcome> {
  const peer = await peerOf();
  const maker = new Maker(randomOf(seed));
  const sockets = new Set<Socket>();
  const broken: string[] = [];
  const statuses: Record<string, number> = {};
  let sent = 0;
  let allowedInAll = 0;
  let heapBefore = 0;
  const work = async (): Promise<void> => {
    while (sent < requests && broken.length < problemsMax) {
      const { bytes, allowed, requests: count } = maker.connection();
      sent += count;
      allowedInAll += allowed;
      const answer = await send(maker, peer.server.port, bytes, sockets);
      for (const [, status = ''] of answer.matchAll(/^HTTP\/1\.1 (\d{3})/gm)) statuses[status] = (statuses[status] ?? 0) + 1;
      const problem = problemOf(answer, allowed);
      if (problem !== null) broken.push(`${problem}: ${JSON.stringify(bytes.toString('latin1').slice(0, 600))}`);
      // What is kept for good is kept by then.
      if (heapBefore === 0 && sent > requests / 4) heapBefore = heapAfterCollection();
    }
  };
  await Promise.all(Array.from({ length: width }, work));
  const { reached } = peer;
  if (reached > allowedInAll) broken.push(`${reached} requests reached a route, ${allowedInAll} may`);
  for (const error of peer.errors) broken.push(`reported: ${error}`);
  let openAfterwards = await peer.server.connections();
  for (let tries = 0; openAfterwards > 0 && tries < 100; tries++) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    openAfterwards = await peer.server.connections();
  }
  const heapGrowthBytes = heapAfterCollection() - heapBefore;
  await peer.server.close(0);
  return { sent, reached, statuses, broken, openAfterwards, heapGrowthBytes };
}
