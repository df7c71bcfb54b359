// Readers of the domain on a million random and spoiled texts each, other ones every day: the seed is the day, and is printed.
import t from 'tap';
import { fuzzParser } from './parser-fuzz.js';
import { parsers } from './parsers.js';

const seed = Math.floor(Date.now() / 86_400_000);

t.setTimeout(7_200_000);

for (const parser of parsers) {
  t.test(`${parser.name}, seed ${seed}`, { timeout: 3_600_000 }, async (t) => {
    t.equal(fuzzParser(parser, seed, 1_000_000), null);
  });
}
