// Properties of a simulated apiserver under any requests: a replayed watch ends at the list's state, joined pages are the list, a copy of
// its state behaves the same, and none of its answers breaks its own rules.
import fc from 'fast-check';
import t from 'tap';
import { canonicalJson } from '../../src/domain/kernel/canonical.js';
import { clonePlain } from '../../src/domain/kernel/plain-clone.js';
import { type ApiRequest, type ApiUser, SimApiserver, type StoredObject, type WatchRecord, wholeList } from '../../src/sim/index.js';

const start = 1_800_000_000_000_000;
const user: ApiUser = { name: 'admin', groups: ['system:masters'] };
const configMaps = { group: '', version: 'v1', plural: 'configmaps' };
const pods = { group: '', version: 'v1', plural: 'pods' };
const names = ['a', 'b', 'c', 'd'];
const labels = ['x', 'y'];

type Step =
  | { readonly do: 'create' | 'delete' | 'force'; readonly name: string; readonly label: string }
  | { readonly do: 'relabel' | 'data' | 'status'; readonly name: string; readonly label: string }
  | { readonly do: 'pass'; readonly seconds: number }
  | { readonly do: 'rewatch' };

const name = fc.constantFrom(...names);
const label = fc.constantFrom(...labels);
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constantFrom('create', 'delete', 'force', 'relabel', 'data', 'status'), name, label }) as fc.Arbitrary<Step>,
  fc.record({ do: fc.constant('pass'), seconds: fc.integer({ min: 1, max: 90 }) }) as fc.Arbitrary<Step>,
  fc.constant<Step>({ do: 'rewatch' }),
);

interface Watcher {
  readonly resource: typeof pods;
  readonly fieldSelector: string | null;
  readonly labelSelector: string | null;
  readonly seen: Map<string, string>;
  watch: WatchRecord;
  version: string;
}

const selections: readonly (readonly [typeof pods, string | null, string | null])[] = [
  [pods, null, null],
  [pods, 'spec.nodeName=n1', null],
  [pods, null, 'app=x'],
  [pods, 'status.phase=Running', 'app in (x,y)'],
  [configMaps, 'metadata.name=a', null],
  [configMaps, null, 'app!=x'],
];

class Run {
  now = start;
  readonly server = new SimApiserver({ historyLimit: 40 }, start);
  readonly watchers: readonly Watcher[];

  constructor() {
    this.watchers = selections.map(([resource, fieldSelector, labelSelector], i) => {
      const listed = this.list(resource, fieldSelector, labelSelector);
      const seen = new Map(listed.items.map((item) => [keyOf(item), canonicalJson(item)]));
      return { resource, fieldSelector, labelSelector, seen, version: listed.version, watch: this.open(i, resource, fieldSelector, labelSelector, listed.version) };
    });
  }

  list(
    resource: typeof pods,
    fieldSelector: string | null,
    labelSelector: string | null,
    limit: number | null = null,
  ): { readonly items: readonly StoredObject[]; readonly version: string } {
    const items: StoredObject[] = [];
    let [continueToken, version] = [null as string | null, ''];
    do {
      const { body } = this.ask({
        verb: 'list',
        resource,
        name: null,
        subresource: null,
        namespace: null,
        options: { ...wholeList, fieldSelector, labelSelector, limit, continueToken },
      });
      const metadata = body.metadata as { resourceVersion: string; continue?: string };
      items.push(...(body.items as unknown as StoredObject[]));
      [continueToken, version] = [metadata.continue ?? null, metadata.resourceVersion];
    } while (continueToken !== null);
    return { items, version };
  }

  take(step: Step): void {
    this.now += 1_000;
    switch (step.do) {
      case 'pass':
        this.now += step.seconds * 1_000_000;
        this.server.advance(this.now);
        return;
      case 'rewatch':
        for (const [i, watcher] of this.watchers.entries()) this.reopen(i, watcher);
        return;
      default:
        for (const resource of [pods, configMaps]) this.write(resource, step);
    }
  }

  /** Puts what the watches heard into what each has seen. */
  hear(): void {
    for (const watcher of this.watchers) {
      for (const { type, object } of this.server.watches.take(watcher.watch)) {
        watcher.version = (object.metadata as { resourceVersion: string }).resourceVersion;
        const key = keyOf(object as unknown as StoredObject);
        if (type === 'DELETED') {
          if (!watcher.seen.delete(key)) throw new Error(`${key} was deleted and never seen`);
        } else if (type === 'ADDED' || type === 'MODIFIED') {
          if (watcher.seen.has(key) !== (type === 'MODIFIED')) throw new Error(`${type} of ${key}, which was ${watcher.seen.has(key) ? '' : 'not '}there`);
          watcher.seen.set(key, canonicalJson(object));
        }
      }
    }
  }

  private reopen(i: number, watcher: Watcher): void {
    this.hear();
    this.server.watches.close(watcher.watch.id);
    try {
      watcher.watch = this.open(i, watcher.resource, watcher.fieldSelector, watcher.labelSelector, watcher.version);
    } catch {
      // Too old: what a client does then.
      const listed = this.list(watcher.resource, watcher.fieldSelector, watcher.labelSelector);
      watcher.seen.clear();
      for (const item of listed.items) watcher.seen.set(keyOf(item), canonicalJson(item));
      watcher.version = listed.version;
      watcher.watch = this.open(i, watcher.resource, watcher.fieldSelector, watcher.labelSelector, listed.version);
    }
  }

  private open(i: number, resource: typeof pods, fieldSelector: string | null, labelSelector: string | null, resourceVersion: string): WatchRecord {
    const target = { resource, namespace: null, name: null, subresource: null };
    const opened = this.server.watch(
      `w${i}`,
      { user, target, fieldSelector, labelSelector, resourceVersion, bookmarks: true, sendInitialEvents: false, timeoutSeconds: null },
      this.now,
    );
    if ('refused' in opened) throw new Error(String(opened.refused.body.message));
    return opened.watch;
  }

  private write(resource: typeof pods, { do: what, name, label }: Extract<Step, { name: string }>): void {
    const target = { resource, namespace: 'default', name, subresource: null };
    const metadata = { name, labels: { app: label } };
    const spec = { nodeName: label === 'x' ? 'n1' : 'n2', containers: [{ name: 'c', image: 'i' }] };
    if (what === 'create') this.ask({ ...target, verb: 'create', name: null, body: resource === pods ? { metadata, spec } : { metadata } });
    else if (what === 'delete') this.ask({ ...target, verb: 'delete' });
    else if (what === 'force') this.ask({ ...target, verb: 'delete', body: { gracePeriodSeconds: 0 } });
    else if (what === 'relabel') this.ask({ ...target, verb: 'patch', patch: 'merge-patch', body: { metadata: { labels: { app: label } } } });
    else if (what === 'data')
      this.ask({ ...target, verb: 'patch', patch: 'merge-patch', body: resource === pods ? { metadata: { annotations: { v: label } } } : { data: { v: label } } });
    else if (resource === pods)
      this.ask({ ...target, subresource: 'status', verb: 'patch', patch: 'strategic-merge-patch', body: { status: { phase: label === 'x' ? 'Running' : 'Pending' } } });
  }

  private ask(request: Omit<ApiRequest, 'user'>) {
    const answer = this.server.handle({ user, ...request }, this.now);
    if (answer.code >= 500) throw new Error(`${answer.code}: ${String(answer.body.message)}`);
    return answer;
  }
}

function keyOf({ metadata }: Pick<StoredObject, 'metadata'>): string {
  return `${metadata.namespace ?? ''}/${metadata.name ?? ''}`;
}

t.test('what watches tell is what lists show', async (t) => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const run = new Run();
      for (const one of steps) {
        run.take(one);
        run.hear();
      }
      for (const { resource, fieldSelector, labelSelector, seen } of run.watchers) {
        const listed = new Map(run.list(resource, fieldSelector, labelSelector).items.map((item) => [keyOf(item), canonicalJson(item)]));
        if (canonicalJson([...seen].sort()) !== canonicalJson([...listed].sort()))
          throw new Error(`${resource.plural} ${fieldSelector} ${labelSelector}: seen ${[...seen.keys()].join()}, listed ${[...listed.keys()].join()}`);
        const paged = run.list(resource, fieldSelector, labelSelector, 2).items.map(keyOf);
        if (canonicalJson(paged) !== canonicalJson([...listed.keys()])) throw new Error(`pages ${paged.join()}, whole ${[...listed.keys()].join()}`);
      }
    }),
    { numRuns: 150 },
  );
  t.pass('150 runs');
});

t.test('a copy of the state goes on as the original does', async (t) => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 20 }), fc.array(step, { maxLength: 20 }), (before, after) => {
      const run = new Run();
      for (const one of before) run.take(one);
      const copy = new SimApiserver({ historyLimit: 40 }, run.now, clonePlain(run.server.state));
      const other: Run = Object.assign(Object.create(Run.prototype) as Run, { now: run.now, server: copy, watchers: [] });
      for (const one of after) {
        if (one.do === 'rewatch') continue;
        run.take(one);
        other.take(one);
      }
      if (canonicalJson(run.server.state.store) !== canonicalJson(copy.state.store)) throw new Error('they went different ways');
    }),
    { numRuns: 40 },
  );
  t.pass('40 runs');
});
