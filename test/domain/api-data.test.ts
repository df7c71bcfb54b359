// The rules by which secrets, config maps and tokens are kept, one by one.

import t from 'tap';
import {
  isShown,
  lookUpObject,
  newObjectManager,
  type ObjectManager,
  type ObjectReading,
  objectFetched,
  objectKeyOf,
  podsOf,
  registerPod,
  releaseIdle,
  unregisterPod,
} from '../../src/domain/api-data/object-manager.js';
import {
  forgetTokens,
  lookUpToken,
  maxTokens,
  newTokenCache,
  nextTokenRefresh,
  type TokenAsking,
  type TokenCache,
  tokenAnswered,
  tokenKey,
  tokenRequestBody,
} from '../../src/domain/api-data/token-cache.js';
import { instantOf } from '../../src/domain/values/instant.js';
import { formatRfc3339, microsPerSecond } from '../../src/domain/values/time.js';
import type { ApiObject } from '../../src/ports/model/api-object.js';
import type { Pod } from '../../src/ports/model/pod.js';
import { failure, ok } from './machine-run.js';

const second = microsPerSecond;
const minute = 60 * second;
const start = 1_800_000_000_000_000;

class Reading implements ObjectReading {
  now = start;
  ttl = minute;
  readonly copies = new Map<string, { synced: boolean; object: ApiObject | null; problem: string | null }>();
  readonly asked: string[] = [];

  watched(key: string) {
    return this.copies.get(key) ?? null;
  }
  watch(key: string) {
    this.asked.push(`watch ${key}`);
    this.copies.set(key, { synced: false, object: null, problem: null });
  }
  unwatch(key: string) {
    this.asked.push(`unwatch ${key}`);
    this.copies.delete(key);
  }
  fetch(key: string, _resource: unknown, _namespace: string, _name: string, resourceVersion: string | null) {
    this.asked.push(`get ${key} ${resourceVersion ?? 'newest'}`);
  }
}

const podUsing = (...secrets: readonly string[]): Pod => ({
  metadata: { name: 'p', namespace: 'n' },
  spec: { containers: [{ name: 'c', envFrom: secrets.map((name) => ({ secretRef: { name } })) }] },
});
const mounting = (secretName: string): Pod => ({
  metadata: { name: 'p', namespace: 'n' },
  spec: { containers: [{ name: 'c' }], volumes: [{ name: 'v', secret: { secretName } }] },
});
const key = objectKeyOf('secret', 'n', 's');
const secret = (version: string, more: object = {}): ApiObject => ({ metadata: { name: 's', namespace: 'n', uid: 'u', resourceVersion: version }, ...more });
const look = (manager: ObjectManager, reading: Reading, since = reading.now) => lookUpObject(manager, 'secret', 'n', 's', since, reading);

t.test('who refers to what', async (t) => {
  const reading = new Reading();
  const manager = newObjectManager('Watch', minute);
  t.strictSame(look(manager, reading), { kind: 'failed', message: 'object "n"/"s" not registered' });
  registerPod(manager, 'a', podUsing('s', 's', ''), reading);
  registerPod(manager, 'b', podUsing('s', 'other'), reading);
  t.strictSame(reading.asked, ['watch secrets:n/s', 'watch secrets:n/other'], 'one watch an object');
  t.strictSame(podsOf(manager, key), ['a', 'b']);
  registerPod(manager, 'b', podUsing('other'), reading);
  t.strictSame(podsOf(manager, key), ['a'], 'what a pod no longer names is not its own any more');
  unregisterPod(manager, 'a', reading);
  t.equal(reading.asked.at(-1), 'unwatch secrets:n/s');
  unregisterPod(manager, 'a', reading);
  unregisterPod(manager, 'b', reading);
  t.strictSame([manager.objects.size, manager.registered.size], [0, 0], 'nothing is left');
});

t.test('Watch', async (t) => {
  const reading = new Reading();
  const manager = newObjectManager('Watch', minute);
  registerPod(manager, 'a', podUsing('s'), reading);
  const since = reading.now;
  t.strictSame(look(manager, reading, since), { kind: 'pending', until: since + second });
  reading.now += second;
  t.strictSame(look(manager, reading, since), { kind: 'failed', message: 'failed to sync secret cache: timed out waiting for the condition' });
  reading.copies.set(key, { synced: true, object: null, problem: null });
  t.equal(isShown(manager, key), false, 'nobody was told anything of it');
  t.strictSame(look(manager, reading), { kind: 'absent', message: 'secret "s" not found' });
  t.equal(isShown(manager, key), true, 'its absence is something to show, too');
  reading.copies.set(key, { synced: true, object: secret('1'), problem: null });
  t.match(look(manager, reading), { kind: 'found', object: secret('1') });
  t.equal(releaseIdle(manager, reading), reading.now + 5 * minute, 'it is looked at again when it may be idle');
  reading.now += 5 * minute;
  t.equal(releaseIdle(manager, reading), null);
  t.equal(reading.watched(key), null, 'nobody asked: it is let go of');
  look(manager, reading);
  t.not(reading.watched(key), null, 'and taken up again when somebody does');
  registerPod(manager, 'm', mounting('s'), reading);
  reading.copies.set(key, { synced: true, object: secret('2'), problem: null });
  reading.now += 60 * minute;
  releaseIdle(manager, reading);
  t.not(reading.watched(key), null, 'not while a volume shows it');
  reading.copies.set(key, { synced: true, object: secret('3', { immutable: true }), problem: null });
  t.match(look(manager, reading), { object: { immutable: true } });
  t.equal(reading.watched(key), null, 'what can’t change is not watched');
  t.match(look(manager, reading), { kind: 'found', object: { metadata: { resourceVersion: '3' } } }, 'and is there all the same');
});

t.test('Cache and Get', async (t) => {
  const rows: readonly [string, 'Cache' | 'Get', number, 'kept' | 'asked'][] = [
    ['Cache: what is young is good', 'Cache', 59 * second, 'kept'],
    ['Cache: what is old is asked for', 'Cache', 61 * second, 'asked'],
    ['Get: everything is asked for', 'Get', second, 'asked'],
  ];
  for (const [sentence, strategy, age, expected] of rows) {
    const reading = new Reading();
    const manager = newObjectManager(strategy, minute);
    registerPod(manager, 'a', podUsing('s'), reading);
    t.strictSame(look(manager, reading), { kind: 'pending', until: null });
    look(manager, reading);
    t.strictSame(reading.asked, [`get ${key} newest`], `${sentence}: one request at a time, for the newest`);
    objectFetched(manager, key, ok(secret('5')) as never);
    t.match(look(manager, reading), { kind: 'found' }, 'who waited for it is given it');
    reading.now += age;
    t.equal(look(manager, reading).kind, expected === 'kept' ? 'found' : 'pending', sentence);
  }
});

t.test('Cache: what an answer leads to', async (t) => {
  const begin = () => {
    const reading = new Reading();
    const manager = newObjectManager('Cache', minute);
    registerPod(manager, 'a', podUsing('s'), reading);
    look(manager, reading);
    objectFetched(manager, key, ok(secret('5')) as never);
    reading.now += 2 * minute;
    look(manager, reading);
    return { reading, manager };
  };
  const rows: readonly [string, unknown, unknown][] = [
    ['an older version is not believed', ok(secret('4')), { kind: 'found', object: { metadata: { resourceVersion: '5' } } }],
    ['a newer one is', ok(secret('6')), { kind: 'found', object: { metadata: { resourceVersion: '6' } } }],
    ['a failure leaves what is known', failure('unavailable', 'away'), { kind: 'found', object: { metadata: { resourceVersion: '5' } } }],
    ['one that is gone is gone', failure('not-found'), { kind: 'absent', message: 'secrets "s" not found' }],
  ];
  for (const [sentence, outcome, expected] of rows) {
    const { reading, manager } = begin();
    t.equal(reading.asked.at(-1), `get ${key} 0`, 'a server may answer from its cache');
    objectFetched(manager, key, outcome as never);
    t.match(look(manager, reading), expected, sentence);
  }
  const { reading, manager } = begin();
  objectFetched(manager, key, failure('unavailable', 'away') as never);
  reading.now += 1;
  t.equal(look(manager, reading).kind, 'pending', 'after a failure it is asked for at the next look');
  registerPod(manager, 'b', podUsing('s'), reading);
  t.equal(manager.objects.get(key)?.fetched, null, 'a pod that comes is given nothing old');
});

const request = { namespace: 'n', serviceAccountName: 'sa', audiences: null, expirationSeconds: 3600, podName: 'p', podUid: 'u' };

class Asking implements TokenAsking {
  now = start;
  /** How far the wall clock is ahead of the other one. */
  ahead = 0;
  get clocks() {
    return { now: this.now, wall: instantOf(this.now + this.ahead) };
  }
  asked = 0;
  drawn = 0;
  random() {
    return this.drawn;
  }
  ask() {
    this.asked++;
  }
}

/** A token of so many seconds, issued now. */
function issue(cache: TokenCache, asking: Asking, seconds: number | null, lifetime = seconds ?? 3600): void {
  lookUpToken(cache, request, asking.now, asking);
  const spec = seconds === null ? {} : { expirationSeconds: seconds };
  const response = { spec, status: { token: `t${asking.asked}`, expirationTimestamp: formatRfc3339(instantOf(asking.now + lifetime * second)) } };
  tokenAnswered(cache, tokenKey(request), ok(response) as never, asking);
}

t.test('when a token is replaced', async (t) => {
  const hour = 3600 * second;
  const rows: readonly [string, number | null, number, number | null][] = [
    ['at four fifths of its life', 3600, 0, 2880 * second],
    ['up to nine seconds earlier', 3600, 0.99, 2871 * second],
    ['after a day at the latest', 365 * 24 * 3600, 0, 24 * hour],
    ['never where the server tells no lifetime', null, 0, null],
  ];
  for (const [sentence, seconds, drawn, expected] of rows) {
    const cache = newTokenCache();
    const asking = new Asking();
    asking.drawn = drawn;
    issue(cache, asking, seconds);
    const at = nextTokenRefresh(cache, 'u');
    t.equal(at === null ? null : at - 1 - start, expected, sentence);
    asking.now = at === null ? start + 100 * hour : at - 1;
    t.match(lookUpToken(cache, request, asking.now, asking), { kind: 'found', token: 't1' });
    if (at === null) continue;
    asking.now = at;
    t.match(lookUpToken(cache, request, asking.now, asking), { kind: 'pending' });
  }
});

t.test('what a failed request leads to', async (t) => {
  const cache = newTokenCache();
  const asking = new Asking();
  t.equal(lookUpToken(cache, request, start, asking).kind, 'pending');
  lookUpToken(cache, request, start, asking);
  t.equal(asking.asked, 1, 'one request at a time');
  t.equal(tokenAnswered(cache, tokenKey(request), failure('unavailable', 'away') as never, asking), 'u');
  t.strictSame(lookUpToken(cache, request, start, asking), { kind: 'failed', message: 'failed to fetch token: away' });
  asking.now += second;
  t.equal(lookUpToken(cache, request, asking.now, asking).kind, 'pending', 'the next looker asks again');
  tokenAnswered(
    cache,
    tokenKey(request),
    ok({ spec: { expirationSeconds: 600 }, status: { token: 'x', expirationTimestamp: formatRfc3339(instantOf(start + 600 * second)) } }) as never,
    asking,
  );
  asking.now = start + 500 * second;
  const since = asking.now;
  lookUpToken(cache, request, since, asking);
  tokenAnswered(cache, tokenKey(request), failure('unavailable', 'away') as never, asking);
  t.strictSame(lookUpToken(cache, request, since, asking), { kind: 'found', token: 'x', expirationTimestamp: '2027-01-15T08:10:00Z' }, 'a token that lives is served');
  asking.now = start + 601 * second;
  lookUpToken(cache, request, asking.now, asking);
  tokenAnswered(cache, tokenKey(request), failure('unavailable', 'away') as never, asking);
  t.match(lookUpToken(cache, request, asking.now, asking), { kind: 'failed', message: /^token .* expired and refresh failed: away$/ });
  tokenAnswered(cache, tokenKey(request), ok({}) as never, asking);
  t.equal(cache.tokens.size, 1);
});

t.test('a server whose clock is not ours: a token lives from when it was asked for', async (t) => {
  for (const ahead of [-7 * 24 * 3600, -700, -60, 0, 60, 700, 7 * 24 * 3600]) {
    const cache = newTokenCache();
    const asking = new Asking();
    issue(cache, asking, 600, 600 + ahead);
    const at = (seconds: number) => {
      asking.now = start + seconds * second;
      return lookUpToken(cache, request, asking.now, asking);
    };
    t.match(at(1), { kind: 'found', expirationTimestamp: formatRfc3339(instantOf(start + (600 + ahead) * second)) }, `a server ${ahead} s ahead: what it said is told`);
    t.match(at(400), { kind: 'found' }, `a server ${ahead} s ahead: it is kept`);
    t.equal(asking.asked, 1);
    t.match(at(482), { kind: 'pending' }, `a server ${ahead} s ahead: it is replaced in time`);
  }
});

t.test('what is kept, and what is asked', async (t) => {
  const cache = newTokenCache();
  const asking = new Asking();
  for (let i = 0; i < maxTokens + 10; i++) lookUpToken(cache, { ...request, podUid: `u${i}` }, start, asking);
  t.equal(cache.tokens.size, maxTokens);
  forgetTokens(cache, 'u50');
  t.equal(cache.tokens.size, maxTokens - 1);
  t.match(tokenRequestBody({ ...request, audiences: ['vault'] }), {
    kind: 'TokenRequest',
    spec: { audiences: ['vault'], expirationSeconds: 3600, boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'u' } },
  });
  t.not(tokenKey(request), tokenKey({ ...request, audiences: ['vault'] }));
});
