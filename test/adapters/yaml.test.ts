// The YAML adapter against what Kubernetes' own tools read: YAML 1.1 scalars, JSON by its first character, refusals with a place.
import fc from 'fast-check';
import t from 'tap';
import { maxDocumentBytes, type PlainValue, parseYaml } from '../../src/adapters/yaml/index.js';

const scalars: readonly (readonly [string, PlainValue])[] = [
  ['0644', 420],
  ['0o17', 15],
  ['0x10', 16],
  ['0b101', 5],
  ['-0x10', -16],
  ['1_000', 1000],
  ['089', 89],
  ['5.0', 5],
  ['1e3', 1000],
  ['.5', 0.5],
  ['1:30', '1:30'],
  ['2001-12-14', '2001-12-14'],
  ['2001-12-14T10:00:00Z', '2001-12-14T10:00:00Z'],
  ['9007199254740991', 9007199254740991],
  ['9007199254740993', 9007199254740993n],
  ['1e999', '1e999'],
  ['yes', true],
  ['Y', true],
  ['ON', true],
  ['n', false],
  ['Off', false],
  ['yEs', 'yEs'],
  ['~', null],
  ['', null],
  ['Null', null],
  ['"yes"', 'yes'],
  ["'0644'", '0644'],
  ['!!str 5', '5'],
  ['!!int "7"', 7],
  ['!!binary aGk=', 'hi'],
  ['!ours x', 'x'],
  ['100Mi', '100Mi'],
  ['unix:///run/x.sock', 'unix:///run/x.sock'],
  ['"tab\\there"', 'tab\there'],
];

t.test('scalars', async (t) => {
  for (const [text, want] of scalars) t.match(parseYaml(`key: ${text}\n`), { ok: true, format: 'yaml', value: { key: want } }, text);
});

const documents: readonly (readonly [string, string, PlainValue, readonly string[]])[] = [
  ['an empty text is null', '', null, []],
  ['spaces are null', '  \n', null, []],
  ['the first of several documents', 'a: 1\n---\nb: [', { a: 1 }, []],
  ['an empty first document', '---\n---\na: 1', null, []],
  ['BOM and CRLF', '\ufeffa: 1\r\nb: 2\r\n', { a: 1, b: 2 }, []],
  ['the last duplicate wins', 'a: 1\na: 2\n', { a: 2 }, ['a@2']],
  ['the line is where the value begins', 'a: 1\na:\n  b: 2\n', { a: { b: 2 } }, ['a@3']],
  ['a merge key', 'a: &x {b: 1, c: 2}\nd:\n  <<: *x\n  e: 3\n', { a: { b: 1, c: 2 }, d: { b: 1, c: 2, e: 3 } }, []],
  ['a later key wins over a merge', 'a: &x {b: 1}\nd: {<<: *x, b: 3}\n', { a: { b: 1 }, d: { b: 3 } }, ['d.b@2']],
  [
    'an alias is the last anchor of its name before it',
    'a: &x 1\nb: *x\nc: &x 2\nd: *x\ne: [&x 3, *x]\nf: {<<: &y {g: *x}}\nh: *y\n',
    { a: 1, b: 1, c: 2, d: 2, e: [3, 3], f: { g: 3 }, h: { g: 3 } },
    [],
  ],
  ['of merged maps the first wins', 'a: &x {b: 1}\nc: &y {b: 2, d: 4}\ne: {<<: [*x, *y]}\n', { a: { b: 1 }, c: { b: 2, d: 4 }, e: { b: 1, d: 4 } }, ['e.b@1']],
  ['keys become text', 'yes: 1\n2: 3\n', { true: 1, 2: 3 }, []],
  ['JSON', ' {"a": [1, -2.5e1, "x\\u0041", true, null], "b": {}}\n', { a: [1, -25, 'xA', true, null], b: {} }, []],
  ['JSON duplicates', '{"a": {"b": 1,\n "b": 2}}', { a: { b: 2 } }, ['a.b@2']],
  ['JSON integers keep their digits', '{"a": 9223372036854775807}', { a: 9223372036854775807n }, []],
];

t.test('documents', async (t) => {
  for (const [name, text, value, duplicates] of documents) {
    const got = parseYaml(text);
    t.ok(got.ok, name);
    if (!got.ok) continue;
    t.strictSame(got.value, value, name);
    t.strictSame(
      got.duplicateKeys.map(({ path, line }) => `${path}@${line}`),
      duplicates,
      name,
    );
  }
});

const refused: readonly (readonly [string, string | Uint8Array, string, number])[] = [
  ['a tab as indentation', 'a:\n\tb: 2\n', 'Tabs are not allowed', 2],
  ['an open list', 'a: 1\nb: [1', 'Flow sequence', 2],
  ['text that begins like JSON must be JSON', '{a: 1}', 'invalid character', 1],
  ['something after JSON', '{"a":1}\n{"b":2}', 'after top-level value', 2],
  ['JSON that ends early', '{"a":', 'unexpected end of JSON input', 1],
  ['an unknown anchor', 'a: 1\nb: *c\n', "unknown anchor 'c'", 2],
  ['an anchor inside itself', 'a: &a [*a]', 'contains itself', 1],
  ['infinity', 'a: .inf', 'unsupported value', 1],
  ['a null key', '~: 1', 'unsupported map key', 1],
  ['a list as a key', '? [a]\n: 1', 'unsupported map key', 1],
  ['a merge of text', 'a: {<<: x}', 'map merge requires', 1],
  ['a tag that does not fit', 'a: !!int x', 'cannot decode', 1],
  ['control characters', 'a: \u0001', 'control characters', 0],
  ['bytes that are no UTF-8', Uint8Array.of(0x61, 0xff), 'invalid UTF-8', 0],
  ['too much', new Uint8Array(maxDocumentBytes + 1), 'larger than', 0],
  ['deep brackets', '['.repeat(300_000), 'exceeded max depth', 0],
  ['deep JSON', '{"a":'.repeat(300_000), 'exceeded max depth', 0],
  ['deep lists', '- '.repeat(10_000), 'exceeded max depth', 1],
];

t.test('refusals have a message and a line', async (t) => {
  for (const [name, text, message, line] of refused) {
    const got = parseYaml(text);
    t.notOk(got.ok, name);
    if (got.ok) continue;
    t.ok(got.message.includes(message), `${name}: ${got.message}`);
    t.equal(got.line, line, name);
  }
});

t.test('nested aliases are refused before they expand', async (t) => {
  let bomb = `a0: &a0 [${'x, '.repeat(8)}x]\n`;
  for (let i = 1; i < 10; i++)
    bomb += `a${i}: &a${i} [${Array(9)
      .fill(`*a${i - 1}`)
      .join(', ')}]\n`;
  t.match(parseYaml(bomb), { ok: false, message: 'document contains excessive aliasing' });
  const many = `x: &x {y: 1}\n${Array.from({ length: 5000 }, (_, i) => `k${i}: *x\n`).join('')}`;
  t.match(parseYaml(many), { ok: true }, 'many aliases of something small are fine, and cost no more than their number');
});

t.test('a document cannot reach the prototype of a map', async (t) => {
  for (const text of ['__proto__: {polluted: 1}', '{"__proto__": {"polluted": 1}}']) {
    const got = parseYaml(text);
    t.ok(got.ok);
    if (got.ok) t.strictSame(Object.keys(got.value as object), ['__proto__']);
  }
  t.equal(({} as { polluted?: number }).polluted, undefined);
});

t.test('any text gives an answer, and JSON gives what it means', async (t) => {
  const pieces = fc.constantFrom(
    'a',
    ': ',
    '\n',
    '  ',
    '- ',
    '[',
    ']',
    '{',
    '}',
    '"',
    "'",
    '&x ',
    '*x',
    '<<',
    '!!int ',
    '|',
    '>',
    '#',
    '---',
    '\t',
    '0x',
    '1',
    ',',
    '? ',
    '%',
    '\ufeff',
    '\u0000',
    '\ud800',
  );
  const anyText = (): void =>
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.array(pieces, { maxLength: 30 }).map((list) => list.join('')),
        ),
        (text) => typeof parseYaml(text).ok === 'boolean',
      ),
      { numRuns: 2000 },
    );
  t.doesNotThrow(anyText);
  const json = (): void =>
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (value) => {
        const got = parseYaml(JSON.stringify(value));
        const numbers = (_: string, item: unknown): unknown => (typeof item === 'bigint' ? Number(item) : item);
        return got.ok && JSON.stringify(got.value, numbers) === JSON.stringify(JSON.parse(JSON.stringify(value)));
      }),
      { numRuns: 500 },
    );
  t.doesNotThrow(json);
});
