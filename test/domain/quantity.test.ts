// Resource quantities beyond the vectors: properties of the arithmetic, guards against hostile texts, and the field report about rounding.
import fc from 'fast-check';
import t from 'tap';
import {
  addQuantities,
  canonicalQuantity,
  compareQuantities,
  milliQuantityOf,
  mustParseQuantity,
  parseQuantity,
  parseQuantityJson,
  type Quantity,
  quantityErrors,
  quantityMilliValue,
  quantityOf,
  quantityScaledValue,
  quantitySign,
  quantityText,
  quantityValue,
  subtractQuantities,
} from '../../src/domain/values/quantity.js';

const suffixes = ['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei', 'e3', 'E-6', 'e+2', 'e0'] as const;
const quantityTexts = fc
  .tuple(fc.constantFrom('', '-', '+'), fc.bigInt({ min: 0n, max: 10n ** 24n }), fc.option(fc.nat(999_999_999), { nil: null }), fc.constantFrom(...suffixes))
  .map(([sign, integer, fraction, suffix]) => `${sign}${integer}${fraction === null ? '' : `.${fraction}`}${suffix}`);
const quantities = quantityTexts.map(mustParseQuantity);
const isSame = (a: Quantity, b: Quantity): boolean => compareQuantities(a, b) === 0;

t.test('properties', async (t) => {
  const property = (name: string, holds: fc.IRawProperty<unknown>): void => {
    t.doesNotThrow(() => fc.assert(holds, { numRuns: 400 }), name);
  };
  property(
    'text and canonical text parse to the same number, and the canonical text is stable',
    fc.property(quantities, (q) => {
      const canonical = canonicalQuantity(q);
      const again = mustParseQuantity(canonical);
      return isSame(again, q) && canonicalQuantity(again) === canonical && isSame(mustParseQuantity(quantityText(q)), q);
    }),
  );
  property(
    'a sum is commutative in its number, and subtraction undoes addition',
    fc.property(quantities, quantities, (a, b) => isSame(addQuantities(a, b), addQuantities(b, a)) && isSame(subtractQuantities(addQuantities(a, b), b), a)),
  );
  property(
    'a sum is associative',
    fc.property(quantities, quantities, quantities, (a, b, c) => isSame(addQuantities(addQuantities(a, b), c), addQuantities(a, addQuantities(b, c)))),
  );
  property(
    'comparison is the sign of the difference',
    fc.property(quantities, quantities, (a, b) => compareQuantities(a, b) === quantitySign(subtractQuantities(a, b)) && compareQuantities(b, a) === -compareQuantities(a, b) + 0),
  );
  property(
    'rounding goes away from zero by less than one unit',
    fc.property(quantities, fc.constantFrom(0, -3, -9, 3), (q, scale) => {
      const rounded: Quantity = { mantissa: quantityScaledValue(q, scale), scale, format: 'DecimalSI', echo: null, small: false };
      const excess = subtractQuantities(rounded, q);
      const unit: Quantity = { ...rounded, mantissa: 1n };
      const outward = quantitySign(q) * quantitySign(excess) >= 0;
      const magnitude = quantitySign(excess) < 0 ? subtractQuantities(quantityOf(0), excess) : excess;
      return outward && compareQuantities(magnitude, unit) < 0;
    }),
  );
  property(
    'whole numbers and thousandths come back as they went in',
    // Not the least int64: as `-8Ei` its magnitude is cut to the largest one when it is read.
    fc.property(fc.bigInt({ min: -(2n ** 63n) + 1n, max: 2n ** 63n - 1n }), fc.constantFrom('DecimalSI', 'BinarySI', 'DecimalExponent'), (n, format) => {
      return quantityValue(mustParseQuantity(quantityText(quantityOf(n, format)))) === n && quantityMilliValue(mustParseQuantity(quantityText(milliQuantityOf(n)))) === n;
    }),
  );
  property(
    'any text is answered, never thrown at',
    fc.property(fc.string({ unit: fc.constantFrom(...'0123456789.+-eEinumkKMGTP x') }), (text) => typeof parseQuantity(text).ok === 'boolean'),
  );
});

t.test('guards', async (t) => {
  const started = process.hrtime.bigint();
  const rows: readonly (readonly [string, string])[] = [
    ['1e2147483647', quantityErrors.suffix],
    ['1e1000', quantityErrors.suffix],
    ['1e99999999999999999999', quantityErrors.suffix],
    [`1e-${'9'.repeat(900)}`, '1e-9'],
    ['5e-2147483648', '1e-9'],
    ['0e-2147483648', '0'],
    ['9'.repeat(100_000), quantityErrors.format],
    ['e-12', quantityErrors.numeric],
    ['.Pi', quantityErrors.numeric],
    ['-n', '0'],
    ['1000E', '1000E'],
  ];
  for (const [text, want] of rows) {
    const parsed = parseQuantity(text);
    t.equal(parsed.ok ? quantityText(parsed.quantity) : parsed.error, want, text.slice(0, 30));
  }
  t.ok(process.hrtime.bigint() - started < 1_000_000_000n, 'none of them builds a huge number');
  t.throws(() => mustParseQuantity('1 Gi'), /quantity "1 Gi": quantities must match/);
  t.strictSame(parseQuantityJson('"\u00851Gi\u3000"'), parseQuantityJson('"1Gi"'), "white space is Go's");
  t.equal(parseQuantityJson('"\ufeff1"').ok, false, 'a byte order mark is not white space');
});

t.test('KB017: amounts with an odd unit stay exact, round up to the base unit, and keep a stable text', async (t) => {
  const rows: readonly (readonly [text: string, canonical: string, value: bigint, milliValue: bigint | null])[] = [
    ['0.001Mi', '1048576m', 1049n, 1_048_576n],
    ['1048576m', '1048576m', 1049n, 1_048_576n],
    ['100m', '100m', 1n, 100n],
    ['0.5', '500m', 1n, 500n],
    ['1.5Gi', '1536Mi', 1_610_612_736n, null],
    ['.5Gi', '512Mi', 536_870_912n, null],
    ['1e-3', '1e-3', 1n, 1n],
    ['1E', '1E', 10n ** 18n, null],
    ['1Ei', '1Ei', 2n ** 60n, null],
    ['9223372036854775807', '9223372036854775807', 2n ** 63n - 1n, null],
    ['9223372036854775808', '9223372036854775808', 2n ** 63n, null],
    ['8Ei', '9223372036854775807', 2n ** 63n - 1n, null],
    ['-1', '-1', -1n, -1000n],
    ['129e6', '129e6', 129_000_000n, null],
    ['129E6', '129e6', 129_000_000n, null],
    ['129M', '129M', 129_000_000n, null],
    ['129000k', '129M', 129_000_000n, null],
    ['129E', '129E', 129n * 10n ** 18n, null],
  ];
  for (const [text, canonical, value, milliValue] of rows) {
    const quantity = mustParseQuantity(text);
    t.equal(canonicalQuantity(quantity), canonical, text);
    t.equal(canonicalQuantity(mustParseQuantity(canonical)), canonical, `${text}: stable`);
    t.equal(quantityValue(quantity), value, `${text}: value`);
    if (milliValue !== null) t.equal(quantityMilliValue(quantity), milliValue, `${text}: thousandths`);
  }
  for (const text of ['1 Gi', '0x10', '1_000', 'NaN', 'Infinity', '1,5']) t.equal(parseQuantity(text).ok, false, `${text} is refused`);
});
