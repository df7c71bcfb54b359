// The fullest objects of each kind, written by hand from the API's types and not from the server's tables: they are accepted completely, every field of
// the tables is in one of them, one more field anywhere is refused with its path, and so is a missing required one.
import t from 'tap';
import { structOf } from '../../src/domain/values/api-schema/api-schema.js';
import type { ApiFieldType } from '../../src/domain/values/api-schema/field-types.js';
import { findResourceType, type ResourceType } from '../../src/sim/index.js';
import { ApiCaller } from './api-caller.js';
import { fullCoreObjects } from './full-core-objects.js';
import { fullDeviceObjects } from './full-device-objects.js';
import type { FullObjects, Json } from './full-objects.js';
import { ephemeralContainer, fullPods } from './full-pods.js';
import { fullStorageObjects } from './full-storage-objects.js';

t.setTimeout(300_000);

const rows: readonly FullObjects[] = [...fullCoreObjects, ...fullStorageObjects, ...fullDeviceObjects, fullPods];

/** Of an object that was sent, what isn't in the one that is stored; as paths. */
function missing(sent: unknown, stored: unknown, path = ''): string[] {
  if (Array.isArray(sent)) return sent.flatMap((item: unknown, i) => missing(item, (stored as unknown[] | undefined)?.[i], `${path}[${i}]`));
  if (typeof sent === 'object' && sent !== null) return Object.entries(sent).flatMap(([key, value]) => missing(value, (stored as Json | undefined)?.[key], `${path}.${key}`));
  return sent === stored ? [] : [`${path}: ${JSON.stringify(stored)}`];
}

/** Structs that the values are of, and the fields of each that one of them has. */
function noteUsed(struct: string, value: Json, used: Map<string, Set<string>>): void {
  const fields = used.get(struct) ?? new Set();
  used.set(struct, fields);
  for (const [name, type] of structOf(struct)) {
    if (value[name] === undefined) continue;
    fields.add(name);
    for (const [held, item] of structsOf(type, value[name], '')) noteUsed(held, item, used);
  }
}

/** Fields of the tables that none of the values has. */
function unused(used: ReadonlyMap<string, ReadonlySet<string>>, not: readonly string[]): string[] {
  return [...used].flatMap(([struct, fields]) =>
    // The metadata of every object is tested separately.
    struct === 'ObjectMeta'
      ? []
      : [...structOf(struct).keys()].filter((name) => !fields.has(name)).flatMap((name) => (not.includes(`${struct}.${name}`) ? [] : [`${struct}.${name}`])),
  );
}

function* structsOf(type: ApiFieldType, value: unknown, path: string): Generator<readonly [struct: string, value: Json, path: string]> {
  if (type.kind === 'struct') yield [type.struct, value as Json, path];
  else if (type.kind === 'list') for (const [i, item] of (value as unknown[]).entries()) yield* structsOf(type.item, item, `${path}[${i}]`);
  else if (type.kind === 'map') for (const [key, item] of Object.entries(value as Json)) yield* structsOf(type.item, item, `${path}[${key}]`);
}

/** Every struct within an object, and where. */
function* places(struct: string, value: Json, path = ''): Generator<readonly [struct: string, place: Json, path: string]> {
  yield [struct, value, path];
  for (const [name, type] of structOf(struct)) {
    if (value[name] === undefined) continue;
    for (const [held, item, at] of structsOf(type, value[name], path === '' ? name : `${path}.${name}`)) yield* places(held, item, at);
  }
}

const below = (path: string, name: string): string => (path === '' ? name : `${path}.${name}`);

function prepared(plural: string): ApiCaller {
  const caller = new ApiCaller();
  if (plural === 'pods') caller.create('runtimeclasses', { metadata: { name: 'full' }, handler: 'runc', overhead: { podFixed: { cpu: '10m' } } }, null);
  return caller;
}

/** Creates it, and writes its status if another client owns that. */
function stored(t: { ok(holds: boolean, message: string): unknown }, caller: ApiCaller, type: ResourceType, object: Json, namespace: string | null): Json {
  const { name } = object.metadata as { readonly name: string };
  const made = caller.create(type.plural, structuredClone(object), namespace);
  t.ok(made.code === 201, JSON.stringify(made.body));
  const { status } = object;
  if (type.subresources.includes('status') && status !== undefined) {
    const told = caller.patch(type.plural, name, { status }, 'status', namespace);
    t.ok(told.code === 200, JSON.stringify(told.body));
  }
  return caller.get(type.plural, name, namespace).body;
}

const used = new Map<string, Set<string>>();

for (const { plural, namespaced, objects, serverSays = [] } of rows) {
  t.test(plural, async (t) => {
    const caller = prepared(plural);
    const namespace = namespaced ? 'default' : null;
    const type = findResourceType(caller.resource(plural));
    if (type === null) throw new Error(`there is no ${plural}`);
    const [spoiled, bare] = [{ places: 0 }, { fields: 0 }];
    for (const raw of objects) {
      const object = JSON.parse(JSON.stringify(raw)) as Json;
      noteUsed(type.kind, object, used);
      const { stringData: _once, ...kept } = object;
      const lost = missing(kept, stored(t, caller, type, object, namespace)).filter((path) => !serverSays.some((said) => path.startsWith(said)));
      t.strictSame(lost, [], 'it is kept whole');
      for (const [, place, path] of places(type.kind, object)) {
        place.bogus = 1;
        const answer = caller.create(plural, object, namespace);
        delete place.bogus;
        const message = `${type.kind} in version "${type.version}" cannot be handled as a ${type.kind}: strict decoding error: unknown field "${below(path, 'bogus')}"`;
        t.match({ code: answer.code, message: answer.body.message }, { code: 400, message }, path);
        spoiled.places++;
      }
      // The status of a new object is the server's.
      const written = type.subresources.includes('status') ? { ...object, status: undefined } : object;
      for (const [struct, place, path] of places(type.kind, written)) {
        for (const [name, { required }] of structOf(struct)) {
          const value = place[name];
          if (!required || value === undefined) continue;
          delete place[name];
          const answer = caller.create(plural, written, namespace);
          place[name] = value;
          t.equal(answer.code, 422, `without ${below(path, name)}`);
          t.match((answer.body.details as { readonly causes: readonly unknown[] }).causes, [{ reason: 'FieldValueRequired', field: below(path, name) }]);
          bare.fields++;
        }
      }
    }
    t.ok(spoiled.places >= 2, `${spoiled.places} places, ${bare.fields} fields`);
  });
}

t.test('every field of the tables is in one of them', async (t) => {
  // Containers to look into a pod come later, see below.
  const not = ['PodSpec.ephemeralContainers', ...rows.flatMap(({ not = [] }) => not)];
  t.strictSame(unused(used, not), []);
  t.ok(used.size > 200, `${used.size} structs`);
});

t.test('a container to look into a pod', async (t) => {
  const caller = new ApiCaller();
  caller.create('pods', {
    metadata: { name: 'p' },
    spec: {
      containers: [{ name: 'c', image: 'busybox:1' }],
      volumes: [
        { name: 'hostpath', hostPath: { path: '/' } },
        { name: 'emptydir', emptyDir: {} },
      ],
    },
  });
  t.match(unused(new Map([['EphemeralContainer', new Set(Object.keys(ephemeralContainer))]]), []), [], 'every field');
  const put = (container: Json) => caller.patch('pods', 'p', { spec: { ephemeralContainers: [container] } }, 'ephemeralcontainers');
  const answer = put(ephemeralContainer);
  t.equal(answer.code, 422, 'each is known, some are not for it');
  const fields = (answer.body.details as { readonly causes: readonly { readonly field: string }[] }).causes.map(({ field }) => field.replace('spec.ephemeralContainers[0].', ''));
  const forbidden = ['ports', 'livenessProbe', 'readinessProbe', 'startupProbe', 'lifecycle', 'resources', 'resizePolicy', 'restartPolicy', 'restartPolicyRules'];
  for (const field of forbidden) t.ok(fields.includes(field), `${field} is forbidden: ${fields.join(', ')}`);
  const taken = JSON.parse(JSON.stringify(ephemeralContainer, (key, value: unknown) => (forbidden.includes(key) || key === 'volumeDevices' ? undefined : value))) as Json;
  taken.volumeMounts = [{ name: 'emptydir', mountPath: '/e' }];
  t.strictSame(missing([taken], (put(taken).body.spec as Json | undefined)?.ephemeralContainers), [], 'the rest is kept');
  t.match(put({ ...taken, bogus: 1 }), { code: 422, body: { message: /unknown field "spec.ephemeralContainers\[0\].bogus"/ } });
});
