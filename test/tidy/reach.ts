// Dead files: what neither a program, a package entry, a test, a benchmark, an example nor a script reaches. Unused exports: functions and constants
// of `src` that no other file names.
import { resolved } from './layers.js';
import { type Finding, importsOf, type SourceText } from './source-text.js';

/** Texts outside TypeScript that name entry points, such as package.json and shell scripts: path -> text. */
export type Manifests = Readonly<Record<string, string>>;

/** Files loaded by a computed name, each with where that happens. */
const loadedByName: readonly RegExp[] = [/^test\/vectors\/drivers\/[^/]+\.ts$/]; // test/vectors/runner.ts: drivers/<area>

export function deadFindings(sources: readonly SourceText[], manifests: Manifests): Finding[] {
  const byPath = new Map(sources.map((source) => [source.path, source]));
  const alive = new Set<string>();
  const queue = sources.map(({ path }) => path).filter((path) => isEntry(path));
  for (const text of Object.values(manifests)) queue.push(...namedIn(text, byPath));
  for (let path = queue.pop(); path !== undefined; path = queue.pop()) {
    const source = byPath.get(path);
    if (source === undefined || alive.has(path)) continue;
    alive.add(path);
    for (const { specifier } of importsOf(source)) if (specifier.startsWith('.')) queue.push(resolved(path, specifier));
    if (path.startsWith('scripts/') || path.startsWith('test/')) queue.push(...namedIn(source.text, byPath));
  }
  return sources.filter(({ path }) => !alive.has(path) && !isLonelyPlaceholder(path, byPath)).map(({ path }) => ({ path, line: 1, message: 'dead file: nothing reaches it' }));
}

/** Functions and constants that are exported, and named in no other file: types may be exported for who reads a signature. */
export function unusedExportFindings(sources: readonly SourceText[]): Finding[] {
  const users = new Map<string, number>();
  for (const { text } of sources) for (const word of new Set(text.match(/[A-Za-z_$][\w$]*/g))) users.set(word, (users.get(word) ?? 0) + 1);
  return sources
    .filter(({ path }) => path.startsWith('src/'))
    .flatMap(({ path, text }) =>
      text.split('\n').flatMap((line, i) => {
        const name = /^export (?:async )?(?:function\*?|const) ([\w$]+)/.exec(line)?.[1];
        return name === undefined || (users.get(name) ?? 0) > 1 ? [] : [{ path, line: i + 1, message: `unused export: no other file names ${name}` }];
      }),
    );
}

function isEntry(path: string): boolean {
  if (/^test\/.*\.(test|nightly|soak)\.ts$/.test(path) || /^bench\/[^/]+\.ts$/.test(path) || path.startsWith('examples/')) return true;
  return loadedByName.some((pattern) => pattern.test(path));
}

/** Sources named by a text: as they are, as what they are compiled to, or as the bundle's program of that name. */
function namedIn(text: string, byPath: ReadonlyMap<string, unknown>): string[] {
  const found: string[] = [];
  for (const [name = ''] of text.matchAll(/[\w./-]+\.m?[jt]s\b/g)) {
    const path = name.replace(/^(\.\.?\/)+/, '');
    for (const candidate of [path, `scripts/${path}`, path.replace(/^dist\/bundle\/(.*)\.mjs$/, 'src/app/cli/$1.ts'), path.replace(/^dist\/(.*)\.js$/, '$1.ts')]) {
      if (byPath.has(candidate)) found.push(candidate);
    }
  }
  return found;
}

/** TypeScript refuses a project without files; a layer that has nothing yet holds one empty file. */
function isLonelyPlaceholder(path: string, byPath: ReadonlyMap<string, unknown>): boolean {
  const layer = /^(src\/[^/]+)\/placeholder\.ts$/.exec(path)?.[1];
  return layer !== undefined && [...byPath.keys()].filter((other) => other.startsWith(`${layer}/`) && !other.includes('/gen/')).length === 1;
}
