import fc from 'fast-check';
import t from 'tap';
import { instantOf } from '../../src/domain/values/instant.js';
import { formatRfc3339, formatRfc3339Micros, parseRfc3339 } from '../../src/domain/values/time.js';

t.test('reads and prints what the host calendar does', (t) => {
  const found = fc.check(
    fc.property(fc.integer({ min: -62_135_596_800_000, max: 253_402_300_799_999 }), fc.integer({ min: 0, max: 999 }), (milliseconds, micros) => {
      const time = milliseconds * 1000 + micros;
      const iso = new Date(milliseconds).toISOString();
      return (
        Number.isSafeInteger(time) === false ||
        (formatRfc3339(instantOf(time)) === `${iso.slice(0, 19)}Z` &&
          parseRfc3339(iso) === instantOf(milliseconds * 1000) &&
          parseRfc3339(formatRfc3339Micros(instantOf(time))) === instantOf(time))
      );
    }),
    { numRuns: 2000 },
  );
  t.equal(found.failed, false, JSON.stringify(found.counterexample));
  t.end();
});

const rows: readonly (readonly [string, string, number | null])[] = [
  ['an offset east is subtracted', '1970-01-01T01:00:00+01:00', 0],
  ['an offset west is added', '1969-12-31T23:30:00-00:30', 0],
  ['digits below a microsecond are dropped', '1970-01-01T00:00:00.1234567Z', 123_456],
  ['29 February of a common year', '2025-02-29T00:00:00Z', null],
  ['29 February of a century', '1900-02-29T00:00:00Z', null],
  ['month 13', '2025-13-01T00:00:00Z', null],
  ['no zone', '2025-01-01T00:00:00', null],
  ['a date alone', '2025-01-01', null],
  ['hour 24', '2025-01-01T24:00:00Z', null],
];
for (const [sentence, text, expected] of rows) {
  t.test(sentence, (t) => {
    t.equal(parseRfc3339(text), expected);
    t.end();
  });
}
