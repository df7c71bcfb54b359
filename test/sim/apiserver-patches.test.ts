// Patches as tables: the result of each kind on an object, and its refusals.
import t, { type Test } from 'tap';
import { ApiRefusal } from '../../src/sim/apiserver/api-status.js';
import { afterUpdate, applied } from '../../src/sim/apiserver/apply/managed-fields.js';
import { applyJsonPatch } from '../../src/sim/apiserver/patch/json-patch.js';
import { applyMergePatch } from '../../src/sim/apiserver/patch/merge-patch.js';
import { applyStrategicMergePatch } from '../../src/sim/apiserver/patch/strategic-merge-patch.js';
import { decodeStruct } from '../../src/sim/apiserver/schema/decode.js';

type Row = readonly [sentence: string, document: unknown, patch: unknown, want: unknown];

/** The result, or the message of the refusal. */
function outcome(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    if (error instanceof ApiRefusal) return error.cause ?? error.message;
    throw error;
  }
}

function check(t: Test, rows: readonly Row[], apply: (document: never, patch: unknown) => unknown): void {
  for (const [sentence, document, patch, want] of rows) {
    const before = JSON.stringify(document);
    const got = outcome(() => apply(document as never, patch));
    if (want instanceof RegExp) t.match(got, want, sentence);
    else t.strictSame(got, want, sentence);
    t.equal(JSON.stringify(document), before, 'what was given is as it was');
  }
}

t.test('JSON patch', async (t) => {
  check(
    t,
    [
      ['adds a member', { a: 1 }, [{ op: 'add', path: '/b', value: 2 }], { a: 1, b: 2 }],
      ['replaces one by adding', { a: 1 }, [{ op: 'add', path: '/a', value: 2 }], { a: 2 }],
      ['inserts into a list', { a: [1, 3] }, [{ op: 'add', path: '/a/1', value: 2 }], { a: [1, 2, 3] }],
      ['appends', { a: [1] }, [{ op: 'add', path: '/a/-', value: 2 }], { a: [1, 2] }],
      [
        'removes',
        { a: [1, 2], b: 1 },
        [
          { op: 'remove', path: '/a/0' },
          { op: 'remove', path: '/b' },
        ],
        { a: [2] },
      ],
      ['replaces', { a: { b: 1 } }, [{ op: 'replace', path: '/a/b', value: { c: 2 } }], { a: { b: { c: 2 } } }],
      ['moves', { a: { b: 1 } }, [{ op: 'move', from: '/a/b', path: '/c' }], { a: {}, c: 1 }],
      ['copies', { a: { b: [1] } }, [{ op: 'copy', from: '/a/b', path: '/c' }], { a: { b: [1] }, c: [1] }],
      ['tests', { a: { b: 1, c: 2 } }, [{ op: 'test', path: '/a', value: { c: 2, b: 1 } }], { a: { b: 1, c: 2 } }],
      [
        'escapes',
        { 'a/b': 1, 'c~d': 2 },
        [
          { op: 'remove', path: '/a~1b' },
          { op: 'replace', path: '/c~0d', value: 3 },
        ],
        { 'c~d': 3 },
      ],
      ['the whole document', { a: 1 }, [{ op: 'replace', path: '', value: { b: 2 } }], { b: 2 }],
      [
        'a test that fails',
        { a: 1 },
        [
          { op: 'remove', path: '/a' },
          { op: 'test', path: '/a', value: 1 },
        ],
        /testing value \/a failed/,
      ],
      ['nothing to remove', { a: 1 }, [{ op: 'remove', path: '/b' }], /doc is missing key: \/b/],
      ['nothing to replace', { a: 1 }, [{ op: 'replace', path: '/b', value: 1 }], /doc is missing key: \/b/],
      ['no place', { a: 1 }, [{ op: 'add', path: '/b/c', value: 1 }], /doc is missing path: \/b\/c/],
      ['beyond the end', { a: [1] }, [{ op: 'add', path: '/a/3', value: 1 }], /invalid index/],
      ['no operation', { a: 1 }, [{ op: 'twist', path: '/a' }], /Unexpected kind: twist/],
      ['no list', { a: 1 }, { op: 'add' }, /cannot unmarshal object/],
    ],
    applyJsonPatch,
  );
});

t.test('merge patch, the cases of RFC 7386', async (t) => {
  const rows: readonly (readonly [unknown, unknown, unknown])[] = [
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
    [{ a: 'b' }, { a: null }, {}],
    [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
    [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
    [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
    [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
    [
      ['a', 'b'],
      ['c', 'd'],
      ['c', 'd'],
    ],
    [{ a: 'b' }, ['c'], ['c']],
    [{ a: 'foo' }, null, null],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [[1, 2], { a: 'b', c: null }, { a: 'b' }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  ];
  check(
    t,
    rows.map(([document, patch, want]): Row => [`${JSON.stringify(document)} with ${JSON.stringify(patch)}`, document, patch, want]),
    applyMergePatch,
  );
});

const two = {
  spec: {
    containers: [
      { name: 'a', image: '1', args: ['x', 'y'] },
      { name: 'b', image: '2' },
    ],
  },
};

t.test('strategic merge patch of pods', async (t) => {
  const containers = (...list: object[]) => ({ spec: { containers: list } });
  const env = (...list: object[]) => ({ spec: { containers: [{ name: 'a', env: list }] } });
  check(
    t,
    [
      ['an item by its key', two, containers({ name: 'b', image: '3' }), containers({ name: 'a', image: '1', args: ['x', 'y'] }, { name: 'b', image: '3' })],
      [
        'a new item comes first where there is no order',
        two,
        containers({ name: 'c' }),
        containers({ name: 'c' }, { name: 'a', image: '1', args: ['x', 'y'] }, { name: 'b', image: '2' }),
      ],
      ['items in the order of the patch', two, containers({ name: 'b' }, { name: 'a' }), containers({ name: 'b', image: '2' }, { name: 'a', image: '1', args: ['x', 'y'] })],
      ['an item to delete', two, containers({ $patch: 'delete', name: 'a' }), containers({ name: 'b', image: '2' })],
      ['the whole list', two, containers({ name: 'z' }, { $patch: 'replace' }), containers({ name: 'z' })],
      ['a list without a key', two, containers({ name: 'a', args: ['z'] }), containers({ name: 'a', image: '1', args: ['z'] }, { name: 'b', image: '2' })],
      ['a member to remove', two, containers({ name: 'a', args: null }), containers({ name: 'a', image: '1' }, { name: 'b', image: '2' })],
      ['lists within items', env({ name: 'A', value: '1' }), env({ name: 'B', value: '2' }), env({ name: 'B', value: '2' }, { name: 'A', value: '1' })],
      [
        'an order',
        env({ name: 'A' }, { name: 'B' }),
        { spec: { containers: [{ name: 'a', '$setElementOrder/env': [{ name: 'B' }, { name: 'A' }] }] } },
        env({ name: 'B' }, { name: 'A' }),
      ],
      [
        'an order beside what the server has',
        env({ name: 'S' }, { name: 'A' }),
        { spec: { containers: [{ name: 'a', '$setElementOrder/env': [{ name: 'B' }, { name: 'A' }], env: [{ name: 'B' }] }] } },
        env({ name: 'B' }, { name: 'S' }, { name: 'A' }),
      ],
      ['values of a set', { metadata: { finalizers: ['a', 'b'] } }, { metadata: { finalizers: ['c', 'a'] } }, { metadata: { finalizers: ['c', 'a', 'b'] } }],
      ['values to delete', { metadata: { finalizers: ['a', 'b'] } }, { metadata: { '$deleteFromPrimitiveList/finalizers': ['a'] } }, { metadata: { finalizers: ['b'] } }],
      ['a map to replace', { metadata: { labels: { a: '1' } } }, { metadata: { labels: { $patch: 'replace', b: '2' } } }, { metadata: { labels: { b: '2' } } }],
      ['a map to empty', { spec: { securityContext: { fsGroup: 1 } } }, { spec: { securityContext: { $patch: 'delete' } } }, { spec: { securityContext: {} } }],
      [
        'keys to retain',
        { spec: { volumes: [{ name: 'v', emptyDir: {} }] } },
        { spec: { volumes: [{ name: 'v', $retainKeys: ['name', 'hostPath'], hostPath: { path: '/' } }] } },
        { spec: { volumes: [{ name: 'v', hostPath: { path: '/' } }] } },
      ],
      ['null in what is new', {}, { spec: { containers: [{ name: 'a', image: null }] } }, { spec: { containers: [{ name: 'a' }] } }],
      ['an item without its key', two, containers({ image: '3' }), /does not contain declared merge key: name/],
      ['another directive', two, { spec: { $patch: 'twist' } }, /Unknown patch type found: twist/],
    ],
    (document: Record<string, unknown>, patch) => applyStrategicMergePatch(document, patch, 'Pod'),
  );
});

const writer = (manager: string) => ({ manager, apiVersion: 'v1', subresource: null, now: 1_800_000_000_000_000 });
const configMap = (data: object, metadata: object = {}) => ({ kind: 'ConfigMap', apiVersion: 'v1', metadata: { name: 'c', ...metadata }, data });
const apply = (live: object | null, config: object, manager: string, force = false) =>
  applied(live as never, config as never, 'ConfigMap', writer(manager), force) as { data?: object; metadata: { managedFields: object[]; labels?: object } };

t.test('server-side apply', async (t) => {
  const first = apply(null, configMap({ a: '1', b: '2' }), 'one');
  t.match(first.metadata.managedFields, [{ manager: 'one', operation: 'Apply', fieldsV1: { 'f:data': { 'f:a': {}, 'f:b': {} } } }]);
  t.strictSame(apply(first, configMap({ a: '1', b: '2' }), 'one'), first, 'the same again changes nothing');
  t.strictSame(apply(first, configMap({ a: '1' }), 'one').data, { a: '1' }, 'what is no longer applied goes');
  const shared = apply(first, configMap({ b: '2', c: '3' }), 'two');
  t.strictSame(shared.data, { a: '1', b: '2', c: '3' }, 'two that agree');
  t.strictSame(apply(shared, configMap({ a: '1' }), 'one').data, { a: '1', b: '2', c: '3' }, 'what another still applies stays');
  t.match(
    outcome(() => apply(shared, configMap({ b: '5' }), 'three')),
    /^Apply failed with 2 conflicts: conflicts with "one" using v1:\n- \.data\.b\nconflicts with "two" using v1:\n- \.data\.b$/,
  );
  const taken = apply(shared, configMap({ b: '5' }), 'three', true);
  t.strictSame(taken.data, { a: '1', b: '5', c: '3' });
  t.notMatch(JSON.stringify(taken.metadata.managedFields.find((entry) => (entry as { manager: string }).manager === 'one')), /f:b/, 'it is no longer theirs');
  const written = afterUpdate({ ...configMap({ a: '9', b: '2' }), metadata: first.metadata } as never, first as never, 'ConfigMap', writer('editor')) as unknown as typeof first;
  t.match(written.metadata.managedFields, [
    { manager: 'one', fieldsV1: { 'f:data': { 'f:b': {} } } },
    { manager: 'editor', operation: 'Update', fieldsV1: { 'f:data': { 'f:a': {} } } },
  ]);
  t.match(
    outcome(() => apply(written, configMap({ a: '1', b: '2' }), 'one')),
    /conflict with "editor" using v1: \.data\.a/,
  );
  t.match(
    outcome(() => apply(configMap({ a: '1' }), configMap({ a: '2' }), 'one')),
    /conflict with "before-first-apply"/,
    'what was there before belongs to somebody',
  );
});

t.test('lists of what is applied', async (t) => {
  const pod = (...containers: object[]) => ({ kind: 'Pod', apiVersion: 'v1', metadata: { name: 'p' }, spec: { containers } });
  const applyPod = (live: object | null, config: object, manager: string) =>
    applied(live as never, config as never, 'Pod', writer(manager), false) as unknown as { spec: { containers: object[] } };
  const one = applyPod(null, pod({ name: 'a', image: '1', ports: [{ containerPort: 80 }] }), 'one');
  const both = applyPod(one, pod({ name: 'b', image: '2' }), 'two');
  t.strictSame(both.spec.containers, [
    { name: 'b', image: '2' },
    { name: 'a', image: '1', ports: [{ containerPort: 80 }] },
  ]);
  t.strictSame(applyPod(both, pod({ name: 'b', image: '2' }), 'one').spec.containers, [{ name: 'b', image: '2' }], 'an item that nobody applies any more goes');
});

t.test('what is read', async (t) => {
  const wrong: readonly (readonly [unknown, RegExp])[] = [
    [{ spec: [] }, /cannot unmarshal array into Go struct field Pod.spec of type v1.PodSpec/],
    [{ spec: { containers: {} } }, /cannot unmarshal object into Go struct field PodSpec.spec.containers of type \[\]v1.Container/],
    [{ spec: { containers: [{ name: 1 }] } }, /cannot unmarshal number into Go struct field Container.spec.containers.name of type string/],
    [{ spec: { hostNetwork: 'yes' } }, /cannot unmarshal string into Go struct field PodSpec.spec.hostNetwork of type bool/],
    [{ spec: { priority: 1.5 } }, /cannot unmarshal number 1.5 into Go struct field PodSpec.spec.priority of type int32/],
    [{ metadata: { labels: { a: true } } }, /cannot unmarshal bool into Go struct field ObjectMeta.metadata.labels of type string/],
    [{ spec: { containers: [{ resources: { limits: { cpu: 'much' } } }] } }, /quantities must match the regular expression/],
    [{ metadata: { deletionTimestamp: 'today' } }, /parsing time "today"/],
  ];
  for (const [value, message] of wrong) t.throws(() => decodeStruct(value, 'Pod', []), message, JSON.stringify(value));
  const unknown: string[] = [];
  const containers = '[{"name":"c","y":{}},{"name":"d","stdin":false}]';
  const value = JSON.parse(
    `{"kind":"Pod","x":1,"metadata":{"name":"a","labels":{"__proto__":"p"}},"spec":{"containers":${containers},"priority":0,"hostNetwork":false}}`,
  ) as unknown;
  const read = decodeStruct(value, 'Pod', unknown);
  t.strictSame(unknown, ['x', 'spec.containers[0].y']);
  t.equal(
    JSON.stringify(read),
    '{"kind":"Pod","metadata":{"name":"a","labels":{"__proto__":"p"}},"spec":{"containers":[{"name":"c"},{"name":"d"}],"priority":0}}',
    'zeros of plain fields go, others stay',
  );
});
