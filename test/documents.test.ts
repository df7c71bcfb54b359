// References in the user documentation exist: links and their anchors, paths of the tree, scripts of npm, commands of kubelet-ctl; and the README's
// table has every command of the program; ARCHITECTURE.md has every part of the agent with the slices that it owns.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import t from 'tap';
import { agentParts } from '../src/domain/agent/parts.js';

const root = join(import.meta.dirname, '..', '..');
const pages = [
  ...readdirSync(root).filter((name) => name.endsWith('.md')),
  ...['docs', 'docs/coverage', 'native', 'bench'].flatMap((directory) =>
    readdirSync(join(root, directory)).flatMap((name) => (name.endsWith('.md') ? [join(directory, name)] : [])),
  ),
];
const textOf = (page: string): string => readFileSync(join(root, page), 'utf8');
const { scripts } = JSON.parse(textOf('package.json')) as { readonly scripts: Readonly<Record<string, string>> };
const commands = [...textOf('src/app/cli/kubelet-ctl.ts').matchAll(/case '([a-z-]+)':\n {6}return/g)].map(([, name = '']) => name);

/** As the page's host makes an anchor of a heading. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\w\- ]/g, '')
    .replaceAll(' ', '-');

function linkProblem(page: string, link: string): string | null {
  const [path = '', anchor = ''] = link.split('#');
  const target = path === '' ? page : relative(root, join(root, dirname(page), path));
  if (!existsSync(join(root, target))) return `${page}: nothing at ${link}`;
  if (anchor === '' || [...textOf(target).matchAll(/^#+ (.*)$/gm)].some(([, heading = '']) => anchorOf(heading) === anchor)) return null;
  return `${page}: no heading for ${link}`;
}

/** Words in capitals, and a lone X, are placeholders; a star matches anything. */
const isPattern = (path: string): boolean => /\*|[A-Z]{2}|\/X(\/|$)/.test(path.replace(/README\.md$/, ''));
const isThere = (path: string): boolean => ['', '.ts', '.mjs'].some((ending) => existsSync(join(root, path.replace(/\/$/, '') + ending)));

t.test('links, anchors and pictures', async (t) => {
  for (const page of pages) {
    const links = [...textOf(page).matchAll(/\]\(([^)\s]+)\)|(?:src|srcset)="([^"]+)"/g)].map(([, link, picture]) => link ?? picture ?? '');
    t.strictSame(
      links.filter((link) => !/^[a-z]+:/.test(link)).flatMap((link) => linkProblem(page, link) ?? []),
      [],
      page,
    );
  }
  t.match(linkProblem('README.md', 'docs/no-such.md'), /nothing at/);
  t.match(linkProblem('README.md', 'docs/csi.md#no-such'), /no heading/);
});

t.test('paths of the tree', async (t) => {
  for (const page of pages) {
    const named = [...textOf(page).matchAll(/`((?:src|test|docs|examples|scripts|bench|native|proto)\/[\w./*-]+)`/g)].map(([, path = '']) => path);
    t.strictSame(
      named.filter((path) => !isPattern(path) && !isThere(path)),
      [],
      page,
    );
  }
});

t.test('scripts and commands', async (t) => {
  t.ok(commands.length > 6, commands.join());
  for (const page of pages) {
    const run = [...textOf(page).matchAll(/npm run (?:-s )?([a-z][a-z:-]*)/g)].map(([, name = '']) => name);
    const asked = [...textOf(page).matchAll(/kubelet-ctl ([a-z][a-z-]*)/g)].map(([, name = '']) => name);
    t.strictSame([...run.filter((name) => scripts[name] === undefined), ...asked.filter((name) => !commands.includes(name))], [], page);
  }
  const listed = [...textOf('README.md').matchAll(/^\| `kubelet-ctl ([a-z-]+)/gm)].map(([, name = '']) => name);
  t.strictSame(listed.sort(), [...commands].sort());
});

/** Files of the tree below `src` and `test`, each with a slash before it. */
const files = ['src', 'test'].flatMap((directory) => readdirSync(join(root, directory), { recursive: true }).map((path) => `/${directory}/${String(path)}`));
const isFile = (named: string): boolean => files.some((path) => path.endsWith(`/${named}`) || path.endsWith(`/${named}.ts`));
/** Documents name a file without the folders that follow from the text before it. */
const unknownFiles = (text: string): string[] =>
  [...text.matchAll(/`((?:[\w.-]+\/)*[\w.-]+\.ts|agent\/[\w./-]+)`/g)].map(([, path = '']) => path).filter((path) => !isPattern(path) && !isFile(path) && !isThere(path));

t.test('files that ARCHITECTURE.md and CONTRIBUTING.md name', async (t) => {
  for (const page of ['ARCHITECTURE.md', 'CONTRIBUTING.md']) t.strictSame(unknownFiles(textOf(page)), [], page);
  t.strictSame(unknownFiles('`agent/cluster` has `pleg/relist.ts` and `pleg/no-such.ts`'), ['agent/cluster', 'pleg/no-such.ts']);
});

const cellsOf = (row: string): string[] =>
  row
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim());
const namesIn = (cell: string): string[] => [...cell.matchAll(/`([\w.-]+)\/?`/g)].map(([, name = '']) => name);

/** The slices that an interface of ownership.ts gives to an owner. */
function slicesOf(owner: string): string[] {
  const source = textOf('src/domain/agent/ownership.ts');
  return [
    ['SliceOwners', ''],
    ['ApiSliceOwners', 'api.'],
  ].flatMap(([name = '', prefix = '']) => {
    const [, body = ''] = new RegExp(`interface ${name} \\{(.*?)\\n\\}`, 's').exec(source) ?? [];
    return [...body.matchAll(/^ {2}(\w+): '(\w+)';/gm)].flatMap(([, slice = '', by]) => (by === owner ? [prefix + slice] : []));
  });
}

interface ModuleRow {
  readonly folder: string;
  readonly parts: readonly string[];
  readonly slices: readonly string[];
}

const agentFolder = 'src/domain/agent';
const inOrder = (rows: readonly ModuleRow[]): ModuleRow[] => rows.toSorted((a, b) => (a.folder < b.folder ? -1 : 1));

function moduleRows(text: string): ModuleRow[] {
  const [, table = ''] = text.split('\n## Modules of the kubelet\n');
  const rows =
    table
      .split('\n## ')[0]
      ?.split('\n')
      .filter((line) => line.startsWith('|')) ?? [];
  return rows.slice(2).flatMap((line) => {
    const [, parts = '', folder = '', slices = ''] = cellsOf(line);
    if (folder === '' && slices === '') return [];
    return { folder: namesIn(folder).join(), parts: parts.startsWith('none') ? [] : namesIn(parts).sort(), slices: namesIn(slices) };
  });
}

t.test('the table of modules has each part, folder and slice of the agent', async (t) => {
  const folders = readdirSync(join(root, agentFolder), { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const expected = folders.map(({ name }) => {
    const path = (file: string): string => join(agentFolder, name, file);
    const owner = /(?:ContextOf|StateOf)<'(\w+)'>/.exec(textOf(path('slice.ts')))?.[1] ?? '';
    const parts = existsSync(join(root, path('part.ts'))) ? [...textOf(path('part.ts')).matchAll(/AgentPart<'\w+'> = \{\s*name: '(\w+)'/g)].map(([, part = '']) => part) : [];
    return { folder: name, parts: parts.sort(), slices: slicesOf(owner) };
  });
  expected.push({ folder: '', parts: [], slices: slicesOf('agent') });
  t.strictSame(inOrder(moduleRows(textOf('ARCHITECTURE.md'))), inOrder(expected));
  t.strictSame(expected.flatMap(({ parts }) => parts).sort(), agentParts.map(({ name }) => name).sort());
  t.strictSame(
    expected.map(({ slices }) => slices.length > 0),
    expected.map(() => true),
    'each folder owns a slice',
  );
  const row = { folder: 'a-manager', parts: ['a', 'b'], slices: ['c', 'api.d'] };
  t.strictSame(moduleRows('\n## Modules of the kubelet\n| m | p | f | s | r |\n|---|---|---|---|---|\n| `m.go` | `b`, `a` | `a-manager/` | `c`, `api.d` | |\n'), [row]);
});

/** The unchanged lines of the diffs of a document that are no longer in their files. */
function staleLines(text: string): string[] {
  const diffs = [...text.matchAll(/^```diff\n(.*?)^```/gms)].map(([, diff = '']) => diff);
  return diffs
    .flatMap((diff) => diff.split(/^\+\+\+ /m).slice(1))
    .flatMap((change) => {
      const [path = '', ...lines] = change.split('\n');
      const kept = lines.filter((line) => line.startsWith(' ')).map((line) => line.slice(1));
      const source = kept.length === 0 || !existsSync(join(root, path)) ? '' : textOf(path);
      return kept.filter((line) => !source.split('\n').includes(line)).map((line) => `${path}: ${line}`);
    });
}

t.test('worked examples of CONTRIBUTING.md continue from the lines that are there', async (t) => {
  t.strictSame(staleLines(textOf('CONTRIBUTING.md')), []);
  t.match(textOf('CONTRIBUTING.md'), /^```diff$/m);
  const parts = 'src/domain/agent/parts.ts';
  t.strictSame(staleLines(`\`\`\`diff\n+++ ${parts}\n   imageGC,\n   no-such,\n+  added,\n\`\`\`\n`), [`${parts}:   no-such,`]);
});
