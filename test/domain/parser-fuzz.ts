// Random and spoiled texts for every reader of the domain: it answers or fails with an assertion, and soon.
// Inputs are cut out of a stream of random numbers, so that a seed and a count say all about a run.
import { AssertionFailed } from '../../src/domain/kernel/assert.js';
import { Random32 } from './random-32.js';

export interface Parser {
  readonly name: string;
  /** Texts that it accepts, or nearly does. */
  readonly seeds: readonly string[];
  readonly parse: (text: string) => unknown;
}

/** Far above what any call needs on an idle machine, since tests run beside others; a hang is minutes. */
const maxCallMs = 5_000;
const maxGrownLength = 20_000;
const alphabet = [...'0123456789abcxyzABZ.,:;=+-_/\\%@!()[]{}"\'#* \t\n\r', '\u0000', '\u0085', '\u2028', 'é', '😀', '\ud800', '\udc00'];

/** What is wrong with the parser; null: nothing. */
export function fuzzParser(parser: Parser, seed: number, count: number): string | null {
  const random = new Random32(seed);
  for (let i = 0; i < count; i++) {
    const text = nextText(random, parser.seeds);
    const start = performance.now();
    try {
      parser.parse(text);
    } catch (error) {
      if (!(error instanceof AssertionFailed))
        return `${parser.name}, seed ${seed}, text ${i}: ${JSON.stringify(text.slice(0, 300))}: ${error instanceof Error ? error.stack : String(error)}`;
    }
    const took = performance.now() - start;
    if (took > maxCallMs) return `${parser.name}, seed ${seed}, text ${i} of ${text.length} characters took ${Math.round(took)} ms: ${JSON.stringify(text.slice(0, 300))}`;
  }
  return null;
}

function nextText(random: Random32, seeds: readonly string[]): string {
  if (random.below(8) === 0) return Array.from({ length: random.below(24) }, () => anyCharacter(random)).join('');
  let text = seeds[random.below(seeds.length)]!;
  for (let changes = 1 + random.below(4); changes > 0; changes--) text = changed(text, random, seeds);
  return text;
}

function changed(text: string, random: Random32, seeds: readonly string[]): string {
  const from = random.below(text.length + 1);
  const to = Math.min(text.length, from + 1 + random.below(6));
  switch (random.below(2_000) === 0 ? 'grow' : random.below(6)) {
    case 'grow': {
      // What takes a time that grows with a power of the length shows at this size.
      const part = text.slice(from, to);
      return part === '' ? text : text.slice(0, from) + part.repeat(Math.floor(maxGrownLength / part.length)) + text.slice(to);
    }
    case 0:
      return text.slice(0, from) + text.slice(to);
    case 1:
      return text.slice(0, from) + anyCharacter(random) + text.slice(from);
    case 2:
      return text.slice(0, from) + anyCharacter(random) + text.slice(to);
    case 3:
      return text.slice(0, to) + text.slice(from);
    case 4: {
      const other = seeds[random.below(seeds.length)]!;
      return text.slice(0, from) + other.slice(random.below(other.length + 1));
    }
    default:
      return text.slice(0, from) + extremes[random.below(extremes.length)]! + text.slice(from);
  }
}

const extremes = [
  '9223372036854775807',
  '-9223372036854775808',
  '18446744073709551616',
  '1e400',
  '0x',
  '99999999999999999999999',
  '-0',
  'NaN',
  'Infinity',
  '__proto__',
  'constructor',
  'null',
  '..',
  '\\x',
];

function anyCharacter(random: Random32): string {
  return random.below(12) === 0 ? String.fromCharCode(random.below(65_536)) : alphabet[random.below(alphabet.length)]!;
}
