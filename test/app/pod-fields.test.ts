// Log lines about pods: the name beside the uid.
import t from 'tap';
import { withPod } from '../../src/app/shell/pod-fields.js';
import type { LogFields } from '../../src/ports/outbound/logger.js';

const state = {
  pods: { pods: new Map([['u1', { metadata: { name: 'web', namespace: 'shop', uid: 'u1' } }]]) },
  workers: {
    records: new Map([
      ['u1', { fullName: 'web_shop' }],
      ['u2', { fullName: 'old_shop' }],
      ['u3', { fullName: '' }],
    ]),
  },
};

const rows: readonly (readonly [sentence: string, fields: LogFields | undefined, expected: LogFields | undefined])[] = [
  ['a pod of a source', { podUID: 'u1', containerName: 'c' }, { pod: 'shop/web', podUID: 'u1', containerName: 'c' }],
  ['one that is in no source any more', { podUID: 'u2', err: 'x' }, { pod: 'shop/old', podUID: 'u2', err: 'x' }],
  ['one that only the runtime knew', { podUID: 'u3' }, { podUID: 'u3' }],
  ['one that nobody knows', { podUID: 'u4' }, { podUID: 'u4' }],
  ['a line that names its pod', { podUID: 'u1', pod: 'said/otherwise' }, { podUID: 'u1', pod: 'said/otherwise' }],
  ['a line about no pod', { err: 'x' }, { err: 'x' }],
  ['an empty uid', { podUID: '' }, { podUID: '' }],
  ['no fields', undefined, undefined],
];

for (const [sentence, fields, expected] of rows) {
  t.test(sentence, async (t) => {
    const shown = withPod(state as never, fields);
    t.strictSame(shown, expected);
    t.strictSame(Object.keys(shown ?? {}), Object.keys(expected ?? {}), 'the pod comes first');
  });
}
