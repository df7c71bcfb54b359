// Requests that the server doesn't store: reviews, bindings, tokens, evictions. The fullest of each is accepted and returned with its answer;
// one more field anywhere is refused with its path, and so is a request without a required one.
import t from 'tap';
import { structOf } from '../../src/domain/values/api-schema/api-schema.js';
import { ApiCaller } from './api-caller.js';
import type { Json } from './full-objects.js';

interface Row {
  readonly sentence: string;
  readonly plural: string;
  /** Of this object, in this subresource. */
  readonly of?: readonly [name: string, subresource: string];
  readonly struct: string;
  readonly body: Json;
  readonly want: Json;
  /** What must be there: without it, the field that is named, or the code of another refusal. */
  readonly without?: readonly (readonly [path: string, problem: string | number])[];
  /** It is answered with a Status, or a part of it is the server's. */
  readonly comesBack?: boolean;
}

const selectors = {
  fieldSelector: { requirements: [{ key: 'spec.nodeName', operator: 'In', values: ['n'] }] },
  labelSelector: { requirements: [{ key: 'a', operator: 'In', values: ['b'] }] },
};
const attributes = { namespace: 'default', verb: 'get', group: 'example.com', version: 'v1', resource: 'pods', subresource: 'log', name: 'p' };
const subject = { user: 'u', groups: ['system:masters'], extra: { k: ['v'] }, uid: 'i' };

const rows: readonly Row[] = [
  {
    sentence: 'whose token is it',
    plural: 'tokenreviews',
    struct: 'TokenReview',
    body: { metadata: { name: 'x', labels: { a: 'b' } }, spec: { token: 'secret', audiences: ['a'] } },
    want: { status: { error: 'invalid bearer token' } },
    without: [['spec.token', 400]],
  },
  {
    sentence: 'may somebody',
    plural: 'subjectaccessreviews',
    struct: 'SubjectAccessReview',
    body: { spec: { ...subject, resourceAttributes: { ...attributes, ...selectors } } },
    want: { status: { allowed: true } },
    without: [['spec.resourceAttributes', 'spec.resourceAttributes']],
  },
  {
    sentence: 'may somebody, with selectors as they came',
    plural: 'subjectaccessreviews',
    struct: 'SubjectAccessReview',
    body: { spec: { ...subject, resourceAttributes: { ...attributes, fieldSelector: { rawSelector: 'a=b' }, labelSelector: { rawSelector: 'a=b' } } } },
    want: { status: { allowed: true } },
  },
  {
    sentence: 'may somebody see a path',
    plural: 'subjectaccessreviews',
    struct: 'SubjectAccessReview',
    body: { spec: { user: 'u', nonResourceAttributes: { path: '/healthz', verb: 'get' } } },
    want: { status: { allowed: true } },
    without: [['spec.user', 'spec.user']],
  },
  {
    sentence: 'may I',
    plural: 'selfsubjectaccessreviews',
    struct: 'SelfSubjectAccessReview',
    body: { spec: { resourceAttributes: { ...attributes, ...selectors } } },
    want: { status: { allowed: true } },
    without: [['spec.resourceAttributes', 'spec.resourceAttributes']],
  },
  {
    sentence: 'who am I',
    plural: 'selfsubjectreviews',
    struct: 'SelfSubjectReview',
    body: { metadata: { labels: { a: 'b' } } },
    want: { status: { userInfo: { username: 'admin' } } },
  },
  {
    sentence: 'a token',
    plural: 'serviceaccounts',
    of: ['default', 'token'],
    struct: 'TokenRequest',
    body: { metadata: {}, spec: { audiences: ['a'], expirationSeconds: 600, boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name: 'p', uid: '' } } },
    want: { status: { token: /^eyJ/, expirationTimestamp: /^20/ } },
  },
  {
    sentence: 'a node for a pod',
    plural: 'pods',
    of: ['p', 'binding'],
    struct: 'Binding',
    body: { metadata: { name: 'p' }, target: { kind: 'Node', namespace: '', name: 'n', uid: 'u', apiVersion: 'v1', resourceVersion: '1', fieldPath: 'f' } },
    want: { status: 'Success' },
    comesBack: false,
    without: [['target.name', 'target.name']],
  },
  {
    sentence: 'an eviction',
    plural: 'pods',
    of: ['p', 'eviction'],
    struct: 'Eviction',
    body: {
      metadata: { name: 'p', namespace: 'default' },
      deleteOptions: {
        kind: 'DeleteOptions',
        apiVersion: 'policy/v1',
        gracePeriodSeconds: 0,
        preconditions: { uid: '', resourceVersion: '' },
        orphanDependents: false,
        propagationPolicy: 'Background',
        ignoreStoreReadErrorWithClusterBreakingPotential: false,
        dryRun: [],
      },
    },
    want: { status: 'Success' },
    comesBack: false,
  },
];

/** The objects within a body that the tables have a struct for, by their paths. */
function* places(struct: string, value: Json, path = ''): Generator<readonly [path: string, place: Json]> {
  yield [path, value];
  for (const [name, type] of structOf(struct)) {
    const given = value[name];
    if (given === undefined) continue;
    const at = path === '' ? name : `${path}.${name}`;
    if (type.kind === 'struct') yield* places(type.struct, given as Json, at);
    else if (type.kind === 'list' && type.item.kind === 'struct') for (const [i, item] of (given as Json[]).entries()) yield* places(type.item.struct, item, `${at}[${i}]`);
  }
}

function without(body: Json, path: string): Json {
  const copy = structuredClone(body);
  const names = path.split('.');
  const last = names.pop() ?? '';
  const place = names.reduce((held, name) => held[name] as Json, copy);
  delete place[last];
  return copy;
}

for (const { sentence, plural, of, struct, body: written, want, without: needed = [], comesBack = true } of rows) {
  t.test(sentence, async (t) => {
    const caller = new ApiCaller();
    const pod = caller.create('pods', { metadata: { name: 'p' }, spec: { containers: [{ name: 'c', image: 'busybox:1' }] } }).body;
    const { uid, resourceVersion } = pod.metadata as { readonly uid: string; readonly resourceVersion: string };
    const body = JSON.parse(JSON.stringify(written), (key, value: unknown) =>
      value !== '' ? value : key === 'uid' ? uid : key === 'resourceVersion' ? resourceVersion : value,
    ) as Json;
    const ask = (sent: Json) => (of === undefined ? caller.create(plural, sent, null) : caller.post(plural, of[0], of[1], sent));
    let count = 0;
    for (const [path, place] of places(struct, body)) {
      place.bogus = 1;
      const answer = ask(body);
      delete place.bogus;
      const field = path === '' ? 'bogus' : `${path}.bogus`;
      t.match({ code: answer.code, message: answer.body.message }, { code: 400, message: `as a ${struct}: strict decoding error: unknown field "${field}"` }, field);
      count++;
    }
    t.ok(count >= 2, `${count} places`);
    for (const [path, problem] of needed) {
      const refused = typeof problem === 'number' ? { code: problem } : { code: 422, body: { details: { causes: [{ field: problem }] } } };
      t.match(ask(without(body, path)), refused, `without ${path}`);
    }
    const answer = ask(body);
    t.match(answer, { code: 201, body: want });
    if (comesBack) t.match(answer.body.spec, body.spec, 'it comes back as it was');
  });
}
