// When two versions of a pod are one to the kubelet, and what a stored one takes over.
import t from 'tap';
import { differenceOf, isEqualJson, withAnnotations, withContentOf, withStatusOf } from '../../src/domain/pod-sources/pod-difference.js';
import type { Pod } from '../../src/ports/model/pod.js';

t.test('equal JSON', async (t) => {
  const rows: readonly (readonly [sentence: string, a: unknown, b: unknown, equal: boolean])[] = [
    ['the same text', 'a', 'a', true],
    ['another text', 'a', 'b', false],
    ['a text is no number', '1', 1, false],
    ['nothing at all', undefined, null, true],
    ['an empty list is nothing', [], null, true],
    ['at the top an empty object is, too', {}, undefined, true],
    ['and like an empty list', {}, [], true],
    ['below it says something', { a: {} }, {}, false],
    ['below it says something, the other way', { b: 1 }, { b: 1, a: {} }, false],
    ['an empty list says nothing below either', { b: 1 }, { b: 1, a: [] }, true],
    ['nor the other way', { b: 1, a: [] }, { b: 1 }, true],
    ['null is absent', { b: 1, a: null }, { b: 1 }, true],
    ['and absent null', { b: 1 }, { b: 1, a: null }, true],
    ['a member that only one has', { b: 1, a: 1 }, { b: 1 }, false],
    ['a member that only the other has', { b: 1 }, { b: 1, a: 1 }, false],
    ['false is not nothing', { b: 1 }, { b: 1, a: false }, false],
    ['zero is not nothing', { b: 1, a: 0 }, { b: 1 }, false],
    ['the order of keys', { a: 1, b: 2 }, { b: 2, a: 1 }, true],
    ['lists', [1, 2], [1, 2], true],
    ['the order of a list counts', [1, 2], [2, 1], false],
    ['a longer list', [1, 2], [1, 2, 3], false],
    ['one of its members differs', [1, 3], [1, 2], false],
    ['a list is no object', [1], { 0: 1 }, false],
    ['an object is no list', { 0: 1 }, [1], false],
    ['in a list an empty object is something', [{}], [[]], false],
    ['in a list, deep down', [{ a: { b: [1] } }], [{ a: { b: [1] } }], true],
    ['deep down differs', [{ a: { b: [1] } }], [{ a: { b: [2] } }], false],
    ['an object in place of a text', { a: 'x' }, { a: { x: 1 } }, false],
  ];
  for (const [sentence, a, b, equal] of rows) t.equal(isEqualJson(a, b), equal, sentence);
});

const stored: Pod = {
  metadata: { name: 'a', uid: 'u', labels: { a: 'b' }, annotations: { x: 'y', 'kubernetes.io/config.source': 'file' }, generation: 1, resourceVersion: '1' },
  spec: { containers: [{ name: 'c', image: 'i' }] },
  status: { phase: 'Pending' },
};
const meta = (more: Partial<Pod['metadata']>): Pod => ({ ...stored, metadata: { ...stored.metadata, ...more } });

t.test('what counts as a difference', async (t) => {
  const { labels: _labels, ...unlabelled } = stored.metadata;
  const rows: readonly (readonly [sentence: string, incoming: Pod, difference: string])[] = [
    ['a copy', structuredClone(stored), 'none'],
    ['another version', meta({ resourceVersion: '2' }), 'none'],
    ["the kubelet's own annotations", meta({ annotations: { x: 'y', 'kubernetes.io/config.source': 'api', 'kubernetes.io/config.seen': 'now' } }), 'none'],
    ['without them', meta({ annotations: { x: 'y' } }), 'none'],
    ['another annotation', meta({ annotations: { x: 'z', 'kubernetes.io/config.source': 'file' } }), 'semantic'],
    ['one more', meta({ annotations: { x: 'y', w: 'v' } }), 'semantic'],
    ['one less', meta({ annotations: {} }), 'semantic'],
    ['a label', meta({ labels: { a: 'c' } }), 'semantic'],
    ['no labels', { ...stored, metadata: unlabelled }, 'semantic'],
    ['a deletion', meta({ deletionTimestamp: '2026-01-01T00:00:00Z' }), 'semantic'],
    ['its grace', meta({ deletionGracePeriodSeconds: 3 }), 'semantic'],
    ['the spec', { ...stored, spec: { containers: [{ name: 'c', image: 'j' }] } }, 'semantic'],
    ['the status alone', { ...stored, status: { phase: 'Running' } }, 'status'],
    ['both', { ...meta({ labels: {} }), status: { phase: 'Running' } }, 'semantic'],
  ];
  for (const [sentence, incoming, difference] of rows) t.equal(differenceOf(stored, incoming), difference, sentence);
});

t.test('what a stored pod takes over', async (t) => {
  const incoming: Pod = {
    metadata: {
      name: 'a',
      uid: 'u',
      labels: { n: 'l' },
      annotations: { new: '1', 'kubernetes.io/config.source': 'api' },
      generation: 2,
      deletionTimestamp: 'then',
      deletionGracePeriodSeconds: 5,
    },
    spec: { containers: [] },
    status: { phase: 'Running' },
  };
  t.strictSame(withContentOf(stored, incoming), {
    metadata: { ...incoming.metadata, annotations: { new: '1', 'kubernetes.io/config.source': 'file' }, resourceVersion: '1' },
    spec: { containers: [] },
    status: { phase: 'Running' },
  });
  const bare: Pod = { metadata: { name: 'a', uid: 'u' }, spec: { containers: [] } };
  t.strictSame(withContentOf(meta({ deletionTimestamp: 'then', deletionGracePeriodSeconds: 5 }), bare), {
    metadata: { name: 'a', uid: 'u', resourceVersion: '1', annotations: { 'kubernetes.io/config.source': 'file' } },
    spec: { containers: [] },
  });
  t.strictSame(withStatusOf(stored, bare), { metadata: stored.metadata, spec: stored.spec }, 'no status takes the old one away');
  t.equal(withStatusOf(stored, incoming).spec, stored.spec, 'the same object');
  t.strictSame(withAnnotations(bare, { a: 'b' }).metadata.annotations, { a: 'b' });
  t.strictSame(withAnnotations(stored, { x: 'z' }).metadata.annotations, { x: 'z', 'kubernetes.io/config.source': 'file' });
});
