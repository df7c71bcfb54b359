// The command line, read by the rules of the POSIX-style flag parser that Kubernetes uses.
// Invariant: never throws; each word is parsed once; `--` ends the flags.
import { goQuote } from '../values/go-text.js';
import { type Flag, flagTable } from './flag-table.js';
import { unchanged } from './flag-values.js';

export interface ParsedFlags {
  readonly ok: true;
  /** The value of each given flag, by name. */
  readonly values: ReadonlyMap<string, unknown>;
  /** Names of deprecated flags in the order of use, once a use. */
  readonly deprecatedUses: readonly string[];
  /** Words that are no flags. */
  readonly positional: readonly string[];
}

export type FlagsResult = ParsedFlags | { readonly ok: false; readonly error: string };

const byName: ReadonlyMap<string, Flag> = new Map(flagTable.map((flag) => [flag.name, flag]));
const byShorthand: ReadonlyMap<string, Flag> = new Map(flagTable.flatMap((flag) => (flag.shorthand === null ? [] : [[flag.shorthand, flag]])));

/** Words after the program's name. */
export function parseFlags(words: readonly string[]): FlagsResult {
  const parser = new FlagParser(words);
  const error = parser.run();
  if (error !== null) return { ok: false, error };
  return { ok: true, values: parser.values, deprecatedUses: parser.deprecatedUses, positional: parser.positional };
}

class FlagParser {
  readonly values = new Map<string, unknown>();
  readonly deprecatedUses: string[] = [];
  readonly positional: string[] = [];
  private readonly rest: string[];

  constructor(words: readonly string[]) {
    this.rest = words.toReversed();
  }

  /** The first mistake, or null. */
  run(): string | null {
    for (let word = this.rest.pop(); word !== undefined; word = this.rest.pop()) {
      if (word === '--') {
        this.positional.push(...this.rest.reverse());
        return null;
      }
      const error = word.startsWith('--') ? this.long(word) : word.startsWith('-') && word !== '-' ? this.short(word.slice(1)) : this.other(word);
      if (error !== null) return error;
    }
    return null;
  }

  private other(word: string): null {
    this.positional.push(word);
    return null;
  }

  private long(word: string): string | null {
    const body = word.slice(2);
    if (body.startsWith('-') || body.startsWith('=')) return `bad flag syntax: ${word}`;
    const at = body.indexOf('=');
    const given = at < 0 ? body : body.slice(0, at);
    const flag = byName.get(given.replaceAll('_', '-'));
    if (flag === undefined) return `unknown flag: --${given}`;
    if (at >= 0) return this.set(flag, body.slice(at + 1));
    const value = flag.type.bare ?? this.rest.pop();
    return value === undefined ? `flag needs an argument: --${given}` : this.set(flag, value);
  }

  /** One or several letters: `-v4`, `-v=4`, `-v 4`, `-hv4`. */
  private short(letters: string): string | null {
    let left = letters;
    while (left !== '') {
      const letter = left.slice(0, 1);
      const flag = byShorthand.get(letter);
      if (flag === undefined) return `unknown shorthand flag: ${quotedByte(left)} in -${left}`;
      if (left.length > 2 && left[1] === '=') return this.set(flag, left.slice(2));
      if (flag.type.bare !== null) {
        const error = this.set(flag, flag.type.bare);
        if (error !== null) return error;
        left = left.slice(1);
        continue;
      }
      const value = left.length > 1 ? left.slice(1) : this.rest.pop();
      return value === undefined ? `flag needs an argument: ${quotedByte(left)} in -${left}` : this.set(flag, value);
    }
    return null;
  }

  private set(flag: Flag, word: string): string | null {
    const parsed = flag.type.parse(word, this.values.get(flag.name));
    if (!parsed.ok) {
      const name = flag.shorthand === null ? `--${flag.name}` : `-${flag.shorthand}, --${flag.name}`;
      return `invalid argument ${goQuote(word)} for ${goQuote(name)} flag: ${parsed.error}`;
    }
    if (parsed.value !== unchanged) this.values.set(flag.name, parsed.value);
    if (flag.deprecation !== null) this.deprecatedUses.push(flag.name);
    return null;
  }
}

/** The parser works on bytes: of a letter beyond ASCII the first byte is shown. */
function quotedByte(text: string): string {
  const code = text.codePointAt(0) as number;
  const byte = code < 0x80 ? code : code < 0x800 ? 0xc0 | (code >> 6) : code < 0x10000 ? 0xe0 | (code >> 12) : 0xf0 | (code >> 18);
  const character = String.fromCharCode(byte);
  return character === "'" ? "'\\''" : `'${goQuote(character).slice(1, -1).replace('\\"', '"')}'`;
}
