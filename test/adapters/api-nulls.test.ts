// Each field of each kind that the agent reads, in a list, a watch and the answer to a PATCH over the wire: null and absent give the same result, another
// type makes that object unusable and names the field, and no answer throws anything but a PortError.
import type { ServerResponse } from 'node:http';
import t from 'tap';
import { readNamed, structOfAnswer } from '../../src/domain/values/api-schema/api-kinds.js';
import { readObject } from '../../src/domain/values/api-schema/read-object.js';
import type { ApiObject, ApiResource } from '../../src/ports/model/api-object.js';
import type { ApiWatchEvent } from '../../src/ports/outbound/apiserver.js';
import { PortError } from '../../src/ports/port-error.js';
import { resourceTypes } from '../../src/sim/apiserver/resource-types.js';
import { mutated, mutations, type Path, pathText, placesOf } from '../sim/field-mutations.js';
import { fullCoreObjects } from '../sim/full-core-objects.js';
import { fullDeviceObjects } from '../sim/full-device-objects.js';
import type { FullObjects, Json } from '../sim/full-objects.js';
import { fullPods } from '../sim/full-pods.js';
import { fullStorageObjects } from '../sim/full-storage-objects.js';
import { ApiPeer, calling } from './api-peer.js';

t.setTimeout(300_000);

const rows: readonly FullObjects[] = [...fullCoreObjects, ...fullStorageObjects, ...fullDeviceObjects, fullPods];

function resourceOf(plural: string): ApiResource {
  const type = resourceTypes.find((type) => type.plural === plural);
  if (type === undefined) throw new Error(`there is no ${plural}`);
  return type;
}

/** The decoded object; a text: the problem and its field. */
function outcome(object: unknown, struct: string): unknown {
  const read = readNamed(object, struct);
  return read.ok ? read.object : read.unusable.problem;
}

/** Below a field that is taken as it comes, nulls are its own. */
const opaque = ['managedFields', 'parameters', 'data', 'networkData'];

function isOpaque(path: Path, struct: string): boolean {
  return !['ConfigMap', 'Secret'].includes(struct) && path.slice(0, -1).some((key) => opaque.includes(String(key)));
}

t.test('what the agent asks for is in the schema, under the name that the mock has for it', async (t) => {
  for (const type of resourceTypes) {
    const struct = structOfAnswer(type, null);
    if (struct !== null) t.equal(struct, type.kind, type.plural);
  }
  t.equal(structOfAnswer({ group: '', plural: 'serviceaccounts' }, 'token'), 'TokenRequest');
  t.equal(structOfAnswer({ group: 'example.com', plural: 'things' }, null), null);
});

let fields = 0;

for (const { plural, objects } of rows) {
  const struct = structOfAnswer(resourceOf(plural), null);
  if (struct === null) continue;
  t.test(`each field of ${plural}`, async (t) => {
    for (const raw of objects) {
      const object = JSON.parse(JSON.stringify(raw)) as Json;
      const read = readObject(object, struct);
      t.strictSame(JSON.parse(JSON.stringify(read)), { ...object, ...onlyIn(read, object) }, 'a whole object keeps everything');
      t.equal(readObject(read, struct), read, 'and is the same object where nothing is missing');
      for (const path of placesOf(object)) checkPlace(t, object, struct, path);
    }
  });
}

/** What is there besides, since it always is. */
function onlyIn(read: Json, object: Json): Json {
  return Object.fromEntries(Object.entries(read).filter(([key]) => !(key in object)));
}

function checkPlace(t: { ok(holds: unknown, what: string): unknown }, object: Json, struct: string, path: Path): void {
  fields++;
  const where = pathText(path);
  const results = new Map<string, unknown>();
  for (const mutation of mutations) {
    const changed = mutated(object, path, mutation);
    if (changed !== null) results.set(mutation, outcome(changed, struct));
  }
  if (isOpaque(path, struct)) return;
  const wrong = results.get('wrong type');
  // The key of a map is there also where its value is null, which is the type's zero, as for Go's decoder.
  const isOfMap = typeof wrong === 'string' && wrong.startsWith(`${pathText(path.slice(0, -1))}[${path.at(-1)}]: `);
  const [given, expected] = [results.get('null'), isOfMap ? null : results.get('absent')];
  if (isOfMap ? typeof given === 'string' : results.has('absent') && !same(given, expected)) t.ok(false, `${where}: null ${text(given)}, absent ${text(expected)}`);
  if (opaque.includes(String(path.at(-1))) && typeof wrong !== 'string') return;
  // Keys of maps are in brackets, like list indices.
  const named = typeof wrong === 'string' ? wrong.slice(0, wrong.indexOf(': ')).replace(/\[([^\]]*)\]/g, '.$1') : null;
  if (named !== path.join('.')) t.ok(false, `${where}: a value of another type is ${text(wrong)}`);
}

function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b) || sorted(a) === sorted(b);
}

function sorted(value: unknown): string {
  return JSON.stringify(value, (_key, member: unknown) =>
    typeof member === 'object' && member !== null && !Array.isArray(member) ? Object.fromEntries(Object.entries(member).sort()) : member,
  );
}

function text(value: unknown): string {
  return (typeof value === 'string' ? value : JSON.stringify(value)).slice(0, 300);
}

t.test('all of them were looked at', async (t) => {
  t.ok(fields > 1500, `${fields} fields`);
});

/** Pods with a null or a value of another type, with the expected result. */
function spoiledPods(): readonly { readonly object: Json; readonly expected: unknown }[] {
  const [first] = fullPods.objects as readonly [Json];
  const pods: { readonly object: Json; readonly expected: unknown }[] = [];
  for (const path of placesOf(JSON.parse(JSON.stringify(first)))) {
    if (path[0] === 'metadata') continue;
    for (const mutation of ['null', 'wrong type'] as const) {
      const changed = mutated(first, path, mutation);
      if (changed === null) continue;
      const object = JSON.parse(
        JSON.stringify({ apiVersion: 'v1', kind: 'Pod', ...changed, metadata: { name: `p${pods.length}`, namespace: 'default', resourceVersion: '6' } }),
      ) as Json;
      pods.push({ object, expected: outcome(object, 'Pod') });
    }
  }
  return pods;
}

const pods = { group: '', version: 'v1', plural: 'pods' };
const all = { resource: pods, namespace: null, fieldSelector: null, labelSelector: null } as const;

t.test('the same over the wire', async (t) => {
  const spoiled = spoiledPods();
  let answers = 0;
  const body = (url: string, method: string): string => {
    if (method === 'PATCH') return JSON.stringify(spoiled[answers++]?.object);
    if (url.includes('watch=true')) return spoiled.map(({ object }) => `${JSON.stringify({ type: 'MODIFIED', object })}\n`).join('');
    const items = spoiled.map(({ object: { apiVersion: _version, kind: _kind, ...item } }) => item);
    return JSON.stringify({ kind: 'PodList', apiVersion: 'v1', metadata: { resourceVersion: '7' }, items });
  };
  const peer = await ApiPeer.open(
    t,
    ({ url, method }, response: ServerResponse) => void response.writeHead(200, { 'content-type': 'application/json' }).end(body(url ?? '', method ?? '')),
  );
  const { reader, writer, delivered } = peer.clients(t, peer.kubeconfig());
  const usable = spoiled.filter(({ expected }) => typeof expected !== 'string');
  const problems = spoiled.flatMap(({ expected }) => (typeof expected === 'string' ? [expected] : []));

  const list = await reader.list({ ...all, resourceVersion: null, limit: null, continueToken: null }, calling(60_000_000));
  t.equal(list.items.length, usable.length);
  t.ok(
    list.items.every((item, i) => same(item, usable[i]?.expected)),
    'items of the list',
  );
  t.strictSame(
    list.unusable.map(({ problem }) => problem),
    problems,
  );

  t.equal(await reader.watch({ ...all, watch: 'w', resourceVersion: '7', timeoutSeconds: 300 }, calling(60_000_000)), null);
  const events = delivered.flatMap(({ events }) => events);
  t.equal(events.length, spoiled.length);
  t.ok(
    events.every((event, i) => same(eventOutcome(event), spoiled[i]?.expected)),
    'events of the watch',
  );

  for (const { object, expected } of spoiled) {
    const { name } = object.metadata as { readonly name: string };
    const call = writer.patch({ resource: pods, namespace: 'default', name, client: 'main', subresource: 'status', patch: 'merge-patch', body: {} }, calling(60_000_000));
    const answer = await call.then(
      (object: ApiObject) => object,
      (error: unknown) => (error instanceof PortError && error.kind === 'data-loss' ? error.message.replace("couldn't decode the answer: ", '') : error),
    );
    if (!same(answer, expected)) t.fail(`${name}: ${text(answer)}, not ${text(expected)}`);
  }
  t.equal(answers, spoiled.length, 'answers to a PATCH');
});

function eventOutcome(event: ApiWatchEvent): unknown {
  if (event.type === 'UNUSABLE') return event.object.problem;
  return event.type === 'BOOKMARK' ? event.type : event.object;
}

t.test('content is in no message', async (t) => {
  const secret = { metadata: { name: 's' }, data: { a: 'not base64: hunter2' }, type: 'Opaque' };
  t.equal(outcome(secret, 'Secret'), 'data[a]: expected base64 text, found another string');
  t.match(outcome({ metadata: { name: 's', labels: { ['x'.repeat(10_000)]: 5 } } }, 'Secret'), /^metadata\.labels\[x{63}\.\.\.\]: expected a string, found a number$/);
  t.throws(() => readObject(7, 'Pod'), { message: 'expected an object, found a number' });
});
