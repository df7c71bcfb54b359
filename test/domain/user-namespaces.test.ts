// Which host ids pods in user namespaces are given: the range of the node, and who has which part of it.
import t from 'tap';
import { writeUserNamespace } from '../../src/domain/checkpoints/small-state-files.js';
import { type SubordinateIds, userNamespaceSettings } from '../../src/domain/user-namespaces/id-range.js';
import { newUserNamespaces, rangeForSandbox, rangeOfSandbox, rangeWritten, releaseRange, takeFiles } from '../../src/domain/user-namespaces/user-namespaces.js';

const unit = 65_536;
const both = (text: string): SubordinateIds => ({ uids: text, gids: text });
const line = (first: number | string, length: number | string) => both(`0: kubelet ${first} ${length}\n`);

const ranges: readonly (readonly [string, SubordinateIds, number | null, number, object | string])[] = [
  ['no user or no program: everything above the first slot', null, null, 110, { idsPerPod: unit, firstId: unit, slots: 65_535 }],
  ['larger slots without a user', null, 2 * unit, 110, { idsPerPod: 2 * unit, firstId: 2 * unit, slots: 32_767 }],
  ['the range of the user', line(unit * 2, unit * 110), null, 110, { idsPerPod: unit, firstId: 2 * unit, slots: 110 }],
  ['uids and gids differ', { uids: '0: kubelet 65536 65536\n', gids: '0: kubelet 65536 131072\n' }, null, 1, 'kubelet mappings: mismatched subuids and subgids for user "kubelet"'],
  [
    'two ranges',
    both('0: kubelet 65536 65536\n1: kubelet 262144 65536\n'),
    null,
    1,
    'kubelet mappings: error parsing line "0: kubelet 65536 65536\\n1: kubelet 262144 65536\\n": it must contain only one line',
  ],
  ['no range', both(''), null, 1, 'kubelet mappings: invalid line ""'],
  ['a word too many', both('0: kubelet 65536 65536 7\n'), null, 1, 'kubelet mappings: invalid line "0: kubelet 65536 65536 7\\n"'],
  ['not a number', line('x', unit), null, 1, 'kubelet mappings: error parsing line "0: kubelet x 65536\\n": strconv.ParseUint: parsing "x": invalid syntax'],
  [
    'more than 32 bits',
    line(2 ** 32, unit),
    null,
    1,
    'kubelet mappings: error parsing line "0: kubelet 4294967296 65536\\n": strconv.ParseUint: parsing "4294967296": value out of range',
  ],
  ['it begins within a slot', line(unit + 1, unit), null, 1, 'kubelet user assigned ID 65537 is not a multiple of 65536'],
  ['it begins at root', line(0, unit * 200), null, 1, 'kubelet user assigned ID 0 must be greater or equal to 65536'],
  ['it ends within a slot', line(unit, unit + 5), null, 1, 'kubelet user assigned IDs length 65541 is not a multiple of 65536'],
  ['too few for the pods', line(unit, unit * 109), null, 110, 'kubelet user assigned IDs are not enough to support 110 pods'],
  ['too few of larger slots', line(unit * 2, unit * 110), 2 * unit, 110, 'kubelet user assigned IDs are not enough to support 110 pods'],
  ['it runs over the highest id', line(2 ** 32 - unit, unit * 110), null, 110, 'kubelet user assigned IDs are not enough to support 110 pods'],
];
for (const [sentence, ids, idsPerPod, maxPods, expected] of ranges) {
  t.test(sentence, async (t) => {
    const result = userNamespaceSettings(ids, idsPerPod, maxPods);
    t.strictSame(result.ok ? result.value : result.error, expected);
  });
}

const settings = { idsPerPod: unit, firstId: unit, slots: 4 };
const file = (uid: string, text: string | null, problem = '') => ({ uid, text, problem });

t.test('each pod has a range of its own, until none is left, and one that went leaves its own', async (t) => {
  const state = newUserNamespaces(settings);
  takeFiles(state, []);
  const given = ['a', 'b', 'c', 'd'].map((uid) => rangeForSandbox(state, uid));
  t.ok(given.every(({ kind }) => kind === 'reserved'));
  const ids = given.flatMap((range) => (range.kind === 'failed' ? [] : [range.ids.hostId]));
  t.strictSame(
    [...new Set(ids)].sort((a, b) => a - b),
    [1, 2, 3, 4].map((slot) => slot * unit),
  );
  t.strictSame(rangeForSandbox(state, 'e'), { kind: 'failed', message: 'create user namespace: could not find an empty slot to allocate a user namespace' });
  t.strictSame(rangeForSandbox(state, 'b'), given[1], 'asked again it is the same');
  rangeWritten(state, 'b');
  t.match(rangeForSandbox(state, 'b'), { kind: 'written', ids: { hostId: ids[1] } }, 'every sandbox of the pod has it');
  releaseRange(state, 'c');
  t.match(rangeForSandbox(state, 'e'), { kind: 'reserved', ids: { hostId: ids[2] } });
});

const found: readonly (readonly [string, string | null, string | null])[] = [
  ['of a kubelet in Go', '{"uidMappings":[{"hostId":131072,"containerId":0,"length":65536}],"gidMappings":[{"hostId":131072,"containerId":0,"length":65536}]}', null],
  ['of another pod size: its sandbox goes on with it', writeUserNamespace(2 * unit, 2 * unit), null],
  ['outside of the range: its sandbox goes on with it', writeUserNamespace(100 * unit, unit), null],
  ['empty', '', 'the sandbox runs, but the pod has no file with its ids'],
  ['without mappings', '{}', 'the sandbox runs, but the pod has no file with its ids'],
  ['not JSON', '{"uidMap', 'unexpected'],
  ['null', null, 'EIO'],
  ['over the highest id', writeUserNamespace(2 ** 32 - unit, 2 * unit), 'wrong user namespace length'],
  ['of no length', writeUserNamespace(unit, 0), 'wrong user namespace length 0'],
  [
    'root is not mapped',
    '{"uidMappings":[{"hostId":65536,"containerId":1,"length":65536}],"gidMappings":[{"hostId":65536,"containerId":1,"length":65536}]}',
    'UID 0 must be mapped',
  ],
  ['gids differ', '{"uidMappings":[{"hostId":65536,"containerId":0,"length":65536}],"gidMappings":[{"hostId":131072,"containerId":0,"length":65536}]}', 'should be identical'],
];
for (const [sentence, text, problem] of found) {
  t.test(`a file ${sentence}`, async (t) => {
    const state = newUserNamespaces(settings);
    takeFiles(state, [file('p', text, text === null ? 'EIO' : '')]);
    const range = rangeOfSandbox(state, 'p');
    if (problem === null) t.equal(range.kind, 'written');
    else if (range.kind === 'failed') t.match(range.message, sentence === 'not JSON' ? /^user namespace: ./ : problem);
    else t.fail('the file counts');
    const anew = rangeForSandbox(state, 'p');
    if (anew.kind === 'failed') t.fail(anew.message);
    else t.ok(anew.ids.length === unit && anew.ids.hostId >= unit && anew.ids.hostId < 5 * unit, 'a new sandbox has one that this kubelet gives');
  });
}

t.test('a range that cannot be read may be any: nobody else is given one until its pod is gone', async (t) => {
  const state = newUserNamespaces(settings);
  takeFiles(state, [file('bad', 'x'), file('good', writeUserNamespace(2 * unit, unit))]);
  t.match(rangeForSandbox(state, 'new'), { kind: 'failed', message: /^create user namespace: the range of pod "bad" is unknown: / });
  t.match(rangeForSandbox(state, 'good'), { kind: 'written', ids: { hostId: 2 * unit } }, 'what is known goes on');
  releaseRange(state, 'bad');
  t.match(rangeForSandbox(state, 'new'), { kind: 'reserved' });
});

t.test('two pods of one range: the next sandbox of either has another', async (t) => {
  const state = newUserNamespaces(settings);
  takeFiles(state, [file('a', writeUserNamespace(unit, unit)), file('b', writeUserNamespace(unit, unit))]);
  t.match(rangeOfSandbox(state, 'a'), { kind: 'written', ids: { hostId: unit } });
  const anew = rangeForSandbox(state, 'a');
  t.ok(anew.kind === 'reserved' && anew.ids.hostId !== unit);
  rangeWritten(state, 'a');
  t.match(rangeForSandbox(state, 'b'), { kind: 'written', ids: { hostId: unit } }, 'then it is alone with its own');
});

t.test('a foreign range that covers several slots takes all of them', async (t) => {
  const state = newUserNamespaces(settings);
  takeFiles(state, [file('wide', writeUserNamespace(2 * unit + 7, 2 * unit))]);
  const anew = rangeForSandbox(state, 'x');
  t.match(anew, { kind: 'reserved', ids: { hostId: unit } });
  t.match(rangeForSandbox(state, 'y'), { kind: 'failed' });
});

t.test('a look at the files that is older than a reservation changes nothing', async (t) => {
  const state = newUserNamespaces(settings);
  takeFiles(state, []);
  const own = rangeForSandbox(state, 'p');
  t.equal(takeFiles(state, [file('p', writeUserNamespace(9 * unit, unit)), file('q', writeUserNamespace(9 * unit, unit))]), 1);
  t.strictSame(rangeForSandbox(state, 'p'), own);
});
