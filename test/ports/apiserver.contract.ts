// The contract of apiservers: the simulated one, and the real client against a server over HTTP. The user may do everything.
import type { Test } from 'tap';
import type { ApiObject, ApiResource } from '../../src/ports/model/api-object.js';
import type { Call, PortOf } from '../../src/ports/operation.js';
import type { ApiList, ApiReaderOperations, ApiWatchEvent, ApiWriterOperations } from '../../src/ports/outbound/apiserver.js';
import { PortError } from '../../src/ports/port-error.js';

export interface ApiserverUnderTest {
  readonly reader: PortOf<ApiReaderOperations>;
  readonly writer: PortOf<ApiWriterOperations>;
  /** The events of the watch of that name so far. */
  seen(watch: string): readonly ApiWatchEvent[];
  until(holds: () => boolean): Promise<void>;
  /** Breaks every watch. */
  cutWatches(): void;
  /** The server forgets every version but the newest. */
  compact(): void;
}

const configMaps: ApiResource = { group: '', version: 'v1', plural: 'configmaps' };
const pods: ApiResource = { group: '', version: 'v1', plural: 'pods' };
const leases: ApiResource = { group: 'coordination.k8s.io', version: 'v1', plural: 'leases' };
const namespace = 'default';
const main = 'main' as const;

function callOf(aborted?: AbortController): Call {
  const signal = aborted?.signal ?? { aborted: false, reason: undefined, addEventListener() {}, removeEventListener() {} };
  return { signal, timeoutMicros: null };
}
const call = callOf();

async function kindOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
    return 'done';
  } catch (error) {
    if (error instanceof PortError) return error.kind;
    throw error;
  }
}

function configMap(name: string, data: Readonly<Record<string, string>> = {}, labels: Readonly<Record<string, string>> = {}): ApiObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, labels }, ...({ data } as object) };
}

function podOf(name: string, nodeName: string): ApiObject {
  const spec = { nodeName, containers: [{ name: 'c', image: 'busybox:1' }] };
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name }, ...({ spec } as object) };
}

const member = (object: ApiObject, name: string): unknown => (object as unknown as Record<string, unknown>)[name];
const selectAll = { namespace, fieldSelector: null, labelSelector: null };
const newest = { resourceVersion: null, limit: null, continueToken: null };

export async function apiserverContract(t: Test, host: ApiserverUnderTest): Promise<void> {
  await t.test('objects', (t) => objects(t, host));
  await t.test('patches', (t) => patches(t, host));
  await t.test('refusals', (t) => refusals(t, host));
  await t.test('deletions', (t) => deletions(t, host));
  await t.test('lists in pages', (t) => pages(t, host));
  await t.test('watches', (t) => watches(t, host));
}

async function objects(t: Test, { reader, writer }: ApiserverUnderTest): Promise<void> {
  const create = (object: ApiObject, resource = configMaps) => writer.create({ resource, namespace, name: null, subresource: null, client: main, object }, call);
  const made = await create(configMap('a', { k: '1' }));
  t.match(made, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', namespace, uid: /^[0-9a-f-]{36}$/, resourceVersion: /^\d+$/, creationTimestamp: /Z$/ } });
  t.equal(await kindOf(create(configMap('a'))), 'already-exists');
  t.strictSame(await reader.get({ resource: configMaps, namespace, name: 'a', client: main, resourceVersion: null }, call), made, 'what is read is what was written');
  const changed = { ...made, data: { k: '2' } } as ApiObject;
  const updated = await writer.update({ resource: configMaps, namespace, name: 'a', subresource: null, client: main, object: changed }, call);
  t.strictSame(member(updated, 'data'), { k: '2' });
  t.not(updated.metadata.resourceVersion, made.metadata.resourceVersion);
  t.equal(await kindOf(writer.update({ resource: configMaps, namespace, name: 'a', subresource: null, client: main, object: changed }, call)), 'aborted', 'of an old version');
  const same = await writer.update({ resource: configMaps, namespace, name: 'a', subresource: null, client: main, object: updated }, call);
  t.equal(same.metadata.resourceVersion, updated.metadata.resourceVersion, 'a write that changes nothing is none');
  const generated = await create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { generateName: 'gen-' } as ApiObject['metadata'] });
  t.match(generated.metadata.name, /^gen-[a-z0-9]{5}$/);
  const lease = {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name: 'n' },
    spec: { holderIdentity: 'n', renewTime: '2026-01-01T00:00:00.123456Z' },
  } as ApiObject;
  t.match(await create(lease, leases), { spec: { renewTime: '2026-01-01T00:00:00.123456Z' } });
}

async function patches(t: Test, { writer }: ApiserverUnderTest): Promise<void> {
  const patch = (name: string, kind: 'json-patch' | 'merge-patch' | 'strategic-merge-patch', body: unknown, resource = configMaps, subresource: string | null = null) =>
    writer.patch({ resource, namespace, name, subresource, client: main, patch: kind, body }, call);
  await writer.create({ resource: configMaps, namespace, name: null, subresource: null, client: main, object: configMap('p', { a: '1', b: '2' }) }, call);
  t.match(await patch('p', 'merge-patch', { data: { a: null, c: '3' } }), { data: { b: '2', c: '3' } });
  t.strictSame(member(await patch('p', 'json-patch', [{ op: 'replace', path: '/data/b', value: '5' }]), 'data'), { b: '5', c: '3' });
  await writer.create({ resource: pods, namespace, name: null, subresource: null, client: main, object: podOf('patched', 'elsewhere') }, call);
  const condition = (type: string, status: string) => ({ type, status });
  await patch('patched', 'strategic-merge-patch', { status: { conditions: [condition('A', 'True'), condition('B', 'True')] } }, pods, 'status');
  const merged = await patch(
    'patched',
    'strategic-merge-patch',
    { status: { phase: 'Running', conditions: [condition('B', 'False'), { $patch: 'delete', type: 'A' }] } },
    pods,
    'status',
  );
  t.match(member(merged, 'status'), { phase: 'Running', conditions: [{ type: 'B', status: 'False' }] });
  t.equal((member(merged, 'status') as { conditions: unknown[] }).conditions.length, 1, 'conditions merge by type');
  const ofSpec = await patch('patched', 'strategic-merge-patch', { status: { phase: 'Failed' }, metadata: { labels: { a: 'b' } } }, pods);
  t.match(ofSpec, { metadata: { labels: { a: 'b' } }, status: { phase: 'Running' } }, 'the status is left alone by who writes the object');
  t.equal(await kindOf(patch('none', 'merge-patch', { data: {} })), 'not-found');
}

async function refusals(t: Test, { reader, writer }: ApiserverUnderTest): Promise<void> {
  const create = (object: unknown, resource = configMaps) => writer.create({ resource, namespace, name: null, subresource: null, client: main, object: object as ApiObject }, call);
  t.equal(await kindOf(reader.get({ resource: configMaps, namespace, name: 'none', client: main, resourceVersion: null }, call)), 'not-found');
  t.equal(await kindOf(create({ ...configMap('x'), bogus: 1 })), 'invalid-argument', 'an unknown field');
  t.equal(await kindOf(create({ ...configMap('x'), data: { a: 1 } })), 'invalid-argument', 'a wrong type');
  t.equal(await kindOf(create(configMap('Not_A_Name'))), 'invalid-argument');
  t.equal(await kindOf(create({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'empty' }, spec: { containers: [] } }, pods)), 'invalid-argument', 'a pod without containers');
  t.equal(await kindOf(reader.list({ resource: { ...configMaps, plural: 'nothings' }, ...selectAll, ...newest }, call)), 'not-found', 'no such collection');
  t.equal(await kindOf(reader.list({ resource: pods, ...selectAll, ...newest, fieldSelector: 'spec.hostname=a' }, call)), 'invalid-argument', 'a field that is not selectable');
  t.equal(await kindOf(writer.create({ resource: configMaps, namespace: 'nowhere', name: null, subresource: null, client: main, object: configMap('x') }, call)), 'not-found');
}

async function deletions(t: Test, { reader, writer }: ApiserverUnderTest): Promise<void> {
  const remove = (name: string, uid: string | null, grace: number | null, resource = configMaps) =>
    writer.delete({ resource, namespace, name, client: main, uid, gracePeriodSeconds: grace }, call);
  const get = (name: string, resource = configMaps) => reader.get({ resource, namespace, name, client: main, resourceVersion: null }, call);
  await writer.create({ resource: configMaps, namespace, name: null, subresource: null, client: main, object: configMap('d') }, call);
  t.equal(await kindOf(remove('d', 'another', null)), 'aborted', 'another uid than meant');
  t.equal(await remove('d', null, null), null);
  t.equal(await kindOf(get('d')), 'not-found');
  t.equal(await kindOf(remove('d', null, null)), 'not-found');
  const pod = await writer.create({ resource: pods, namespace, name: null, subresource: null, client: main, object: podOf('graceful', 'elsewhere') }, call);
  t.match(member(pod, 'spec'), { terminationGracePeriodSeconds: 30, restartPolicy: 'Always', dnsPolicy: 'ClusterFirst' }, 'defaults');
  await remove('graceful', null, 20, pods);
  t.match(await get('graceful', pods), { metadata: { deletionGracePeriodSeconds: 20, deletionTimestamp: /Z$/ } }, 'a pod on a node waits for its kubelet');
  await remove('graceful', null, 25, pods);
  t.equal((await get('graceful', pods)).metadata.deletionGracePeriodSeconds, 20, 'grace never grows');
  await remove('graceful', null, 10, pods);
  t.equal((await get('graceful', pods)).metadata.deletionGracePeriodSeconds, 10, 'but shrinks');
  await remove('graceful', pod.metadata.uid ?? '', 0, pods);
  t.equal(await kindOf(get('graceful', pods)), 'not-found');
}

async function pages(t: Test, { reader, writer, compact }: ApiserverUnderTest): Promise<void> {
  for (let i = 0; i < 7; i++) {
    const object = configMap(`page-${i}`, {}, { of: i % 2 === 0 ? 'even' : 'odd', pages: 'yes' });
    await writer.create({ resource: configMaps, namespace, name: null, subresource: null, client: main, object }, call);
  }
  const list = (more: object) => reader.list({ resource: configMaps, ...selectAll, ...newest, labelSelector: 'pages=yes', ...more }, call);
  const names = ({ items }: ApiList) => items.map(({ metadata }) => metadata.name.slice(5)).join('');
  const first = await list({ limit: 3 });
  t.equal(names(first), '012');
  t.match(first.items[0], { apiVersion: 'v1', kind: 'ConfigMap' }, 'items say what they are');
  await writer.delete({ resource: configMaps, namespace, name: 'page-4', client: main, uid: null, gracePeriodSeconds: null }, call);
  const second = await list({ limit: 3, continueToken: first.continueToken });
  t.equal(names(second), '345', 'the list is of one moment');
  t.equal(second.resourceVersion, first.resourceVersion);
  compact();
  t.equal(await kindOf(list({ limit: 3, continueToken: second.continueToken })), 'out-of-range', 'a page of a forgotten version');
  t.equal(names(await list({})), '012356');
  t.equal(names(await list({ labelSelector: 'pages,of in (odd)' })), '135');
  t.equal(names(await list({ fieldSelector: 'metadata.name=page-2' })), '2');
}

async function watches(t: Test, host: ApiserverUnderTest): Promise<void> {
  const { reader, writer, seen, until, cutWatches, compact } = host;
  const resource = pods;
  const start = await reader.list({ resource, ...selectAll, ...newest, fieldSelector: 'spec.nodeName=n1' }, call);
  const watch = (name: string, more: object = {}, watchCall: Call = call) =>
    reader.watch(
      { watch: name, resource, namespace: null, fieldSelector: 'spec.nodeName=n1', labelSelector: null, resourceVersion: start.resourceVersion, timeoutSeconds: 300, ...more },
      watchCall,
    );
  const create = (name: string, node: string) => writer.create({ resource, namespace, name: null, subresource: null, client: main, object: podOf(name, node) }, call);
  const remove = (name: string, grace: number | null) => writer.delete({ resource, namespace, name, client: main, uid: null, gracePeriodSeconds: grace }, call);
  const text = (events: readonly ApiWatchEvent[]) =>
    events.flatMap((event) => (event.type === 'BOOKMARK' ? [] : [`${event.type} ${event.type === 'UNUSABLE' ? event.object.problem : event.object.metadata.name}`]));
  let ended = '';
  const first = kindOf(watch('w1')).then((kind) => {
    ended = kind;
  });
  await create('w-a', 'n1');
  await create('w-b', 'n2');
  await remove('w-a', null);
  await until(() => text(seen('w1')).length === 2);
  t.strictSame(text(seen('w1')), ['ADDED w-a', 'MODIFIED w-a'], 'the pods of one node, a graceful deletion is a change');
  await remove('w-a', 0);
  const whole = ['ADDED w-a', 'MODIFIED w-a', 'MODIFIED w-a', 'DELETED w-a'];
  await until(() => text(seen('w1')).length === whole.length);
  t.strictSame(text(seen('w1')), whole, 'a deletion without grace is written down before it is done');
  t.equal(ended, '', 'still open');
  cutWatches();
  await first;
  t.equal(ended, 'done', 'a broken watch has ended, and that is no error');
  const again = kindOf(watch('w2'));
  await until(() => text(seen('w2')).length === whole.length);
  t.strictSame(text(seen('w2')), whole, 'from the same version the same again');
  const [, marked] = seen('w2');
  t.match(marked, { object: { apiVersion: 'v1', kind: 'Pod', metadata: { deletionTimestamp: /Z$/ } } });
  cutWatches();
  await again;
  const giveUp = new AbortController();
  const cancelled = kindOf(watch('w3', {}, callOf(giveUp)));
  await until(() => seen('w3').length > 0);
  giveUp.abort();
  t.ok(['cancelled', 'done'].includes(await cancelled), 'ended, whatever the word for it');
  compact();
  t.equal(await kindOf(watch('w4')), 'out-of-range', 'from a forgotten version');
  const short = await kindOf(watch('w5', { resourceVersion: (await reader.list({ resource, ...selectAll, ...newest }, call)).resourceVersion, timeoutSeconds: 1 }));
  t.equal(short, 'done', 'the server ends a watch in its time');
}
