// The live page: an overview of a node and its pods, in a browser on the node itself. Three public static files, and the data behind a key.
//
// Invariants: it listens on loopback and answers only to names of loopback (so that no foreign page reaches it by a name that resolves
// here); data requires the key, which is never in a URL that a server sees; the page changes nothing and fetches nothing from
// elsewhere.
import { createHash, timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RequestPolicy } from '../../../ports/inbound/request-policy.js';
import { PortError } from '../../../ports/port-error.js';
import { goJson, type HttpAnswer, strictText } from '../http-answer.js';
import type { KubeletAnswer, KubeletQuestion, KubeletRoute } from '../kubelet-routes.js';
import { KubeletServer } from '../kubelet-server.js';
import { isLoopback } from '../loopback-address.js';

export interface LivePageOptions {
  /** 127.0.0.0/8 or ::1. */
  readonly address: string;
  /** 0: any free one. */
  readonly port: number;
  /** Required for all data of the node. */
  readonly key: string;
  /** The directory of page.html, page.css and page.js. */
  readonly assets: string;
  readonly data: () => Promise<unknown>;
  /** Answers `/containerLogs/{namespace}/{pod}/{container}`. */
  readonly logs: KubeletRoute;
  readonly onError: (error: unknown, path: string) => void;
}

const contentTypes = { 'page.html': 'text/html', 'page.css': 'text/css', 'page.js': 'text/javascript' } as const;
const logsPattern = '/containerLogs/';
const dataPattern = '/data';
/** For one or two users at a time. */
const limits = { connectionsMax: 64, headerBytesMax: 16 * 1024, bodyBytesMax: 1024, headersMillis: 10_000, requestMillis: 600_000 };

/** Errors: invalid-argument (not a loopback address), and those of KubeletServer.listen. */
export async function openLivePage(options: LivePageOptions): Promise<KubeletServer> {
  const { address, port, onError } = options;
  if (!isLoopback(address)) throw new PortError({ kind: 'invalid-argument', message: `${address} is not a loopback address`, operation: 'livePage.listen', subject: address });
  return KubeletServer.listen({ address, port, policy: paths, routes: routesOf(options), tls: null, access: null, limits, onError });
}

const paths: RequestPolicy = {
  match(_method, path) {
    if (path.startsWith(logsPattern)) return { kind: 'matched', pattern: logsPattern };
    return ['/', '/page.css', '/page.js', dataPattern].includes(path) ? { kind: 'matched', pattern: path } : { kind: 'notFound' };
  },
  // The routes check the key: the files need none.
  checks: () => [],
  next: () => ({ kind: 'passed' }),
};

function routesOf({ assets, key, data, logs }: LivePageOptions): readonly KubeletRoute[] {
  const expected = digestOf(key);
  const guarded = (answer: (question: KubeletQuestion) => ReturnType<KubeletRoute['answer']>) => (question: KubeletQuestion) => {
    if (!isOwnName(question)) return strictText(403, 'this page is for the node itself\n');
    const [scheme = '', shown = ''] = (question.headers.authorization ?? '').split(' ');
    if (scheme !== 'Bearer' || !timingSafeEqual(digestOf(shown), expected)) return strictText(401, 'Unauthorized');
    return answer(question);
  };
  const file = (pattern: string, name: keyof typeof contentTypes): KubeletRoute => {
    const answer = fileAnswer(assets, name);
    return { pattern, methods: ['GET', 'HEAD'], produces: null, answer: (question) => (isOwnName(question) ? answer : strictText(403, 'this page is for the node itself\n')) };
  };
  const json = guarded(async () => ({ status: 200, headers: { ...pageHeaders, 'Content-Type': 'application/json' }, body: goJson(await data()) }));
  return [
    file('/', 'page.html'),
    file('/page.css', 'page.css'),
    file('/page.js', 'page.js'),
    { pattern: dataPattern, methods: ['GET'], produces: null, answer: json },
    { pattern: logsPattern, methods: ['GET'], produces: null, answer: guarded(async (question) => plainOnly(await logs.answer(question))) },
  ];
}

const pageHeaders = {
  'Content-Security-Policy': "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cache-Control': 'no-store',
};

function fileAnswer(assets: string, name: keyof typeof contentTypes): HttpAnswer {
  return { status: 200, headers: { ...pageHeaders, 'Content-Type': `${contentTypes[name]}; charset=utf-8` }, body: readFileSync(join(assets, name), 'utf8') };
}

/** What containers write is theirs: no browser may take it for anything but text. */
function plainOnly(answer: KubeletAnswer | null): KubeletAnswer | null {
  if (answer === null || !('headers' in answer)) return answer;
  return { ...answer, headers: { ...answer.headers, ...pageHeaders, 'Content-Type': 'text/plain; charset=utf-8' } };
}

/** Whether the request was made to a name of loopback. */
function isOwnName({ headers }: KubeletQuestion): boolean {
  const name = (headers.host ?? '').replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1');
  return name === 'localhost' || isLoopback(name);
}

function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
