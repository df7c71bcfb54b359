// Shell patterns of one path element: `*`, `?`, `[a-z]`, `[^a]`, `\x`, as Go's path.Match reads them.
// Invariant: backtracks at most to the last `*`, so time is bounded by the product of both lengths.

interface Item {
  readonly kind: 'any' | 'one' | 'set' | 'character';
  readonly matches: (character: string) => boolean;
}

/** Null for a malformed pattern. `*` and `?` don't match `/`. */
export function globMatches(pattern: string, text: string): boolean | null {
  const items = parse([...pattern]);
  return items === null ? null : matchItems(items, [...text]);
}

function matchItems(items: readonly Item[], text: readonly string[]): boolean {
  let item = 0;
  let at = 0;
  let star = -1;
  let starAt = 0;
  while (at < text.length) {
    const current = items[item];
    if (current?.kind === 'any') {
      star = item++;
      starAt = at;
    } else if (current?.matches(text[at]!)) {
      item++;
      at++;
    } else if (star >= 0 && text[starAt] !== '/') {
      item = star + 1;
      at = ++starAt;
    } else {
      return false;
    }
  }
  return items.slice(item).every((rest) => rest.kind === 'any');
}

function parse(pattern: readonly string[]): readonly Item[] | null {
  const items: Item[] = [];
  for (let at = 0; at < pattern.length; at++) {
    const character = pattern[at]!;
    if (character === '*') items.push({ kind: 'any', matches: (other) => other !== '/' });
    else if (character === '?') items.push({ kind: 'one', matches: (other) => other !== '/' });
    else if (character === '[') {
      const set = parseSet(pattern, at + 1);
      if (set === null) return null;
      items.push({ kind: 'set', matches: set.matches });
      at = set.end;
    } else {
      if (character === '\\') at++;
      const literal = pattern[at];
      if (literal === undefined) return null;
      items.push({ kind: 'character', matches: (other) => other === literal });
    }
  }
  return items;
}

/** `end` is the place of the `]`. */
function parseSet(pattern: readonly string[], from: number): { readonly matches: Item['matches']; readonly end: number } | null {
  let at = from;
  const negated = pattern[at] === '^';
  if (negated) at++;
  const ranges: { readonly low: string; readonly high: string }[] = [];
  while (pattern[at] !== ']' || ranges.length === 0) {
    const low = setCharacter(pattern, at);
    if (low === null) return null;
    at = low.next;
    let high = low;
    if (pattern[at] === '-') {
      const end = setCharacter(pattern, at + 1);
      if (end === null) return null;
      high = end;
      at = end.next;
    }
    ranges.push({ low: low.character, high: high.character });
  }
  return { matches: (other) => ranges.some(({ low, high }) => low <= other && other <= high) !== negated, end: at };
}

function setCharacter(pattern: readonly string[], at: number): { readonly character: string; readonly next: number } | null {
  const first = pattern[at];
  if (first === undefined || first === '-' || first === ']') return null;
  const escaped = first === '\\';
  const character = escaped ? pattern[at + 1] : first;
  const next = at + (escaped ? 2 : 1);
  // A set ends at its closing bracket.
  return character === undefined || next >= pattern.length ? null : { character, next };
}
