// Numbers from the kernel's small text files, parsed at the reading, so that hundreds of texts needn't become strings.
// Invariant: anything but a number is NaN; the addon (native/number_forms.h) and the fallback give the same results.

export type NumberForm =
  /** One number for each word of the file, in their order; a word that is none is NaN. */
  | { readonly kind: 'words' }
  /** One number for each key: the first line that begins with the key, a space and the number. A key has no line break. */
  | { readonly kind: 'keyed'; readonly keys: readonly string[] }
  /** One number for each `=` of the file. */
  | { readonly kind: 'assigned' }
  /** How many links the directory has: where the file system counts them, two and one for each directory in it. */
  | { readonly kind: 'links' }
  /** How many entries the directory has, then how many of the first `socketsLookedAtMax` are links to sockets: /proc/<pid>/fd. */
  | { readonly kind: 'sockets' };

/** As in native/number_forms.h. */
export const formNumbers: Readonly<Record<NumberForm['kind'], number>> = { words: 1, keyed: 2, assigned: 3, links: 4, sockets: 5 };

export const socketsLookedAtMax = 1024;

/** The result of one read; `index` is the position in the requested slots. */
export class FileBatchNumbers {
  readonly #numbers: Float64Array;
  readonly #counts: Int32Array;
  readonly #starts: Uint32Array;

  /** @param numbers items one after the other @param counts of each its length, or negative errno */
  constructor(numbers: Float64Array, counts: Int32Array) {
    this.#numbers = numbers;
    this.#counts = counts;
    this.#starts = new Uint32Array(counts.length);
    let start = 0;
    for (let index = 0; index < counts.length; index++) {
      this.#starts[index] = start;
      start += Math.max(counts[index]!, 0);
    }
  }

  /** How many numbers the item has; -1 when it couldn't be read. */
  count(index: number): number {
    if (!(index >= 0 && index < this.#counts.length)) throw new RangeError(`FileBatchNumbers: index ${index} of ${this.#counts.length}`);
    return Math.max(this.#counts[index]!, -1);
  }

  /** NaN where the item has no such number. */
  at(index: number, position: number): number {
    return position >= 0 && position < this.count(index) ? this.#numbers[this.#starts[index]! + position]! : Number.NaN;
  }

  /** All of an item; null when it couldn't be read. */
  all(index: number): readonly number[] | null {
    const count = this.count(index);
    if (count < 0) return null;
    const start = this.#starts[index]!;
    return Array.from({ length: count }, (_, position) => this.#numbers[start + position]!);
  }
}

/** @param truncated the last word may be cut, and is skipped */
export function numbersOfText(form: Extract<NumberForm, { readonly kind: 'words' | 'keyed' | 'assigned' }>, text: string, truncated: boolean): readonly number[] {
  switch (form.kind) {
    case 'words':
      return wordsOf(text, truncated).map(numberOfWord);
    case 'keyed':
      return keyedNumbers(form.keys, text, truncated);
    case 'assigned':
      return assignedNumbers(text, truncated);
  }
}

function wordsOf(text: string, truncated: boolean): readonly string[] {
  const words = text.split(/[ \n\t]+/).filter((word) => word !== '');
  return truncated && !/[ \n\t]$/.test(text) ? words.slice(0, -1) : words;
}

function numberOfWord(word: string): number {
  return /^-?\d+(\.\d*)?$/.test(word) ? Number(word) + 0 : Number.NaN;
}

function keyedNumbers(keys: readonly string[], text: string, truncated: boolean): readonly number[] {
  const whole = truncated ? text.slice(0, text.lastIndexOf('\n') + 1) : text;
  return keys.map((key) => {
    // Searches the whole text: splitting it into lines costs more than everything else here.
    let at = whole.startsWith(`${key} `) ? 0 : whole.indexOf(`\n${key} `) + 1;
    if (at === 0 && !whole.startsWith(`${key} `)) return Number.NaN;
    at += key.length;
    while (whole[at] === ' ' || whole[at] === '\t') at++;
    let end = at;
    while (end < whole.length && whole[end] !== '\n' && whole[end] !== ' ' && whole[end] !== '\t') end++;
    return numberOfWord(whole.slice(at, end));
  });
}

function assignedNumbers(text: string, truncated: boolean): readonly number[] {
  const words = wordsOf(text, truncated);
  return words.flatMap((word) => {
    const sign = word.indexOf('=');
    return sign < 0 ? [] : [numberOfWord(word.slice(sign + 1))];
  });
}
