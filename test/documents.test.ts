// References in the user documentation exist: links and their anchors, paths of the tree, scripts of npm, commands of kubelet-ctl; and the README's
// table has every command of the program.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import t from 'tap';

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
