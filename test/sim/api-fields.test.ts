// An agent whose apiserver gives invalid answers: each field of a pod, of its status, of the Node and of other objects is in turn null,
// absent, empty, of another type, or far too long, in the watch, in a list and in the answer of a PATCH. The agent and its containers keep running, and
// with correct answers again the desired state is reached.
import t from 'tap';
import type { Pod } from '../../src/ports/model/pod.js';
import { type ApiResponse, SimCluster } from '../../src/sim/index.js';
import { ApiWorld } from './api-world.js';
import { type Mutation, mutated, mutations, type Path, pathText, placesOf } from './field-mutations.js';
import type { Json } from './full-objects.js';
import { fullPods } from './full-pods.js';
import { minute, ms, podOf, second } from './sim-pods.js';

t.setTimeout(600_000);

/** What the server's answers are changed by, on their way to the node. */
class Garbler {
  private spoil: ((object: Json) => Json) | null = null;

  constructor({ apiserver }: SimCluster) {
    const handle = apiserver.handle.bind(apiserver);
    apiserver.handle = (request, now): ApiResponse => {
      const response = handle(request, now);
      return this.spoil === null || !request.user.name.startsWith('system:node:') ? response : { ...response, body: this.answer(response.body as Json) as ApiResponse['body'] };
    };
    const take = apiserver.watches.take.bind(apiserver.watches);
    apiserver.watches.take = (watch) =>
      take(watch).map((event) => (this.spoil === null || watch.owner === 'onlooker' ? event : { ...event, object: this.object(event.object as Json) as ApiResponse['body'] }));
  }

  /** @param name of the object whose answers are changed; null: of all */
  set(kind: string, name: string | null, path: Path, mutation: Mutation): void {
    this.spoil = (object) => {
      const isMeant = object.kind === kind && (name === null || (object.metadata as Json).name === name);
      return isMeant && hasPlace(object, path) ? (mutated(object, path, mutation) ?? object) : object;
    };
  }

  clear(): void {
    this.spoil = null;
  }

  private answer(body: Json): Json {
    return Array.isArray(body.items) ? { ...body, items: body.items.map((item: Json) => this.object(item)) } : this.object(body);
  }

  private object(object: Json): Json {
    return this.spoil?.(object) ?? object;
  }
}

function hasPlace(value: unknown, path: Path): boolean {
  let place = value;
  for (const key of path) {
    if (typeof place !== 'object' || place === null || !(key in place)) return false;
    place = (place as Record<string | number, unknown>)[key];
  }
  return true;
}

/** What names an object is the server's key for it, not something that it may say otherwise. */
function isSpoiled(path: Path): boolean {
  const [first, second] = path;
  return first !== 'kind' && first !== 'apiVersion' && !(first === 'metadata' && ['name', 'namespace', 'resourceVersion', 'uid'].includes(String(second)));
}

function running(world: ApiWorld, name: string): string[] {
  return world.node
    .containers(world.get(name)?.metadata.uid)
    .filter(({ state }) => state === 'running')
    .map(({ id }) => id);
}

t.test('each field of a pod that runs', async (t) => {
  const cluster = new SimCluster({ seed: 5, apiserver: {}, node: {} });
  const garbler = new Garbler(cluster);
  const world = new ApiWorld(cluster, t);
  world.run(3 * second);
  world.create('other');
  world.create('p', {
    containers: { c: 'run=forever', d: 'run=1s,exit=1' },
    init: { i: 'run=1s' },
    spec: { readinessGates: [{ conditionType: 'example.com/gate' }], tolerations: [{ operator: 'Exists' }] },
  });
  world.untilReady('other');
  world.until('it has ended once', () => (world.status('p').containerStatuses?.find(({ name }) => name === 'd')?.restartCount ?? 0) > 0);
  const before = running(world, 'other');
  const object = world.get('p') as unknown as Json;
  let turns = 0;
  for (const path of placesOf(object)) {
    if (!isSpoiled(path)) continue;
    for (const mutation of mutations) {
      garbler.set('Pod', 'p', path, mutation);
      // A change for the watch, and now and then a list.
      world.patch('p', { metadata: { annotations: { turn: String(turns++) } } });
      if (turns % 7 === 0) cluster.apiserver.watches.cut(({ owner }) => owner !== 'onlooker');
      if (turns % 21 === 0) cluster.apiserver.store.compact();
      try {
        world.run(turns % 7 === 0 ? 2 * second : 50 * ms);
      } catch (error) {
        throw new Error(`${pathText(path)} ${mutation}`, { cause: error });
      }
    }
  }
  garbler.clear();
  t.ok(turns > 300, `${turns} turns`);
  t.strictSame(running(world, 'other'), before, 'another pod was never touched');
  world.patch('p', { metadata: { annotations: { turn: 'last' } } });
  world.run(2 * minute);
  t.ok(world.get('p') !== null, 'it is still there');
  t.equal(running(world, 'p').length > 0, true, 'and runs');
  world.remove('p');
  world.untilGone('p');
});

t.test('each field of pods that come', async (t) => {
  const cluster = new SimCluster({ seed: 6, apiserver: {}, node: {} });
  const garbler = new Garbler(cluster);
  const world = new ApiWorld(cluster, t);
  world.run(3 * second);
  world.create('other');
  world.untilReady('other');
  const before = running(world, 'other');
  let pods = 0;
  for (const raw of fullPods.objects as readonly unknown[] as readonly Pod[]) {
    const { status: _status, ...rest } = JSON.parse(JSON.stringify(raw)) as Json;
    for (const path of placesOf(rest)) {
      if (!isSpoiled(path)) continue;
      // Each place with one of what may be there; the seeds of the next run differ by nothing, so that a failure repeats.
      const mutation = mutations[pods % mutations.length] as Mutation;
      const name = `p${pods++}`;
      garbler.set('Pod', name, path, mutation);
      const { finalizers: _finalizers, ownerReferences: _owners, ...metadata } = rest.metadata as Json;
      const body = { ...rest, metadata: { ...metadata, name, namespace: 'default' }, spec: { ...(rest.spec as Json), nodeName: world.node.name } };
      const { code } = world.ask('create', { body });
      if (code >= 300) continue;
      try {
        world.run(100 * ms);
        garbler.clear();
        world.ask('delete', { name, body: { gracePeriodSeconds: 0 } });
        world.run(20 * ms);
      } catch (error) {
        throw new Error(`${pathText(path)} ${mutation}`, { cause: error });
      }
    }
  }
  t.ok(pods > 300, `${pods} pods`);
  world.run(minute);
  t.strictSame(running(world, 'other'), before, 'another pod was never touched');
  world.create('last');
  world.untilReady('last');
});

t.test('each field of the Node, a service, a secret and a config map', async (t) => {
  const cluster = new SimCluster({ seed: 7, apiserver: {}, node: {} });
  const garbler = new Garbler(cluster);
  const world = new ApiWorld(cluster, t);
  const core = (plural: string) => ({ group: '', version: 'v1', plural });
  const make = (plural: string, body: Json): Json => world.ask('create', { resource: core(plural), body }).body as Json;
  world.run(3 * second);
  const objects: readonly (readonly [string, string | null, Json])[] = [
    ['nodes', null, world.ask('get', { resource: core('nodes'), namespace: null, name: world.node.name }).body as Json],
    ['services', 'default', make('services', { metadata: { name: 's' }, spec: { ports: [{ port: 80, name: 'web' }], selector: { a: 'b' } } })],
    ['secrets', 'default', make('secrets', { metadata: { name: 's' }, data: { k: 'YQ==' } })],
    ['configmaps', 'default', make('configmaps', { metadata: { name: 'c' }, data: { k: 'v' }, binaryData: { b: 'YQ==' } })],
  ];
  const volumes = [
    { name: 's', secret: { secretName: 's' } },
    { name: 'c', configMap: { name: 'c' } },
  ];
  const mounts = [
    { name: 's', mountPath: '/s' },
    { name: 'c', mountPath: '/c' },
  ];
  const pod = podOf('p', { spec: { volumes } });
  const [container] = pod.spec.containers;
  world.createPod(
    { ...pod, spec: { ...pod.spec, containers: [{ ...(container as Pod['spec']['containers'][number]), volumeMounts: mounts, envFrom: [{ secretRef: { name: 's' } }] }] } },
    world.node.name,
  );
  world.untilReady('p');
  const before = running(world, 'p');
  let turns = 0;
  for (const [plural, namespace, object] of objects) {
    const { name } = object.metadata as { readonly name: string };
    for (const path of placesOf(object)) {
      if (!isSpoiled(path)) continue;
      for (const mutation of mutations) {
        garbler.set(String(object.kind), name, path, mutation);
        world.ask('patch', { resource: core(plural), namespace, name, body: { metadata: { annotations: { turn: String(turns++) } } } });
        if (turns % 7 === 0) cluster.apiserver.watches.cut(({ owner }) => owner !== 'onlooker');
        if (turns % 21 === 0) cluster.apiserver.store.compact();
        try {
          world.run(turns % 7 === 0 ? 2 * second : 100 * ms);
        } catch (error) {
          throw new Error(`${plural}: ${pathText(path)} ${mutation}`, { cause: error });
        }
      }
    }
    garbler.clear();
  }
  t.ok(turns > 300, `${turns} turns`);
  world.run(2 * minute);
  t.strictSame(running(world, 'p'), before, 'the pod was never touched');
  world.create('last');
  world.untilReady('last');
});

t.test('a restarted agent that can no longer read the object of a pod leaves what runs of it alone', async (t) => {
  const cluster = new SimCluster({ seed: 8, apiserver: {}, node: {} });
  const garbler = new Garbler(cluster);
  const world = new ApiWorld(cluster, t);
  world.run(3 * second);
  for (const name of ['p', 'other']) world.create(name);
  world.untilReady('p', 'other');
  const uid = world.get('p')?.metadata.uid;
  const before = running(world, 'p');
  garbler.set('Pod', 'p', ['spec', 'containers'], 'wrong type');
  world.node.kill();
  world.node.start();
  world.run(10 * minute);
  t.strictSame(running(world, 'p'), before, 'it runs on');
  t.match(
    world.node.events('p').flatMap(({ record }) => (record.reason === 'FailedValidation' ? [record] : [])),
    [
      {
        involvedObject: { kind: 'Pod', name: 'p', uid },
        message: 'Error decoding Pod default/p from the API, ignoring this version of it: spec.containers: expected a list, found a string',
      },
    ],
    'said once',
  );
  world.remove('other');
  world.untilGone('other');
  garbler.clear();
  world.patch('p', { metadata: { annotations: { turn: 'last' } } });
  world.run(minute);
  t.strictSame(running(world, 'p'), before, 'and is known again');
  world.remove('p');
  world.untilGone('p');
  t.strictSame(running(world, 'p'), []);
});
