// Back-off tables: what holds for any use, and what users may count on in a crash loop.
import fc from 'fast-check';
import t from 'tap';
import { crashLoopKey, decideCrashLoop, newCrashLoopBackoff } from '../../src/domain/backoff/crash-loop-backoff.js';
import { imagePullFailed, imagePullSucceeded, imagePullWait, newImagePullBackoff } from '../../src/domain/backoff/image-pull-backoff.js';
import { advanceBackoff, backoffDelay, collectExpiredBackoff, isInBackoffSinceEvent, newKeyedBackoff, resetBackoff } from '../../src/domain/backoff/keyed-backoff.js';
import type { Container } from '../../src/ports/model/container.js';
import type { Pod } from '../../src/ports/model/pod.js';

const second = 1_000_000;
const container: Container = { name: 'c', image: 'app:1', resources: { requests: { cpu: '1', memory: '1Gi' } } };
const pod: Pod = { metadata: { name: 'p', namespace: 'n', uid: 'u' }, spec: { containers: [container] } };

t.test('properties of the table', async (t) => {
  const uses = fc.array(fc.record({ key: fc.constantFrom('a', 'b'), gap: fc.nat(700), eventAgo: fc.nat(30) }), { maxLength: 40 });
  const limits = fc.record({ initial: fc.integer({ min: 1, max: 20 }), more: fc.nat(300) });
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(uses, limits, (steps, { initial, more }) => {
        const max = initial + more;
        const table = newKeyedBackoff(initial, max);
        let now = 1000;
        const lastUse = new Map<string, number>();
        for (const { key, gap, eventAgo } of steps) {
          now += gap;
          const before = backoffDelay(table, key);
          const eventTime = now - eventAgo;
          const expired = eventTime - (lastUse.get(key) ?? Number.NEGATIVE_INFINITY) > 2 * max;
          const delay = advanceBackoff(table, key, eventTime, now);
          lastUse.set(key, now);
          if (delay < initial || delay > max) return false;
          if (expired ? delay !== initial : delay < before) return false;
          if (!isInBackoffSinceEvent(table, key, now, now) || isInBackoffSinceEvent(table, key, now - delay, now)) return false;
        }
        return collectExpiredBackoff(table, now + 2 * max + 1).length === lastUse.size && table.entries.size === 0;
      }),
      { numRuns: 500 },
    ),
  );
});

t.test('keys are forgotten by reset and by collection alone', async (t) => {
  const table = newKeyedBackoff(10, 20);
  advanceBackoff(table, 'a', 0, 0);
  advanceBackoff(table, 'b', 0, 0);
  t.strictSame(collectExpiredBackoff(table, 40), [], 'exactly twice the maximum is not expired');
  resetBackoff(table, 'a');
  t.equal(backoffDelay(table, 'a'), 0);
  t.strictSame(collectExpiredBackoff(table, 41), ['b']);
});

t.test('a container that crashes at once waits 0, 10, 20, 40, 80, 160, 300, 300 s', async (t) => {
  const table = newCrashLoopBackoff(null);
  let now = 1000 * second;
  const waits: number[] = [];
  for (let crash = 0; crash < 8; crash++) {
    const finishedAt = now;
    let decision = decideCrashLoop(table, pod, container, finishedAt, now);
    if (decision.kind === 'wait') {
      now = decision.retryAt;
      decision = decideCrashLoop(table, pod, container, finishedAt, now);
    }
    t.equal(decision.kind, 'start', 'at the time it was told to come back it starts');
    waits.push((now - finishedAt) / second);
  }
  t.strictSame(waits, [0, 10, 20, 40, 80, 160, 300, 300]);
});

t.test('what a crash loop belongs to', async (t) => {
  const key = crashLoopKey(pod, container);
  const rows: readonly (readonly [string, Pod, Container, boolean])[] = [
    ['the order of resources does not count', pod, { ...container, resources: { requests: { memory: '1Gi', cpu: '1' } } }, true],
    ['neither does the environment', pod, { ...container, env: [{ name: 'A', value: '1' }] }, true],
    ['the image does', pod, { ...container, image: 'app:2' }, false],
    ['the resources do', pod, { ...container, resources: { requests: { cpu: '2', memory: '1Gi' } } }, false],
    ['limits are not requests', pod, { ...container, resources: { limits: { cpu: '1', memory: '1Gi' } } }, false],
    ['the uid does', { ...pod, metadata: { ...pod.metadata, uid: 'v' } }, container, false],
    ['names do not run into each other', { ...pod, metadata: { name: 'p_n', namespace: '', uid: 'u' } }, container, false],
  ];
  for (const [name, otherPod, otherContainer, same] of rows) t.equal(crashLoopKey(otherPod, otherContainer) === key, same, name);
});

t.test('image pulls', async (t) => {
  const backoff = newImagePullBackoff();
  t.equal(imagePullWait(backoff, 'u', 'x', 0), null);
  t.strictSame(imagePullFailed(backoff, 'u', 'x', 'SignatureValidationFailed: no key', 0), {
    reason: 'SignatureValidationFailed',
    message: 'image pull failed for x because the signature validation failed: no key',
  });
  t.equal(
    imagePullWait(backoff, 'u', 'x', 9 * second)?.message,
    'Back-off pulling image "x": SignatureValidationFailed: image pull failed for x because the signature validation failed: no key',
  );
  t.equal(imagePullWait(backoff, 'u', 'x:latest', 9 * second), null, 'another name for the image is another key');
  t.equal(imagePullWait(backoff, 'u', 'x', 10 * second), null);
  imagePullSucceeded(backoff, 10 * second);
  t.equal(backoff.lastProblems.size, 1, 'a success leaves its own key alone');
  imagePullSucceeded(backoff, 601 * second);
  t.equal(backoff.lastProblems.size + backoff.delays.entries.size, 0, 'what has expired goes with its message');
});
