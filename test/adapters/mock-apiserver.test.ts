// The mock apiserver over HTTP: who may come in, what forms it answers in, watches, its own coming and going. What objects do is tested where
// they are kept.
import { generateKeyPairSync, type X509Certificate } from 'node:crypto';
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { connect } from 'node:net';
import t from 'tap';
import { certificateRequest, certificatesOf, factsOf } from '../../src/adapters/certificates/index.js';
import { type MockApiserver, startMockApiserver } from '../../src/adapters/mock-apiserver/index.js';

interface Answer {
  readonly code: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly body: Record<string, unknown>;
}
interface Asked {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  readonly pair?: { readonly cert: string; readonly key: string };
}

function ask(url: string, ca: string, { method = 'GET', headers = {}, body, pair }: Asked = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const send = url.startsWith('https:') ? httpsRequest : httpRequest;
    const sent = send(url, { method, headers, ca, agent: false, ...pair }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8');
        const isJson = String(response.headers['content-type']).startsWith('application/json') && response.headers['content-encoding'] === undefined;
        resolve({ code: response.statusCode ?? 0, headers: response.headers, text, body: isJson ? (JSON.parse(text) as Record<string, unknown>) : {} });
      });
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

function pairOf(kubeconfig: string): { readonly cert: string; readonly key: string } {
  const [user] = (JSON.parse(kubeconfig) as { users: { user: Record<string, string> }[] }).users;
  const text = (name: string) => Buffer.from(user?.user[name] ?? '', 'base64').toString('utf8');
  return { cert: text('client-certificate-data'), key: text('client-key-data') };
}

const configMaps = '/api/v1/namespaces/default/configmaps';
const json = { 'content-type': 'application/json' };
const bootstrapSecret = {
  kind: 'Secret',
  metadata: { name: 'bootstrap-token-abcdef' },
  type: 'bootstrap.kubernetes.io/token',
  stringData: { 'token-id': 'abcdef', 'token-secret': '0123456789abcdef', 'usage-bootstrap-authentication': 'true' },
};

async function withServer(work: (server: MockApiserver) => Promise<void>): Promise<void> {
  const server = await startMockApiserver({ httpBind: '127.0.0.1:0', tokens: new Map([['secret', { name: 'tester', groups: ['system:masters'] }]]) });
  try {
    await work(server);
  } finally {
    await server.stop();
  }
}

t.test('who may come in', (t) =>
  withServer(async (server) => {
    const { url, caCertificate: ca } = server;
    const admin = pairOf(server.kubeconfig());
    const create = (path: string, object: unknown) => ask(`${server.httpUrl}${path}`, '', { method: 'POST', headers: json, body: JSON.stringify(object) });
    t.equal((await create('/api/v1/namespaces/kube-system/secrets', bootstrapSecret)).code, 201, 'without TLS each client is the administrator');
    const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });
    const account = (await create('/api/v1/namespaces/default/serviceaccounts/default/token', { kind: 'TokenRequest', spec: {} })).body.status as { token: string };
    const cases: readonly (readonly [string, string, Asked, number, RegExp])[] = [
      ['the administrator', configMaps, { pair: admin }, 200, /ConfigMapList/],
      ['a certificate that is over', configMaps, { pair: pairOf(server.kubeconfig({ commonName: 'a', organizations: ['system:masters'], seconds: -60 })) }, 401, /Unauthorized/],
      ['a node', configMaps, { pair: pairOf(server.kubeconfig({ commonName: 'system:node:n', organizations: ['system:nodes'] })) }, 403, /User \\"system:node:n\\" cannot list/],
      ['a static token', configMaps, bearer('secret'), 200, /ConfigMapList/],
      ['a wrong token', configMaps, bearer('guess'), 401, /Unauthorized/],
      ['a bootstrap token', '/apis/certificates.k8s.io/v1/certificatesigningrequests', bearer('abcdef.0123456789abcdef'), 200, /CertificateSigningRequestList/],
      ['a bootstrap token elsewhere', configMaps, bearer('abcdef.0123456789abcdef'), 403, /User \\"system:bootstrap:abcdef\\" cannot list/],
      ['a wrong bootstrap token', configMaps, bearer('abcdef.0123456789abcdee'), 401, /Unauthorized/],
      ['a service account', configMaps, bearer(account.token), 403, /system:serviceaccount:default:default/],
      ['nobody', configMaps, {}, 403, /User \\"system:anonymous\\" cannot list/],
      ['nobody, for health', '/healthz', {}, 200, /^ok$/],
      ['nobody, for discovery', '/apis', {}, 403, /cannot get path/],
      ['the administrator for another', configMaps, { pair: admin, headers: { 'impersonate-user': 'x' } }, 403, /User \\"x\\" cannot list/],
    ];
    for (const [sentence, path, asked, code, text] of cases) {
      const answer = await ask(`${url}${path}`, ca, asked);
      t.equal(answer.code, code, sentence);
      t.match(answer.text, text, sentence);
    }
  }),
);

t.test('forms of requests and answers', (t) =>
  withServer(async (server) => {
    const base = server.httpUrl ?? '';
    const post = (body: string, type: string) => ask(`${base}${configMaps}`, '', { method: 'POST', headers: { 'content-type': type }, body });
    t.equal((await post('metadata: {name: yaml}\ndata: {a: "1"}\n', 'application/yaml')).code, 201, 'YAML');
    t.equal((await post('x', 'text/plain')).code, 415);
    t.match(await post('{', 'application/json'), { code: 400, body: { message: /json parse error/ } });
    t.equal((await post(JSON.stringify({ metadata: { name: 'big' }, data: { a: 'x'.repeat(4_000_000) } }), 'application/json')).code, 413);
    t.equal((await ask(`${base}${configMaps}`, '', { method: 'POST', headers: { ...json, 'content-encoding': 'gzip' }, body: 'not zipped' })).code, 400);
    for (const [path, code] of [
      ['//', 200],
      ['/api/v1/nothings', 404],
      ['/api/v1/namespaces/%zz/pods', 404],
      ['/api/v1/pods/a/b/c', 404],
      ['/apis/x/y/z', 404],
    ] as const) {
      t.equal((await ask(`${base}${path}`, '')).code, code, path);
    }
    t.equal((await ask(`${base}${configMaps}?limit=many`, '')).code, 400);
    t.equal((await ask(`${base}${configMaps}/a`, '', { method: 'POST', headers: json, body: '{}' })).code, 405);
    // A truncated envelope of protobuf.
    t.equal(
      (await ask(`${base}${configMaps}`, '', { method: 'POST', headers: { 'content-type': 'application/vnd.kubernetes.protobuf' }, body: Buffer.from('k8s\0\x0a\xff', 'latin1') }))
        .code,
      415,
    );
    // k8s\0, then an envelope with a Namespace that is named p.
    const protobuf = Buffer.concat([Buffer.from('k8s\0'), Buffer.from('0a0f0a0276311209', 'hex'), Buffer.from('Namespace'), Buffer.from('12050a030a0170', 'hex')]);
    t.match(await ask(`${base}/api/v1/namespaces`, '', { method: 'POST', headers: { 'content-type': 'application/vnd.kubernetes.protobuf' }, body: protobuf }), {
      code: 201,
      body: { metadata: { name: 'p' }, status: { phase: 'Active' } },
    });
    const get = (path: string, accept: string, more = {}) => ask(`${base}${path}`, '', { headers: { accept, ...more } });
    t.equal((await get(configMaps, 'application/vnd.kubernetes.protobuf')).code, 406);
    t.equal((await get(configMaps, 'application/vnd.kubernetes.protobuf, application/json')).code, 200);
    t.match(await get(configMaps, 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json'), {
      body: {
        kind: 'Table',
        columnDefinitions: [{ name: 'Name', format: 'name' }, { name: 'Data' }, { name: 'Age' }],
        rows: [{ cells: ['kube-root-ca.crt', 1, /s$/] }, { cells: ['yaml', 1] }],
      },
    });
    const [item] = (await get(configMaps, '')).body.items as object[];
    t.notOk(item !== undefined && 'kind' in item, 'items of a list leave to the list what they are');
    t.match(await get(`${configMaps}/yaml`, 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io'), {
      body: { kind: 'PartialObjectMetadata', metadata: { name: 'yaml' } },
    });
    t.match(await get('/apis', 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'), {
      headers: { 'content-type': 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList' },
      body: { kind: 'APIGroupDiscoveryList', apiVersion: 'apidiscovery.k8s.io/v2' },
    });
    t.match(await get('/apis', ''), { body: { kind: 'APIGroupList' } });
    t.match(await get('/apis/coordination.k8s.io', ''), { body: { kind: 'APIGroup', preferredVersion: { groupVersion: 'coordination.k8s.io/v1' } } });
    t.match(await get('/version', ''), { body: { gitVersion: /^v1\.36\./ } });
    t.equal((await get('/apis/coordination.k8s.io/v1beta1', '')).code, 404);
    t.equal((await get('/apis/apps/v1/deployments', '')).code, 404);
    await post(JSON.stringify({ metadata: { name: 'long' }, data: { a: 'x'.repeat(300_000) } }), 'application/json');
    t.equal((await get(`${configMaps}/long`, '', { 'accept-encoding': 'gzip' })).headers['content-encoding'], 'gzip');
    t.equal((await get(`${configMaps}/yaml`, '', { 'accept-encoding': 'gzip' })).headers['content-encoding'], undefined);
    server.api.setFaults([{ operation: 'get.configmaps', trigger: { times: 1 }, action: { kind: 'error', code: 429, message: 'later', retryAfterSeconds: 2 } }], server.time.now());
    t.match(await get(`${configMaps}/yaml`, ''), { code: 429, headers: { 'retry-after': '2' } });
    server.api.setFaults([{ operation: '*', trigger: {}, action: { kind: 'lost' } }], server.time.now());
    await t.rejects(get(`${configMaps}/yaml`, ''), 'an answer that is lost');
  }),
);

/** Opens a watch; `lines` grows as events come. */
function openWatch(url: string): { readonly lines: string[]; readonly ended: Promise<void>; until(count: number): Promise<void>; close(): void } {
  const lines: string[] = [];
  let told = (): void => {};
  let end = (): void => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const sent = httpRequest(url, { agent: false }, (response) => {
    let rest = '';
    response.setEncoding('utf8');
    response.on('data', (chunk: string) => {
      const parts = `${rest}${chunk}`.split('\n');
      rest = parts.pop() ?? '';
      lines.push(...parts);
      told();
    });
    response.on('close', end);
    response.on('error', () => {});
  });
  sent.on('error', () => end());
  sent.end();
  const until = async (count: number): Promise<void> => {
    while (lines.length < count) {
      await new Promise<void>((resolve) => {
        told = resolve;
      });
    }
  };
  return { lines, ended, until, close: () => sent.destroy() };
}

t.test('watches', (t) =>
  withServer(async (server) => {
    const base = server.httpUrl ?? '';
    const create = (name: string) => ask(`${base}${configMaps}`, '', { method: 'POST', headers: json, body: JSON.stringify({ metadata: { name } }) });
    const watch = openWatch(`${base}${configMaps}?watch=true&fieldSelector=metadata.name%21%3Dkube-root-ca.crt`);
    await create('w1');
    await create('w2');
    await watch.until(2);
    t.strictSame(
      watch.lines.map((line) => {
        const { type, object } = JSON.parse(line) as { type: string; object: { kind: string; metadata: { name: string } } };
        return [type, object.kind, object.metadata.name];
      }),
      [
        ['ADDED', 'ConfigMap', 'w1'],
        ['ADDED', 'ConfigMap', 'w2'],
      ],
    );
    const streamed = openWatch(`${base}${configMaps}?watch=true&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan`);
    await streamed.until(4);
    t.match(JSON.parse(streamed.lines[3] ?? ''), { type: 'BOOKMARK', object: { metadata: { annotations: { 'k8s.io/initial-events-end': 'true' } } } });
    streamed.close();
    server.api.store.compact();
    const old = openWatch(`${base}${configMaps}?watch=true&resourceVersion=2`);
    await old.ended;
    const refused = await ask(`${base}${configMaps}?watch=true&resourceVersion=2`, '');
    t.match(refused, { code: 410, body: { reason: 'Expired' } });
    await server.goDown();
    await watch.ended;
    await t.rejects(create('w3'), 'nobody is there');
    await server.comeBack();
    t.equal((await create('w3')).code, 201, 'at the same address');
    t.equal((await ask(`${base}${configMaps}/w1`, '')).code, 200, 'and nothing is lost');
  }),
);

t.test('what only a mock has', (t) =>
  withServer(async (server) => {
    const base = server.httpUrl ?? '';
    const send = (method: string, path: string, body: unknown) => ask(`${base}${path}`, '', { method, headers: json, body: JSON.stringify(body) });
    const rule = { operation: 'get.configmaps', trigger: { times: 1 }, action: { kind: 'error', code: 503, message: 'away' } };
    t.match(await send('PUT', '/mock/faults', [rule]), { code: 200, body: { rules: 1 } });
    t.match(await ask(`${base}${configMaps}/kube-root-ca.crt`, ''), { code: 503, body: { message: 'away', reason: 'ServiceUnavailable' } });
    t.equal((await ask(`${base}${configMaps}/kube-root-ca.crt`, '')).code, 200);
    t.match(await ask(`${base}/mock/faults`, ''), { body: { counts: [1] } });
    const { entries } = (await ask(`${base}/mock/audit`, '')).body as { entries: object[] };
    t.match(entries.slice(-2), [{ user: 'kubernetes-admin', verb: 'get', resource: 'configmaps', namespace: 'default', name: 'kube-root-ca.crt', code: 503 }, { code: 200 }]);
    const bad: readonly (readonly [unknown, RegExp])[] = [
      [{}, /faults: expected a list of rules/],
      [[{ ...rule, operation: 'everything' }], /faults\[0\].operation: expected verb.collection/],
      [[{ ...rule, trigger: { nth: 0 } }], /faults\[0\].trigger.nth: 0 can't be/],
      [[{ ...rule, trigger: { often: 1 } }], /faults\[0\].trigger: unknown field "often"/],
      [[{ ...rule, action: { kind: 'boom' } }], /faults\[0\].action.kind: expected one of error, lost/],
      [[{ ...rule, action: { kind: 'latency' } }], /faults\[0\].action.micros: expected a number/],
      [[{ ...rule, action: { kind: 'latency', micros: -1 } }], /faults\[0\].action.micros: -1 can't be; expected none below 0/],
      [[{ ...rule, action: { kind: 'error', code: 42, message: 'm' } }], /faults\[0\].action.code: 42 can't be; expected 400 to 599/],
      [[{ ...rule, action: { kind: 'constructor' } }], /faults\[0\].action.kind: expected one of error, lost/],
    ];
    for (const [body, message] of bad) t.match(await send('PUT', '/mock/faults', body), { code: 400, body: { message } }, JSON.stringify(body));
    const named = `${base}${configMaps}/kube-root-ca.crt`;
    t.match(await send('PUT', '/mock/faults?nodes=true', [{ ...rule, trigger: {} }]), { body: { rules: 1 } });
    t.equal((await ask(named, '')).code, 200, 'people are well');
    await send('PUT', '/mock/faults', [{ ...rule, action: { kind: 'lost' } }]);
    await t.rejects(ask(named, ''), 'the connection breaks');
    await send('PUT', '/mock/faults', [{ ...rule, action: { kind: 'latency', micros: 300_000 } }]);
    const [begun, slow] = [performance.now(), await ask(named, '')];
    t.ok(slow.code === 200 && performance.now() - begun >= 299, 'the answer takes its time');
    await send('PUT', '/mock/faults', [{ operation: 'list.configmaps', action: { kind: 'stale', versions: 1 } }]);
    await send('POST', configMaps, { metadata: { name: 'newest' } });
    const listed = async (version: string) => JSON.stringify((await ask(`${base}${configMaps}?resourceVersion=${version}`, '')).body).includes('newest');
    t.notOk(await listed('0'), 'a list of any version is an earlier one');
    t.ok(await listed(''), 'one of the newest is the newest');
    await send('PUT', '/mock/faults', [{ operation: 'watch.configmaps', action: { kind: 'cut', afterMicros: 100_000 } }]);
    await openWatch(`${base}${configMaps}?watch=true`).ended;
    await send('PUT', '/mock/faults', []);
    const watch = openWatch(`${base}${configMaps}?watch=true`);
    await watch.until(1);
    t.match(await send('POST', '/mock/cut', {}), { body: { cut: 1 } });
    await watch.ended;
    await send('POST', '/mock/compact', {});
    t.equal((await ask(`${base}${configMaps}?watch=true&resourceVersion=1`, '')).code, 410);
    t.equal((await ask(`${server.url}/mock/audit`, server.caCertificate)).code, 403, 'for administrators');
  }),
);

t.test('a kubelet gets its certificates', (t) =>
  withServer(async (server) => {
    const { url, caCertificate: ca, httpUrl } = server;
    await ask(`${httpUrl}/api/v1/namespaces/kube-system/secrets`, '', { method: 'POST', headers: json, body: JSON.stringify(bootstrapSecret) });
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const key = privateKey.export({ type: 'sec1', format: 'pem' }) as string;
    const wanted = { commonName: 'system:node:n1', organizations: ['system:nodes'], dnsNames: [], ipAddresses: [] };
    const collection = `${url}/apis/certificates.k8s.io/v1/certificatesigningrequests`;
    const order = async (name: string, signer: string, contents: typeof wanted, how: Asked, refused?: RegExp): Promise<string> => {
      const usages = signer.endsWith('kubelet-serving') ? ['digital signature', 'server auth'] : ['digital signature', 'client auth'];
      const spec = { request: Buffer.from(certificateRequest(contents, privateKey)).toString('base64'), signerName: signer, usages };
      const made = await ask(collection, ca, { ...how, method: 'POST', headers: { ...json, ...how.headers }, body: JSON.stringify({ metadata: { name }, spec }) });
      if (refused !== undefined) t.match(made, { code: 403, body: { message: refused } });
      else t.equal(made.code, 201, made.text);
      if (refused !== undefined) return '';
      server.api.advance(server.time.now() + 1_000_000);
      const { status } = (await ask(`${collection}/${name}`, ca, how)).body as { status?: { certificate?: string } };
      return Buffer.from(status?.certificate ?? '', 'base64').toString('utf8');
    };
    const bootstrap = { headers: { authorization: 'Bearer abcdef.0123456789abcdef' } };
    const client = await order('one', 'kubernetes.io/kube-apiserver-client-kubelet', wanted, bootstrap);
    const pair = { cert: client, key };
    t.match(factsOf(certificatesOf(client)[0] as X509Certificate), { commonName: 'system:node:n1', organizations: ['system:nodes'] });
    const lease = { metadata: { name: 'n1' }, spec: { holderIdentity: 'n1' } };
    const leases = `${url}/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases`;
    t.equal((await ask(leases, ca, { method: 'POST', headers: json, body: JSON.stringify(lease), pair })).code, 201, 'it is good for the node');
    const serving = await order('two', 'kubernetes.io/kubelet-serving', { ...wanted, dnsNames: ['n1'] as never[], ipAddresses: ['10.0.0.1'] as never[] }, { pair });
    t.match(factsOf(certificatesOf(serving)[0] as X509Certificate), { dnsNames: ['n1'], ipAddresses: ['10.0.0.1'] });
    await order(
      'three',
      'kubernetes.io/kube-apiserver-client-kubelet',
      { ...wanted, commonName: 'system:node:n2' },
      { pair },
      /can only create a node CSR with CN=system:node:n1$/,
    );
    const bad = { metadata: { name: 'bad' }, spec: { request: 'eA==', signerName: 'kubernetes.io/kubelet-serving', usages: ['server auth'] } };
    t.match(await ask(collection, ca, { method: 'POST', headers: json, body: JSON.stringify(bad), pair }), {
      code: 403,
      body: { message: /is forbidden: unable to parse csr: PEM block type must be CERTIFICATE REQUEST/ },
    });
  }),
);

t.test('nothing is left after the end', async (t) => {
  const server = await startMockApiserver({ httpBind: '127.0.0.1:0' });
  const watch = openWatch(`${server.httpUrl}${configMaps}?watch=true`);
  await watch.until(1);
  // A connection that waits, one that never says anything.
  const { hostname, port } = new URL(server.url);
  const silent = connect(Number(port), hostname);
  await new Promise<void>((resolve) => silent.once('connect', () => resolve()));
  const closed = new Promise<void>((resolve) => silent.once('close', () => resolve()));
  silent.on('error', () => {});
  await server.stop();
  await Promise.all([watch.ended, closed]);
  t.equal(server.api.state.watches.open.size, 0);
  await t.rejects(ask(`${server.httpUrl}/healthz`, ''));
  await server.stop();
  t.pass('a second stop does nothing');
});
