// Every request to a simulated apiserver gets an answer: an object, or a Status with the problem. It never crashes,
// and stored objects can always be decoded.
import fc from 'fast-check';
import t from 'tap';
import { structOf } from '../../src/domain/values/api-schema/api-schema.js';
import type { ApiFieldType } from '../../src/domain/values/api-schema/field-types.js';
import { resourceTypes } from '../../src/sim/apiserver/resource-types.js';
import { decodeStruct } from '../../src/sim/apiserver/schema/decode.js';
import { SimApiserver } from '../../src/sim/index.js';

const now = 1_800_000_000_000_000;
const user = { name: 'admin', groups: ['system:masters', 'system:authenticated'] };
const node = { name: 'system:node:a', groups: ['system:nodes', 'system:authenticated'] };

const texts = fc.constantFrom('', 'a', 'b', 'default', 'Node', 'v1', 'UPPER_case', '10.0.0.1', 'x'.repeat(300), 'Always', 'Never', '100m', '2026-01-01T00:00:00Z', 'YQ==', '/a');
const numbers = fc.constantFrom(0, 1, -1, 80, 600, 1.5, 2 ** 31, 70_000);
const junk = fc.oneof(fc.constant(null), fc.boolean(), texts, numbers, fc.constant([]), fc.constant({}), fc.constant([null]), fc.constant({ a: null }));

/** A value of that type mostly, something else now and then. */
function valueLike(type: ApiFieldType, depth: number): fc.Arbitrary<unknown> {
  return fc.oneof({ weight: 12, arbitrary: fc.constant(null).chain(() => typed(type, depth)) }, { weight: 1, arbitrary: junk });
}

function typed(type: ApiFieldType, depth: number): fc.Arbitrary<unknown> {
  if (depth <= 0) return junk;
  switch (type.kind) {
    case 'list':
      return fc.array(valueLike(type.item, depth - 1), { maxLength: 2 });
    case 'map':
      return fc.dictionary(fc.constantFrom('a', 'cpu', 'memory', 'app', 'x/y'), valueLike(type.item, depth - 1), { maxKeys: 2 });
    case 'struct':
      return structValue(type.struct, depth - 1);
    case 'scalar':
      if (type.scalar === 'bool') return fc.boolean();
      if (type.scalar === 'int32' || type.scalar === 'int64') return numbers;
      return type.scalar === 'intOrString' ? fc.oneof(texts, numbers) : texts;
  }
}

function structValue(struct: string, depth: number): fc.Arbitrary<object> {
  const fields = [...structOf(struct)];
  return fc
    .subarray(fields, { maxLength: Math.min(6, fields.length) })
    .chain((chosen) => fc.record(Object.fromEntries(chosen.map(([name, type]) => [name, valueLike(type, depth)]))));
}

const metadata = fc.record({ name: fc.constantFrom('a', 'b', 'B_', ''), labels: fc.constant({ app: 'x' }) }, { requiredKeys: [] });
const request = fc.constantFrom(...resourceTypes).chain((type) =>
  fc.record({
    type: fc.constant(type),
    verb: fc.constantFrom('create', 'create', 'update', 'patch', 'delete', 'get', 'list', 'deletecollection') as fc.Arbitrary<
      'create' | 'update' | 'patch' | 'delete' | 'get' | 'list' | 'deletecollection'
    >,
    patch: fc.constantFrom('json-patch', 'merge-patch', 'strategic-merge-patch', 'apply-patch') as fc.Arbitrary<
      'json-patch' | 'merge-patch' | 'strategic-merge-patch' | 'apply-patch'
    >,
    subresource: fc.oneof({ weight: 3, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: fc.constantFrom(...type.subresources, 'nothing') }),
    name: fc.constantFrom('a', 'b'),
    byNode: fc.boolean(),
    body: fc.oneof(
      { weight: 8, arbitrary: fc.tuple(metadata, structValue(type.kind, 4)).map(([meta, object]) => ({ ...object, metadata: meta })) },
      { weight: 1, arbitrary: junk },
    ),
  }),
);

/** What there is to change and to delete, by collection. */
const firstObjects: Readonly<Record<string, object>> = {
  pods: { spec: { nodeName: 'a', containers: [{ name: 'a', image: 'a' }], volumes: [{ name: 'a', configMap: { name: 'a' } }] } },
  nodes: { status: { conditions: [{ type: 'Ready', status: 'True' }] } },
  configmaps: { data: { a: 'a' } },
  secrets: { data: { a: 'YQ==' } },
  services: { spec: { ports: [{ port: 80 }] } },
  serviceaccounts: {},
  events: { involvedObject: { kind: 'Pod', namespace: 'default', name: 'a' } },
  persistentvolumes: { spec: { accessModes: ['ReadWriteOnce'], capacity: { storage: '1Gi' }, hostPath: { path: '/a' } } },
  persistentvolumeclaims: { spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } } },
  leases: { spec: { holderIdentity: 'a' } },
  csidrivers: {},
  storageclasses: { provisioner: 'a' },
  runtimeclasses: { handler: 'a' },
};

function filledServer(): SimApiserver {
  const server = new SimApiserver({}, now);
  for (const type of resourceTypes) {
    const object = firstObjects[type.plural];
    if (object === undefined) continue;
    const target = { resource: type, namespace: type.namespaced ? 'default' : null, name: null, subresource: null };
    const { code, body } = server.handle({ ...target, user, verb: 'create', body: { metadata: { name: 'a' }, ...object } }, now);
    if (code !== 201) throw new Error(`${type.plural}: ${String(body.message)}`);
  }
  return server;
}

t.test('pods whose volumes, containers or tolerations lack all fields are invalid', async (t) => {
  const server = filledServer();
  const target = { resource: { group: '', version: 'v1', plural: 'pods' }, namespace: 'default', name: null, subresource: null };
  for (const spec of [{ volumes: [{}] }, { containers: [{}] }, { initContainers: [{ volumeMounts: [{}] }] }, { tolerations: [{}], imagePullSecrets: [{}] }]) {
    const { code } = server.handle({ ...target, user, verb: 'create', body: { metadata: { name: 'bad' }, spec } }, now);
    t.equal(code, 422, JSON.stringify(spec));
  }
});

/** What the real apiserver answers with 500, too (test/peer/recordings). */
const recorded = /^resourceVersion should not|does not contain declared merge key: /;

t.test('anything is answered', async (t) => {
  const codes = new Map<number, number>();
  fc.assert(
    fc.property(fc.array(request, { maxLength: 12 }), (requests) => {
      const server = filledServer();
      for (const [i, { type, verb, patch, subresource, name, byNode, body }] of requests.entries()) {
        const target = { resource: type, namespace: type.namespaced ? 'default' : null, name: verb === 'create' && subresource === null ? null : name, subresource };
        const answer = server.handle({ ...target, user: byNode ? node : user, verb, patch, body, fieldManager: 'fuzz' }, now + i * 1_000_000);
        server.advance(now + i * 1_000_000 + 500_000);
        codes.set(answer.code, (codes.get(answer.code) ?? 0) + 1);
        if (answer.code >= 500 && answer.code !== 501 && !recorded.test(String(answer.body.message))) throw new Error(`${answer.code}: ${String(answer.body.message)}`);
      }
      for (const type of resourceTypes) {
        for (const object of server.store.all(type.group === '' ? type.plural : `${type.plural}.${type.group}`)) {
          const unknown: string[] = [];
          decodeStruct(object, type.kind, unknown);
          if (unknown.length > 0) throw new Error(`stored with ${unknown.join()}`);
        }
      }
    }),
    { numRuns: 300 },
  );
  for (const code of [200, 201, 400, 403, 404, 409, 422]) t.ok((codes.get(code) ?? 0) > 0, `${code} was answered: ${codes.get(code) ?? 0} times`);
});
