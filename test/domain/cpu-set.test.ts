// CPU lists: what the kernel writes, what people mistype, and the algebra of the sets.
import t from 'tap';
import { cpuSetDifference, cpuSetIntersection, cpuSetOf, cpuSetUnion, equalCpuSets, formatCpuSet, isCpuSubset, parseCpuSet } from '../../src/domain/values/cpu-set.js';

const good: readonly (readonly [text: string, cpus: readonly number[]])[] = [
  ['', []],
  ['0', [0]],
  ['0-3', [0, 1, 2, 3]],
  ['5,0-1', [0, 1, 5]],
  ['2-4,3-6,0', [0, 2, 3, 4, 5, 6]],
  ['0-9,2-3,5', [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]],
  ['7,7', [7]],
  ['70000', [70_000]],
];
const bad: readonly (readonly [text: string, error: string])[] = [
  ['1-2-3', 'invalid range "1-2-3"'],
  ['3-1', 'invalid range "3-1" (3 > 1)'],
  ['x', 'strconv.Atoi: parsing "x": invalid syntax'],
  ['1,', 'strconv.Atoi: parsing "": invalid syntax'],
  ['-1', 'strconv.Atoi: parsing "": invalid syntax'],
  ['0-65536', 'range "0-65536" is out of bounds'],
  ['0-65535,70000', 'more than 65536 CPUs'],
];
t.test('lists as they are read', async (t) => {
  for (const [text, cpus] of good) t.same(parseCpuSet(text), { ok: true, value: cpus }, JSON.stringify(text));
  for (const [text, error] of bad) t.same(parseCpuSet(text), { ok: false, error }, JSON.stringify(text));
  t.equal((parseCpuSet('0-65535') as { value: readonly number[] }).value.length, 65_536, 'as many as there can be');
  t.equal((parseCpuSet('1-65536') as { value: readonly number[] }).value.length, 65_536);
});

t.test('lists as they are written', async (t) => {
  t.same(cpuSetOf([3, 1, 2, 3, 10]), [1, 2, 3, 10]);
  const texts: readonly (readonly [cpus: readonly number[], text: string])[] = [
    [[], ''],
    [[4], '4'],
    [[4, 5], '4-5'],
    [[0, 1, 2, 5, 7, 8], '0-2,5,7-8'],
  ];
  for (const [cpus, text] of texts) t.equal(formatCpuSet(cpus), text);
});

t.test('the algebra', async (t) => {
  const a = [1, 2, 3, 7];
  const b = [2, 3, 4];
  const none: readonly number[] = [];
  t.same(cpuSetUnion(a, b), [1, 2, 3, 4, 7]);
  t.same(cpuSetUnion(b, a), [1, 2, 3, 4, 7]);
  t.equal(cpuSetUnion(none, a), a, 'nothing is copied without need');
  t.equal(cpuSetUnion(a, none), a);
  t.same(cpuSetIntersection(a, b), [2, 3]);
  t.same(cpuSetIntersection(b, a), [2, 3]);
  t.same(cpuSetIntersection(a, none), []);
  t.same(cpuSetDifference(a, b), [1, 7]);
  t.same(cpuSetDifference(b, a), [4]);
  t.equal(cpuSetDifference(a, none), a);
  t.same(cpuSetDifference(none, a), []);
  t.same([isCpuSubset([2, 3], a), isCpuSubset([2, 4], a), isCpuSubset([], none)], [true, false, true]);
  t.same([equalCpuSets([1, 2], [1, 2]), equalCpuSets([1, 2], [1, 3]), equalCpuSets([1], [1, 2]), equalCpuSets([], [])], [true, false, false, true]);
});
