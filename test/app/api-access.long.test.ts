// Each path of the kubelet's port, with each method, by each kind of credentials: which requests get 401, 403, 404, 405, and which are served. The
// expectations come from a table of its own, and are compared with the answers of a whole daemon.
import { writeFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { join } from 'node:path';
import t from 'tap';
import type { Daemon } from '../../src/app/daemon/start-daemon.js';
import { serverPatterns } from '../../src/domain/authorization/server-patterns.js';
import { ApiPeer, answer, TestAuthority } from '../adapters/api-peer.js';
import { until } from '../support/until.js';
import { phaseOf, Stage } from './stage.js';

// Thousands of requests; a machine that does other things needs several times what they take.
t.setTimeout(400_000);

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND'] as const;
type Method = (typeof methods)[number];
const verbs: Partial<Record<Method, string>> = { GET: 'get', POST: 'create', PUT: 'update', PATCH: 'patch', DELETE: 'delete' };

type Kind = 'none' | 'redirect' | 'any' | readonly Method[];
interface Row {
  readonly path: string;
  readonly kind: Kind;
  /** Any of which is enough. */
  readonly subresources: readonly string[];
  /** Of those who get through with a method that is taken. */
  readonly status: number;
  /** Without debugging handlers. */
  readonly closed: number | null;
}

const row = (path: string, kind: Kind, subresources: readonly string[], status: number, closed: number | null = null): Row => ({ path, kind, subresources, status, closed });
const streams: readonly Method[] = ['GET', 'POST'];
const rows: readonly Row[] = [
  ...[
    '/',
    '/nope',
    '/nope/x',
    '/livez',
    '/readyz',
    '/healthz/',
    '/healthz/nope',
    '/healthzjunk',
    '/metrics/',
    '/metrics/nope',
    '/podsjunk',
    '/configz/',
    '/flagz/x',
    '/pod-resources',
  ].map((path) => row(path, 'none', [], 404)),
  ...['/stats', '/runningpods', '/logs', '/debug/pprof'].map((path) => row(path, 'redirect', [], 307, 307)),
  row('/checkpoint', 'redirect', [], 307, 404),
  row('/x/../exec/default/a-n1/c', 'redirect', [], 307, 307),
  row('//pods', 'redirect', [], 307, 307),
  row('/healthz', 'any', ['healthz', 'proxy'], 200),
  row('/healthz/ping', 'any', ['healthz', 'proxy'], 200),
  row('/healthz/log', 'any', ['healthz', 'proxy'], 200),
  row('/healthz/syncloop', 'any', ['healthz', 'proxy'], 200),
  row('/healthz/device-plugin', 'any', ['healthz', 'proxy'], 200),
  row('/pods', ['GET'], ['pods', 'proxy'], 200),
  row('/pods/', ['GET'], ['pods', 'proxy'], 200),
  row('/%70ods', ['GET'], ['pods', 'proxy'], 200),
  row('/pods/x', ['GET'], ['pods', 'proxy'], 404),
  row('/runningpods/', ['GET'], ['pods', 'proxy'], 200, 405),
  row('/configz', 'any', ['configz', 'proxy'], 200, 404),
  row('/flagz', 'any', ['configz'], 200, 404),
  row('/statusz', 'any', ['statusz'], 200, 404),
  row('/stats/', streams, ['stats'], 404),
  row('/stats/summary', streams, ['stats'], 200),
  row('/metrics', 'any', ['metrics'], 200),
  row('/metrics/cadvisor', 'any', ['metrics'], 200),
  row('/metrics/resource', 'any', ['metrics'], 200),
  row('/metrics/slis', 'any', ['metrics'], 200),
  row('/metrics/probes', 'any', ['metrics'], 200),
  row('/logs/', ['GET'], ['log'], 200, 405),
  row('/logs/does-not-exist', ['GET'], ['log'], 404, 405),
  row('/logs/..%2f..%2fetc/passwd', ['GET'], ['log'], 404, 405),
  row('/checkpoint/default/none/c', ['POST'], ['checkpoint'], 404, 404),
  row('/checkpoint/default', ['POST'], ['checkpoint'], 404, 404),
  row('/containerLogs', ['GET'], ['proxy'], 404, 405),
  row('/containerLogs/default/a-n1/c', ['GET'], ['proxy'], 200, 405),
  row('/containerLogs/default/none/c', ['GET'], ['proxy'], 404, 405),
  row('/containerLogs/default/..%2f..%2f/c', ['GET'], ['proxy'], 404, 405),
  row('/exec/default/a-n1/c?command=id', streams, ['proxy'], 400, 405),
  row('/exec/default/none/c?command=id&output=1', streams, ['proxy'], 404, 405),
  row('/exec/default', streams, ['proxy'], 404, 405),
  row('/attach/default/none/c?output=1', streams, ['proxy'], 404, 405),
  row('/portForward/default/none', streams, ['proxy'], 404, 405),
  row('/run/default/none/c?cmd=id', ['POST'], ['proxy'], 404, 405),
  row('/run', ['POST'], ['proxy'], 404, 405),
  row('/debug/pprof/cmdline', ['GET'], ['proxy'], 200, 405),
  row('/debug/flags/v', 'any', ['proxy'], 406, 404),
];

const fine = ['healthz', 'pods', 'configz', 'statusz', 'stats', 'metrics', 'log', 'checkpoint'];
/** Who may what: every subresource by name, or verbs that go with any. */
const rights: Readonly<Record<string, { readonly subresources: readonly string[]; readonly verbs: readonly string[] | null }>> = {
  idle: { subresources: [], verbs: null },
  proxying: { subresources: ['proxy'], verbs: null },
  fine: { subresources: fine, verbs: null },
  reading: { subresources: [...fine, 'proxy'], verbs: ['get'] },
  admin: { subresources: [...fine, 'proxy'], verbs: null },
  'system:anonymous': { subresources: ['healthz'], verbs: ['get'] },
};

interface Credential {
  readonly what: string;
  /** null: none. */
  readonly user: string | null;
  readonly pair?: { readonly certificate: string; readonly key: string };
  readonly authorization?: string;
}

const authority = new TestAuthority('clients');
const stranger = new TestAuthority('strangers');
const credentials: readonly Credential[] = [
  { what: 'nothing', user: null },
  { what: 'a bad token', user: null, authorization: 'Bearer wrong' },
  { what: 'a password', user: null, authorization: 'Basic YWRtaW46YWRtaW4=' },
  { what: 'a token without rights', user: 'idle', authorization: 'Bearer token-of-idle' },
  { what: 'a token with nodes/proxy', user: 'proxying', authorization: 'Bearer token-of-proxying' },
  { what: 'a token with each fine-grained right', user: 'fine', authorization: 'Bearer token-of-fine' },
  { what: 'a token that may read everything', user: 'reading', authorization: 'bearer token-of-reading' },
  { what: 'a certificate with all rights', user: 'admin', pair: authority.client('admin') },
  { what: 'a certificate without rights', user: 'idle', pair: authority.client('idle') },
  { what: 'a certificate that has expired', user: null, pair: authority.client('admin', -2, -1) },
  { what: 'a certificate of another authority', user: null, pair: stranger.client('admin') },
];

interface Answer {
  readonly status: number;
  readonly body: string;
  readonly headers: Readonly<Record<string, unknown>>;
}

function ask(agent: Agent, port: number, method: Method, path: string, { authorization }: Credential): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers = authorization === undefined ? {} : { authorization };
    const sent = request({ host: '127.0.0.1', port, method, path, headers, agent }, (response) => {
      let body = '';
      response.on('data', (chunk: Buffer) => {
        body += chunk.toString('latin1');
      });
      response.once('end', () => resolve({ status: response.statusCode ?? 0, body, headers: response.headers }));
    });
    sent.once('error', reject);
    sent.end();
  });
}

interface Expected {
  readonly status: number;
  readonly body?: string;
}

interface Rules {
  readonly anonymous: boolean;
  readonly isWebhook: boolean;
  readonly isOpen: boolean;
}

function mayPass(user: string, method: Method, subresources: readonly string[]): boolean {
  const granted = rights[user];
  return granted !== undefined && subresources.some((name) => granted.subresources.includes(name)) && (granted.verbs === null || granted.verbs.includes(verbs[method] ?? ''));
}

function expected({ path, kind, subresources, status, closed }: Row, method: Method, credential: Credential, { anonymous, isWebhook, isOpen }: Rules): Expected {
  if (kind === 'none') return { status: 404, body: '404 page not found\n' };
  if (kind === 'redirect') return { status: isOpen ? 307 : (closed ?? 307) };
  const isNobody = credential.pair === undefined && !/^bearer/i.test(credential.authorization ?? '');
  if (!isOpen && closed === 404) return { status: 404, body: '404 page not found\n' };
  const user = credential.user ?? (anonymous && isNobody ? 'system:anonymous' : null);
  if (user === null) return { status: 401, body: 'Unauthorized' };
  if (isWebhook && !mayPass(user, method, subresources)) {
    const body = `Forbidden (user=${user}, verb=${verbs[method] ?? ''}, resource=nodes, subresource(s)=[${subresources.join(' ')}])\n`;
    return { status: 403, body };
  }
  if (!isOpen && closed === 405) return { status: 405, body: 'Debug endpoints are disabled.\n' };
  if (kind !== 'any' && !kind.includes(method)) return { status: 405, body: '405: Method Not Allowed' };
  return { status: path === '/debug/flags/v' && method === 'PUT' ? 400 : status };
}

/** The apiserver of the test: knows tokens and rights, and nothing else. */
function reviewing(asked: string[]): Parameters<typeof ApiPeer.open>[1] {
  return (incoming, response, body) => {
    const path = (incoming.url ?? '').split('?')[0];
    if (path === '/apis/authentication.k8s.io/v1/tokenreviews') {
      const { token } = (JSON.parse(body) as { spec: { token: string } }).spec;
      asked.push('token');
      const user = token.startsWith('token-of-') ? token.slice('token-of-'.length) : null;
      const status = user === null ? { authenticated: false } : { authenticated: true, user: { username: user, groups: ['people'] } };
      return answer(response, 201, { kind: 'TokenReview', apiVersion: 'authentication.k8s.io/v1', metadata: {}, status });
    }
    if (path === '/apis/authorization.k8s.io/v1/subjectaccessreviews') {
      const { user, resourceAttributes } = (JSON.parse(body) as { spec: { user: string; resourceAttributes: Readonly<Record<string, string>> } }).spec;
      const { verb = '', subresource = '', resource, name, version } = resourceAttributes;
      asked.push(`${user} ${verb} ${resource}/${name}/${subresource} ${version}`);
      const granted = rights[user];
      const allowed = granted?.subresources.includes(subresource) === true && (granted.verbs === null || granted.verbs.includes(verb));
      return answer(response, 201, { kind: 'SubjectAccessReview', apiVersion: 'authorization.k8s.io/v1', metadata: {}, status: { allowed } });
    }
    return answer(response, 404, { kind: 'Status', code: 404, reason: 'NotFound', message: 'not here' });
  };
}

type Checks = Parameters<Parameters<typeof t.test>[0]>[0];

async function daemonWith(t: Checks, { anonymous, isWebhook, isOpen }: Rules): Promise<{ readonly daemon: Daemon; readonly asked: string[]; readonly stage: Stage }> {
  const stage = await Stage.open();
  t.teardown(() => stage.close());
  const asked: string[] = [];
  const peer = await ApiPeer.open(t, reviewing(asked));
  stage.flags.push(`--kubeconfig=${peer.kubeconfig({ token: 'own-token-of-the-node' })}`);
  const file = join(stage.directory, 'client-ca.crt');
  writeFileSync(file, authority.certificate);
  stage.configurationMore = [
    'enableServer: true',
    'address: 127.0.0.1',
    `authentication: {x509: {clientCAFile: ${file}}, anonymous: {enabled: ${anonymous}}, webhook: {enabled: true}}`,
    `authorization: {mode: ${isWebhook ? 'Webhook' : 'AlwaysAllow'}}`,
    `enableDebuggingHandlers: ${isOpen}`,
    '',
  ].join('\n');
  stage.manifest('a.yaml', stage.pod('a', 'busybox', 'run=forever,log=200/s'));
  const daemon = await stage.start();
  await until('a runs', () => phaseOf(daemon, 'a-n1') === 'Running');
  return { daemon, asked, stage };
}

const situations: readonly (readonly [what: string, rules: Rules])[] = [
  ['as the apiserver says, nobody in particular', { anonymous: false, isWebhook: true, isOpen: true }],
  ['as the apiserver says, and whoever has no credentials is anonymous', { anonymous: true, isWebhook: true, isOpen: true }],
  ['whoever is known may everything', { anonymous: false, isWebhook: false, isOpen: true }],
  ['everybody may everything', { anonymous: true, isWebhook: false, isOpen: true }],
  ['without debugging handlers', { anonymous: false, isWebhook: true, isOpen: false }],
];

for (const [what, rules] of situations) {
  t.test(what, async (t) => {
    const { daemon, stage } = await daemonWith(t, rules);
    let requests = 0;
    for (const credential of credentials) {
      const { pair } = credential;
      const agent = new Agent({ keepAlive: true, maxSockets: 8, rejectUnauthorized: false, ...(pair === undefined ? {} : { cert: pair.certificate, key: pair.key }) });
      const wrong: unknown[] = [];
      const one = async (each: Row, method: Method) => {
        const want = expected(each, method, credential, rules);
        const got = await ask(agent, daemon.apiPort ?? 0, method, each.path, credential);
        requests++;
        const body = method === 'HEAD' ? '' : want.body;
        if (got.status !== want.status || (body !== undefined && got.body !== body))
          wrong.push({ method, path: each.path, want, got: { status: got.status, body: got.body.slice(0, 200) } });
        if (got.status === 401 && 'www-authenticate' in got.headers) wrong.push({ method, path: each.path, got: got.headers });
      };
      await Promise.all(rows.flatMap((each) => methods.map((method) => one(each, method))));
      t.strictSame(wrong, [], credential.what);
      agent.destroy();
    }
    t.equal(requests, credentials.length * rows.length * methods.length);
    t.notMatch(stage.log.lines.join('\n'), /token-of-(idle|proxying|fine|reading)|wrong/, 'no token gets into the log');
  });
}

t.test('the table has each path that the port knows, and none answers before it is known who asks', async (t) => {
  const tested = new Set(rows.map(({ path }) => path.replace(/\?.*$/, '')));
  const missing = serverPatterns.filter((pattern) => ![...tested].some((path) => path === pattern || path.startsWith(pattern.replace(/\/?$/, '/'))));
  t.strictSame(missing, []);
  const { daemon } = await daemonWith(t, { anonymous: false, isWebhook: true, isOpen: true });
  const agent = new Agent({ keepAlive: true, maxSockets: 8, rejectUnauthorized: false });
  const asks = serverPatterns.flatMap((pattern) => methods.map((method) => ({ pattern, method })));
  const answers = await Promise.all(
    asks.map(async ({ pattern, method }) => ({ method, pattern, ...(await ask(agent, daemon.apiPort ?? 0, method, pattern, { what: '', user: null })) })),
  );
  agent.destroy();
  t.strictSame(
    answers.filter(({ status }) => status !== 401).map(({ method, pattern, status }) => `${method} ${pattern} ${status}`),
    [],
  );
});

t.test('each check is asked of the apiserver once, in the order of the subresources, for this node', async (t) => {
  const { daemon, asked } = await daemonWith(t, { anonymous: false, isWebhook: true, isOpen: true });
  const agent = new Agent({ keepAlive: true, rejectUnauthorized: false });
  const credential = { what: '', user: 'proxying', authorization: 'Bearer token-of-proxying' };
  asked.length = 0;
  for (let i = 0; i < 3; i++) await ask(agent, daemon.apiPort ?? 0, 'GET', '/pods', credential);
  t.strictSame(asked, ['token', 'proxying get nodes/n1/pods v1', 'proxying get nodes/n1/proxy v1'], 'the answers are kept');
  asked.length = 0;
  await ask(agent, daemon.apiPort ?? 0, 'GET', '/nope', { ...credential, authorization: 'Bearer never-seen' });
  t.strictSame(asked, [], 'of a path that there is not nobody is asked');
  agent.destroy();
});
