// The mock's answers to requests without optional fields, against those that kube-apiserver v1.36.2 gave to the same requests
// (test/reference/sparse-answers.json): defaults, zero times, nulls and empty structs are as in the real server.
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import t from 'tap';
import { startMockApiserver } from '../../src/adapters/mock-apiserver/index.js';
import type { Json } from './full-objects.js';
import { type SparseRequest, sparseRequests } from './sparse-requests.js';

t.setTimeout(120_000);

interface Answer {
  readonly code: number;
  readonly body: Json;
}

const recorded = JSON.parse(readFileSync(join(import.meta.dirname, '..', '..', '..', 'test/reference/sparse-answers.json'), 'utf8')) as Readonly<Record<string, Answer>>;

function ask(url: string, { method, path, type = 'application/json', body }: SparseRequest): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const text = body === undefined ? '' : JSON.stringify(body);
    const headers = { 'content-type': type, 'content-length': Buffer.byteLength(text), 'user-agent': 'recorder/1' };
    const sent = request(`${url}${path}`, { method, agent: false, headers }, (response) => {
      let answer = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        answer += chunk;
      });
      response.on('end', () => resolve({ code: response.statusCode ?? 0, body: JSON.parse(answer) as Json }));
    });
    sent.on('error', reject);
    sent.end(text);
  });
}

/** What differs from one server to the next, by rule: ids, versions, times that are set, addresses and tokens that were given. */
function comparable(value: unknown, key = ''): unknown {
  // The recorded server was built with a patch that adds a source.
  if (Array.isArray(value))
    return value.filter((item) => (item as { readonly configMap?: Json } | null)?.configMap?.name !== 'openshift-service-ca.crt').map((item: unknown) => comparable(item, key));
  if (typeof value === 'object' && value !== null) return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, comparable(item, name)]));
  if (typeof value !== 'string') return value;
  if (/^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value)) return value.includes('.') ? '<time with a fraction>' : '<time>';
  if (/^[0-9a-f]{8}-[0-9a-f-]{27}$/.test(value)) return '<uid>';
  if (key === 'resourceVersion' && /^\d+$/.test(value)) return '<version>';
  if ((key === 'clusterIP' || key === 'clusterIPs') && /^10\./.test(value)) return '<address>';
  if (value.startsWith('kube-api-access-')) return 'kube-api-access-<suffix>';
  return key === 'token' && value.startsWith('ey') ? '<token>' : value;
}

/** What the recorded cluster's controllers, or its configuration, did that the mock has none of: fields, and the answers that show it. */
const others: readonly (readonly [path: RegExp, why: string])[] = [
  [/\.metadata\.managedFields$/, 'the mock keeps them for objects that were applied'],
  [/^\.metadata\.finalizers$/, 'protection of volumes and claims that are in use'],
  [/^\.metadata\.annotations$/, 'the TTL controller of nodes, the binder of volumes'],
  [/^\.(spec\.volumeName|status\.phase)$/, 'the binder of volumes'],
  [/^\.spec\.taints/, 'when the node controller has looked'],
  [/^\.spec\.audiences\[0\]$/, 'the issuer of tokens'],
];

/** Paths at which two values differ, with what is there. */
function differences(real: unknown, mock: unknown, path: string): string[] {
  if (Array.isArray(real) && Array.isArray(mock) && real.length === mock.length) return real.flatMap((item: unknown, i) => differences(item, mock[i], `${path}[${i}]`));
  if (isMap(real) && isMap(mock)) return [...new Set([...Object.keys(real), ...Object.keys(mock)])].sort().flatMap((key) => differences(real[key], mock[key], `${path}.${key}`));
  return JSON.stringify(real) === JSON.stringify(mock) ? [] : [`${path}: kube-apiserver ${JSON.stringify(real) ?? 'nothing'}, mock ${JSON.stringify(mock) ?? 'nothing'}`];
}

function isMap(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

t.test('answers to sparse requests', async (t) => {
  const server = await startMockApiserver({ httpBind: '127.0.0.1:0' });
  t.teardown(() => server.stop());
  t.strictSame(
    sparseRequests.map(({ name }) => name),
    Object.keys(recorded),
    'each was recorded',
  );
  for (const sparse of sparseRequests) {
    const real = recorded[sparse.name] as Answer;
    const mock = await ask(server.httpUrl as string, sparse);
    t.equal(mock.code, real.code, `${sparse.name}: ${JSON.stringify(mock.body.message)}`);
    const found = differences(comparable(real.body), comparable(mock.body), '').filter((difference) => !others.some(([path]) => path.test(difference.split(':', 1)[0] as string)));
    t.strictSame(found, [], sparse.name);
  }
});
