// How much each part of the program logs: `-v`, or for parts whose name matches a pattern of `--vmodule` that one's number.
// Invariant: the first pattern that matches counts, as with klog; what `-v` is later set to does not change it.

export interface SourcePattern {
  /** A glob with `*`, `?` and `[...]`, of the part's name. */
  readonly filePattern: string;
  readonly verbosity: number;
}

export class SourceVerbosity {
  private readonly patterns: readonly (readonly [matches: RegExp, verbosity: number])[];
  private readonly known = new Map<string, number | null>();

  constructor(
    /** `-v`. */
    public general: number,
    patterns: readonly SourcePattern[],
  ) {
    this.patterns = patterns.map(({ filePattern, verbosity }) => [globOf(filePattern), verbosity] as const);
  }

  of(source: string): number {
    if (this.patterns.length === 0) return this.general;
    let found = this.known.get(source);
    if (found === undefined) {
      const name = source.replace(/\.ts$/, '');
      found = this.patterns.find(([matches]) => matches.test(name))?.[1] ?? null;
      // Parts of the program are few and have fixed names.
      this.known.set(source, found);
    }
    return found ?? this.general;
  }
}

/** A pattern that is none matches nothing but itself. */
function globOf(pattern: string): RegExp {
  const literal = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const parts = pattern.match(/\*|\?|\[\^?[^\]]+\]|[^*?[]+|\[/g) ?? [];
  const source = parts
    .map((part) => (part === '*' ? '[^/]*' : part === '?' ? '[^/]' : part.length > 2 && part.startsWith('[') ? part.replaceAll('\\', '\\\\') : literal(part)))
    .join('');
  try {
    return new RegExp(`^${source}$`);
  } catch {
    return new RegExp(`^${literal(pattern)}$`);
  }
}
