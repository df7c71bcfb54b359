// Every method on every kind of path of the mock apiserver, with the status that a real one gives; and what version it says it is.
import { request } from 'node:http';
import t from 'tap';
import { mockVersion, startMockApiserver } from '../../src/adapters/mock-apiserver/index.js';

t.setTimeout(120_000);

interface Answer {
  readonly code: number;
  readonly body: { readonly kind?: string; readonly code?: number; readonly reason?: string; readonly message?: string; readonly gitVersion?: string };
}

function ask(url: string, method: string, body?: object, type = 'application/json'): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const text = body === undefined ? '' : JSON.stringify(body);
    const headers = { 'content-type': type, 'content-length': Buffer.byteLength(text) };
    const sent = request(url, { method, agent: false, headers }, (response) => {
      let answer = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        answer += chunk;
      });
      response.on('end', () => resolve({ code: response.statusCode ?? 0, body: answer.startsWith('{') ? JSON.parse(answer) : { message: answer } }));
    });
    sent.on('error', reject);
    sent.end(text);
  });
}

const maps = '/api/v1/namespaces/default/configmaps';
const pods = '/api/v1/namespaces/default/pods';
const merge = 'application/merge-patch+json';
const map = (name: string, more: object = {}) => ({ metadata: { name }, ...more });
const requestedPod = (name: string) => ({ metadata: { name }, spec: { containers: [{ name: 'c', image: 'busybox:1' }] } });

/** No Status: nothing of the API is there. */
const noPage = 'text';

/** In order: one needs what the one before made. */
const rows: readonly (readonly [method: string, path: string, code: number, reason: string, body?: object, type?: string])[] = [
  ['GET', '/', 200, ''],
  ['GET', '/healthz', 200, ''],
  ['GET', '/livez/ping', 200, ''],
  ['GET', '/readyz', 200, ''],
  ['GET', '/version', 200, ''],
  ['GET', '/api', 200, ''],
  ['GET', '/api/v1', 200, ''],
  ['GET', '/apis/node.k8s.io/v1', 200, ''],
  ['GET', '/apis/certificates.k8s.io', 200, ''],
  ['GET', '/apis/certificates.k8s.io/v1beta1', 200, ''],
  ['GET', '/apis/certificates.k8s.io/v1beta1/clustertrustbundles', 200, ''],
  ['GET', '/apis/certificates.k8s.io/v1/clustertrustbundles', 404, 'NotFound'],
  ['GET', '/apis/node.k8s.io/v1beta1', 404, 'NotFound'],
  ['GET', '/openapi/v3', 200, ''],
  ['GET', '/openapi/v3/api/v1', 200, ''],
  ['GET', '/openapi/v3/apis/certificates.k8s.io/v1beta1', 200, ''],
  ['GET', '/openapi/v3/apis/certificates.k8s.io/v2', 404, noPage],
  ['GET', '/nothing', 404, noPage],
  ['GET', '/api/v2', 404, 'NotFound'],
  ['GET', '/apis/none.example.com/v1/things', 404, noPage],
  ['GET', '/api/v1/bogus', 404, 'NotFound'],
  ['GET', maps, 200, ''],
  ['GET', '/api/v1/configmaps', 200, ''],
  ['GET', `${maps}/a`, 404, 'NotFound'],
  ['PUT', `${maps}/a`, 404, 'NotFound', map('a')],
  ['PATCH', `${maps}/a`, 404, 'NotFound', { data: { a: 'b' } }, merge],
  ['DELETE', `${maps}/a`, 404, 'NotFound'],
  ['POST', maps, 201, '', map('a')],
  ['POST', maps, 409, 'AlreadyExists', map('a')],
  ['POST', maps, 422, 'Invalid', map('A_b')],
  ['POST', maps, 400, 'BadRequest', map('b', { bogus: 1 })],
  ['POST', maps, 400, 'BadRequest', map('b', { data: { a: 1 } })],
  ['POST', maps, 400, 'BadRequest', { ...map('b'), kind: 'Secret' }],
  ['POST', maps, 415, 'UnsupportedMediaType', map('b'), 'application/xml'],
  ['POST', '/api/v1/namespaces/absent/configmaps', 404, 'NotFound', map('b')],
  ['POST', `${maps}/a`, 405, 'MethodNotAllowed', map('a')],
  ['PUT', maps, 405, 'MethodNotAllowed', map('a')],
  ['PATCH', maps, 405, 'MethodNotAllowed', {}, merge],
  ['GET', `${maps}/a`, 200, ''],
  ['HEAD', `${maps}/a`, 200, ''],
  ['PUT', `${maps}/a`, 200, '', map('a', { data: { a: 'b' } })],
  ['PUT', `${maps}/a`, 400, 'BadRequest', map('b')],
  ['PUT', `${maps}/a`, 409, 'Conflict', { metadata: { name: 'a', resourceVersion: '1' } }],
  ['PATCH', `${maps}/a`, 200, '', { data: { a: 'c' } }, merge],
  ['PATCH', `${maps}/a`, 200, '', { data: { a: 'd' } }, 'application/strategic-merge-patch+json'],
  ['PATCH', `${maps}/a`, 200, '', [{ op: 'replace', path: '/data/a', value: 'e' }], 'application/json-patch+json'],
  ['PATCH', `${maps}/a`, 422, 'Invalid', [{ op: 'test', path: '/data/a', value: 'x' }], 'application/json-patch+json'],
  ['PATCH', `${maps}/a`, 415, 'UnsupportedMediaType', {}, 'application/json'],
  ['GET', `${maps}/a/status`, 404, 'NotFound'],
  ['GET', `${maps}?limit=1`, 200, ''],
  ['GET', `${maps}?continue=bogus`, 400, 'BadRequest'],
  ['GET', `${maps}?fieldSelector=data.a%3Db`, 400, 'BadRequest'],
  ['GET', `${maps}?labelSelector=%21%21`, 400, 'BadRequest'],
  ['GET', `${maps}?resourceVersion=x`, 400, 'BadRequest'],
  ['DELETE', `${maps}/a`, 409, 'Conflict', { preconditions: { uid: 'other' } }],
  ['DELETE', `${maps}/a`, 200, ''],
  ['DELETE', maps, 200, ''],
  ['POST', pods, 201, '', requestedPod('p')],
  ['GET', `${pods}/p/status`, 200, ''],
  ['PATCH', `${pods}/p/status`, 200, '', { status: { message: 'm' } }, merge],
  ['PATCH', `${pods}/p`, 422, 'Invalid', { spec: { hostNetwork: true } }, merge],
  ['POST', `${pods}/p/binding`, 201, '', { target: { kind: 'Node', name: 'absent' } }],
  ['POST', `${pods}/p/binding`, 409, 'Conflict', { target: { kind: 'Node', name: 'other' } }],
  ['GET', `${pods}/p/bogus`, 404, 'NotFound'],
  ['POST', `${pods}/p/eviction`, 201, '', { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'p' } }],
  ['POST', '/api/v1/namespaces/default/serviceaccounts/default/token', 201, '', { spec: {} }],
  ['DELETE', '/api/v1/namespaces/default', 403, 'Forbidden'],
  ['POST', '/apis/authentication.k8s.io/v1/tokenreviews', 201, '', { spec: { token: 'x' } }],
  ['GET', '/apis/authentication.k8s.io/v1/tokenreviews', 405, 'MethodNotAllowed'],
  ['OPTIONS', maps, 405, 'MethodNotAllowed'],
];

t.test('method, path, status', async (t) => {
  const server = await startMockApiserver({ httpBind: '127.0.0.1:0', settings: { controllers: ['namespaces'] } });
  t.teardown(() => server.stop());
  for (const [method, path, code, reason, body, type] of rows) {
    const what = `${method} ${path} ${body === undefined ? '' : JSON.stringify(body)}`;
    const answer = await ask(`${server.httpUrl}${path}`, method, body, type).catch((error: Error): Answer => ({ code: 0, body: { message: error.message } }));
    t.equal(answer.code, code, `${what} ${answer.body.message ?? ''}`);
    if (reason === noPage) t.match(answer.body, { message: '404 page not found' }, what);
    else if (code >= 400) t.match(answer.body, { kind: 'Status', code, reason }, what);
  }
});

t.test('collections that it has not are nowhere', async (t) => {
  const without = ['leases.coordination.k8s.io', 'clustertrustbundles.certificates.k8s.io', 'podcertificaterequests.certificates.k8s.io'];
  const server = await startMockApiserver({ httpBind: '127.0.0.1:0', settings: { without } });
  t.teardown(() => server.stop());
  const bundle = { metadata: { name: 'a' }, spec: { trustBundle: 'x' } };
  for (const [method, path, code, body] of [
    ['GET', '/apis/coordination.k8s.io', 404],
    ['GET', '/apis/coordination.k8s.io/v1', 404],
    ['GET', '/openapi/v3/apis/coordination.k8s.io/v1', 404],
    ['GET', '/apis/coordination.k8s.io/v1/leases', 404],
    ['GET', '/apis/coordination.k8s.io/v1/leases?watch=true', 404],
    ['GET', '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n1', 404],
    ['POST', '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases', 404, map('n1')],
    ['GET', '/apis/certificates.k8s.io/v1', 200],
    ['GET', '/apis/certificates.k8s.io/v1beta1', 404],
    ['POST', '/apis/certificates.k8s.io/v1beta1/clustertrustbundles', 404, bundle],
  ] as const) {
    const answer = await ask(`${server.httpUrl}${path}`, method, body);
    t.equal(answer.code, code, `${method} ${path}`);
    if (code === 404) t.match(answer.body, { message: /^(the server could not find the requested resource|404 page not found\n)$/ });
  }
  const { body } = await ask(`${server.httpUrl}/apis`, 'GET');
  t.notMatch(JSON.stringify(body), /coordination|certificates\.k8s\.io\/v1beta1"/);
  const problem = 'apiserver settings: without: "pod" is no collection; expected one as "leases.coordination.k8s.io"';
  await t.rejects(startMockApiserver({ settings: { without: ['pod'] } }), { message: problem });
});

t.test('the version that it says', async (t) => {
  for (const [version, gitVersion] of [
    [undefined, mockVersion],
    ['v1.9.0', 'v1.9.0'],
    ['v1.37.0-alpha.1', 'v1.37.0-alpha.1'],
  ] as const) {
    const server = await startMockApiserver({ httpBind: '127.0.0.1:0', ...(version === undefined ? {} : { version }) });
    const { body } = await ask(`${server.httpUrl}/version`, 'GET');
    t.match(body, { gitVersion, major: '1', minor: gitVersion.split('.')[1] ?? '' });
    await server.stop();
  }
  await t.rejects(startMockApiserver({ version: 'old' }), { message: 'mock apiserver: "old" is no version; expected one as v1.36.2' });
});
