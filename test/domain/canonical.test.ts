// The canonical text of a value, and the value back: the base of flight records and hashes of worlds.
import fc from 'fast-check';
import t from 'tap';
import { canonicalJson, parseCanonicalJson } from '../../src/domain/kernel/canonical.js';

t.test('the order of keys never shows, that of lists and maps does', async (t) => {
  t.equal(canonicalJson({ b: 1, a: { d: [2, 1], c: null } }), '{"a":{"c":null,"d":[2,1]},"b":1}');
  t.equal(canonicalJson({ b: undefined, a: true }), '{"a":true}', 'an undefined member is no member');
  t.equal(
    canonicalJson(
      new Map<string, unknown>([
        ['b', 1n],
        ['a', new Set(['x'])],
      ]),
    ),
    '{"$map":[["b",{"$int":"1"}],["a",{"$set":["x"]}]]}',
  );
  t.equal(canonicalJson(Uint8Array.of(1, 255)), '{"$bytes":[1,255]}');
});

t.test('data that looks like a tag is data', async (t) => {
  for (const value of [{ $int: '7' }, { $map: [] }, { $$int: { $set: [1] } }, { $bytes: [1], a: 1 }, { $: null }]) t.same(parseCanonicalJson(canonicalJson(value)), value);
});

t.test('every value comes back, and gives the same text again', async (t) => {
  const leaf = fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null), fc.bigInt(), fc.uint8Array());
  const key = fc.oneof(fc.string(), fc.constantFrom('$int', '$map', '$set', '$bytes', '$', '__proto__'));
  const { value } = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      leaf,
      fc.array(tie('value'), { maxLength: 4 }),
      fc.dictionary(key, tie('value'), { maxKeys: 4, noNullPrototype: true }),
      fc.array(fc.tuple(fc.string(), tie('value')), { maxLength: 3 }).map((entries) => new Map(entries)),
      fc.array(fc.string(), { maxLength: 3 }).map((members) => new Set(members)),
    ),
  }));
  fc.assert(
    fc.property(value, (given) => {
      const text = canonicalJson(given);
      const back = parseCanonicalJson(text);
      return (
        canonicalJson(back) === text &&
        typeof back === typeof given &&
        JSON.stringify(Object.getOwnPropertyNames(back ?? {}).sort()) === JSON.stringify(Object.getOwnPropertyNames(given ?? {}).sort())
      );
    }),
    { numRuns: 500 },
  );
  t.pass();
});

t.test('what is no canonical text is an error', async (t) => {
  for (const text of ['', '{', '{"$int":"x"}']) t.throws(() => parseCanonicalJson(text), { name: 'SyntaxError' });
});
