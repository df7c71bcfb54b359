// The project's style rules, over every source file; and for each rule a bad text that it must find.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { commentFindings, documentFindings, identifierCeilings, identifierFindings, literalFindings } from './tidy/language.js';
import { arrowFindings } from './tidy/layers.js';
import { ownershipFindings } from './tidy/ownership.js';
import { purityFindings } from './tidy/purity.js';
import { deadFindings, type Manifests, unusedExportFindings } from './tidy/reach.js';
import { assertionFindings, assertionFloor, replyCastFindings } from './tidy/replies.js';
import { appLinesMax, appSizeFindings, barrelFindings, formFindings, nameFindings, sizeFindings } from './tidy/shape.js';
import { type Finding, type SourceText, sourceText } from './tidy/source-text.js';
import { bareSleepFindings, bareSleepsMax, repeatedSupportFindings } from './tidy/test-support.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const sourceDirectories = ['src', 'test', 'bench', 'examples', 'scripts'];
const manifestPaths = ['package.json', '.ci/run'];

/** All rules that need one file only. Reporters of `node --test` are a default export by Node's own rule. */
function findingsIn(source: SourceText): Finding[] {
  const forms = source.path === 'scripts/test-reporter.mjs' ? formFindings(source).filter(({ message }) => message !== 'no default export') : formFindings(source);
  return [
    ...arrowFindings(source),
    ...ownershipFindings(source),
    ...purityFindings(source),
    ...sizeFindings(source),
    ...nameFindings(source.path),
    ...forms,
    ...barrelFindings(source),
    ...commentFindings(source),
    ...literalFindings(source),
    ...replyCastFindings(source),
  ];
}

function pathsBelow(directory: string, kind = /\.(ts|mjs)$/): string[] {
  if (!existsSync(join(root, directory))) return [];
  return readdirSync(join(root, directory), { withFileTypes: true }).flatMap((entry) => {
    const path = `${directory}/${entry.name}`;
    if (entry.isDirectory()) return entry.name === 'node_modules' ? [] : pathsBelow(path, kind);
    return kind.test(entry.name) ? [path] : [];
  });
}

function read(path: string): string {
  return readFileSync(join(root, path), 'utf8');
}

function isGenerated(path: string): boolean {
  return path.includes('/gen/');
}

function shown(findings: readonly Finding[]): string[] {
  return findings.map(({ path, line, message }) => `${path}:${line}: ${message}`).sort();
}

const sources = sourceDirectories.flatMap((directory) => pathsBelow(directory)).map((path) => sourceText(path, isGenerated(path) ? '' : read(path)));
const manifests: Manifests = Object.fromEntries(manifestPaths.filter((path) => existsSync(join(root, path))).map((path) => [path, read(path)]));

t.test('the tree is tidy', async (t) => {
  t.ok(sources.length > 40, 'the sources were found');
  t.strictSame(shown(sources.filter(({ path }) => !isGenerated(path)).flatMap(findingsIn)), []);
  t.strictSame(shown(deadFindings(sources, manifests).filter(({ path }) => !isGenerated(path))), []);
  t.strictSame(shown(identifierFindings(sources, identifierCeilings)), []);
  t.strictSame(shown(unusedExportFindings(sources)), []);
  t.strictSame(shown(assertionFindings(sources, assertionFloor)), []);
  t.strictSame(shown(appSizeFindings(sources, appLinesMax)), []);
});

t.test('tests share their support, and wait for conditions', async (t) => {
  t.strictSame(shown(repeatedSupportFindings(sources)), []);
  t.strictSame(shown(bareSleepFindings(sources, bareSleepsMax)), []);
});

t.test('a second copy and a sleep are found', async (t) => {
  const support = sourceText('test/support/until.ts', '// a\nexport async function until() {\n  await delay(1);\n}\nexport const pods = () => 1;\n');
  const user = sourceText('test/a.test.ts', 'async function until() {}\nconst pods = () => 2;\nfunction inner() {\n  const until = () => 1;\n}\n');
  t.strictSame(shown(repeatedSupportFindings([support, user])), [
    'test/a.test.ts:1: until is in test/support/until.ts: import it',
    'test/a.test.ts:2: pods is in test/support/until.ts: import it',
  ]);
  const sleeps = sourceText(
    'test/b.test.ts',
    [
      't.test(1, async () => {\n  await delay(8_000);\n  while (isOpen()) await delay(5);\n  await until(2, async () => {\n    await delay(1);\n  });',
      '  await new Promise((resolve) => setTimeout(resolve, 300));\n  await new Promise((resolve) => server.once(3, resolve));\n});\n',
    ].join('\n'),
  );
  t.match(shown(bareSleepFindings([support, sleeps], 1)), [/2 sleeps without a condition, at most 1: .*They are: test\/b\.test\.ts:2, test\/b\.test\.ts:7$/]);
  t.strictSame(bareSleepFindings([support, sleeps], 2), []);
});

t.test('the composition root stays below its ceiling', async (t) => {
  const sources = [sourceText('src/app/a.ts', '// a\nexport const a = 1;\n'), sourceText('src/app/b.ts', '// b\n'), sourceText('src/domain/c.ts', '// c\n')];
  t.strictSame(appSizeFindings(sources, 3), []);
  t.strictSame(shown(appSizeFindings(sources, 2)), ["src/app:1: 3 lines, at most 2: move an adapter's work to src/adapters, and decisions to src/domain"]);
});

t.test('assertions of the domain', async (t) => {
  const source = sourceText('src/domain/a.ts', "assert(a, 'b');\nif (c) assert(d, 'e');\nobject.assert(f);\n");
  t.strictSame(shown(assertionFindings([source], 2)), []);
  t.strictSame(shown(assertionFindings([source, sourceText('src/app/a.ts', "assert(a, 'b');")], 3)), ['src/domain:1: 2 assertions, at least 3']);
});

t.test('exports that no other file names', async (t) => {
  const used = sourceText(
    'src/domain/a.ts',
    'export const used = 1;\nexport function unused(): void {}\nexport async function alsoUnused(): Promise<void> {}\nexport type T = 1;\n',
  );
  const user = sourceText('test/a.test.ts', "import { used } from '../src/domain/a.js';\nexport const ofATest = used;\n");
  t.strictSame(shown(unusedExportFindings([used, user])), [
    'src/domain/a.ts:2: unused export: no other file names unused',
    'src/domain/a.ts:3: unused export: no other file names alsoUnused',
  ]);
});

const lines = (count: number, line: string): string => Array.from({ length: count }, () => line).join('\n');

/** The path, a text that breaks one rule, and the expected message. */
const bad: readonly (readonly [path: string, text: string, message: RegExp])[] = [
  ['src/ports/a.ts', "import type { A } from '../domain/a.js';", /ports may not import src\/domain\/a\.ts/],
  ['src/ports/a.ts', "export type A = import('../domain/a.js').A;", /ports may not import/],
  ['src/ports/a.ts', "import { readFileSync } from 'node:fs';", /no package and no Node module, but here node:fs/],
  ['src/domain/a.ts', "import { b } from '../sim/b.js';", /domain may not import src\/sim/],
  ['src/domain/a.ts', "export { b } from '../adapters/b/index.js';", /domain may not import src\/adapters/],
  ['src/domain/a.ts', "import type { Document } from 'yaml';", /no package and no Node module, but here yaml/],
  ['src/domain/a.ts', "import '../../test/b.js';", /imports nothing outside src: test\/b\.ts/],
  ['src/sim/a.ts', "import { b } from '../adapters/b/index.js';", /sim may not import/],
  ['src/sim/a.ts', "import { Buffer } from 'buffer';", /no package and no Node module, but here buffer/],
  ['src/adapters/a/b.ts', "import { c } from '../../domain/eviction/c.js';", /adapters may not import src\/domain\/eviction/],
  ['src/adapters/a/b.ts', "import { c } from '../../sim/world.js';", /adapters may not import src\/sim\/world/],
  ['src/adapters/a/b.ts', "import type { C } from '../c/c.js';", /adapters may not import src\/adapters\/c\/c/],
  ['src/adapters/a/b.ts', "const c = await import('../../app/c.js');", /adapters may not import src\/app/],
  ['src/adapters/a/b.ts', "import { Container } from 'inversify';", /only src\/app imports inversify/],
  ['src/adapters/a/b.ts', "import { c } from '../../ports/c';", /ends in \.js/],
  ['src/app/a.ts', "import { b } from 'kubelet-ts/sim';", /does not import itself by name/],
  ['src/domain/agent/pleg/a.ts', "import { asHousekeeping } from '../housekeeping/slice.js';", /write access to the state of another part/],
  ['src/app/a.ts', "import { plegState } from '../domain/agent/pleg/slice.js';", /write access to the state of another part/],
  ['src/domain/agent/pleg/a.ts', "import { contextOf } from '../ownership.js';", /only slice\.ts of a part and agent\.ts take write access/],
  ['src/domain/agent/pleg/a.ts', 'a(context as HousekeepingContext);', /a cast to write access: context as HousekeepingContext/],
  ['src/domain/agent/pleg/a.ts', "a(context as ContextOf<'housekeeping'>);", /a cast to write access/],
  ['src/domain/a.ts', 'export const a = Date.now();', /Date\.now is banned/],
  ['src/domain/a.ts', 'export const a = new Date(0);', /new Date is banned/],
  ['src/sim/a.ts', 'export const a = Math.random();', /Math\.random is banned/],
  ['src/sim/a.ts', 'setTimeout(() => {}, 1);', /setTimeout is banned/],
  ['src/domain/a.ts', 'queueMicrotask(() => {});', /queueMicrotask is banned/],
  ['src/domain/a.ts', 'export const a = process.env;', /process is banned/],
  ['src/domain/a.ts', 'export const a = { process };', /process is banned/],
  ['src/ports/a.ts', 'console.log(1);', /console is banned/],
  ['src/ports/a.ts', 'export interface A { b(): Promise<void> }', /Promise is banned/],
  ['src/ports/operation.ts', 'export const a = Promise.resolve();', /Promise is banned/],
  ['src/domain/a.ts', 'export async function a() {}', /async is banned/],
  ['src/domain/a.ts', 'export const a = async () => { await b; };', /await is banned/],
  ['src/domain/a.ts', 'export const a = new Intl.NumberFormat();', /Intl is banned/],
  ['src/domain/a.ts', "export const a = ['b'].sort((x, y) => x.localeCompare(y));", /localeCompare is banned/],
  ['src/domain/a.ts', 'export const a = performance.now();', /performance is banned/],
  ['src/app/a.ts', lines(401, '//'), /401 lines; a file has at most 400/],
  ['src/app/a.ts', `function a() {\n${lines(69, '  b();')}\n}`, /71 lines; a function has at most 70/],
  ['src/app/a.ts', `class A {\n  b = () => {\n${lines(69, '  b();')}\n  };\n}`, /71 lines; a function has at most 70/],
  ['src/app/a.ts', `// ${'x'.repeat(178)}`, /181 characters; a line has at most 180/],
  ['test/a.test.ts', "t.only('a', () => {});", /no \.only/],
  ['test/a.test.ts', "t.test('a', { only: true }, () => {});", /no only: true/],
  ['src/app/a.ts', 'export default 1;', /no default export/],
  ['src/app/a.ts', 'export default function a() {}', /no default export/],
  ['src/app/a.ts', 'const a = 1;\nexport { a as default };', /no default export/],
  ['src/app/a.ts', 'export enum A { b }', /no enum/],
  ['src/app/a.ts', "const { parse } = await import('yaml');", /import\(\) a module of ours/],
  ['src/app/a.ts', '@a class A {}', /no decorators/],
  ['src/app/a.ts', 'export const a = 1;', /begins with a comment/],
  ['src/app/cli/index.ts', 'export const a = 1;', /index\.ts is for the faces/],
  ['src/domain/pods/pods.ts', "export * from './a.js';", /no barrel: export \*/],
  ['src/domain/pods/pods.ts', "export { a } from './a.js';\nexport type { B } from './b.js';", /only forwards exports/],
  ['src/app/utils.ts', '', /a name says what is inside/],
  ['test/helpers/a.ts', '', /a name says what is inside/],
  ['src/app/time-utils.ts', '', /a name says what is inside/],
  ['src/app/podWorker.ts', '', /kebab-case/],
  ['src/app/a.spec.ts', '', /unknown kind of file/],
  ['src/app/a.ts', '// Whoever asks is served.', /"whoever" in a comment; say: the client/],
  ['src/app/a.ts', '// The runtime\n// told it.', /"tell" in a comment/],
  ['src/app/a.ts', '// a\n/** Reads it anew. */\nexport const a = 1;', /"anew" in a comment/],
  ['src/app/a.ts', '// a\nexport const a = 1; // nobody reads it', /"nobody" in a comment/],
  ['src/app/a.ts', "// a\nexport const a = 'https://b'; // a module of ours", /"ours" in a comment/],
  ['src/app/a.ts', '// a\n/**\n * The run goes\n * on.\n */\nexport const a = 1;', /"go on" in a comment/],
  ['src/app/a.ts', "// a\nexport const a = 'the pod goes on running';", /"go on" in a text/],
  ['src/app/a.ts', '// a\nexport const a = `the pod was told`;', /"tell" in a text/],
  ['src/app/a.ts', '// It came about.', /"come about" in a comment/],
  ['src/app/a.ts', '// a\nexport const a = /`/; // lets the lock go', /"let go" in a comment/],
  ['src/domain/a.ts', 'const a = reply.outcome.value as Pod;', /a cast of a reply: reply\.outcome\.value as Pod/],
  ['src/domain/a.ts', 'const a = (outcome.value as unknown) as Pod;', /a cast of a reply/],
  ['src/domain/a.ts', 'a(outcome as Outcome<null>);', /a cast of a reply: outcome as Outcome<null>/],
  ['src/domain/a.ts', 'a(reply as unknown as B);', /a cast of a reply/],
  ['src/domain/a.ts', 'a(given as Reply<Ops>);', /a cast of a reply: given as Reply<Ops>/],
  ['src/domain/a.ts', "a(b as ReplyFor<Ops, 'c'>);", /a cast of a reply/],
];

/** Texts that look alike and are right. */
const good: readonly (readonly [path: string, text: string])[] = [
  ['src/domain/eviction/a.ts', "// a\nimport type { B } from '../../ports/b.js';\nimport { c } from '../values/c.js';\nexport const a: B = c;"],
  ['src/domain/a.ts', '// a\nexport interface A { readonly process: string }\nexport const a = (b: A) => b.process + Date.UTC(1970, 0);'],
  ['src/domain/a.ts', '// a\nexport const a = ({ process: id }: { process: string }) => id;'],
  ['src/sim/a.ts', '// a\nexport const a = (performance: number) => performance + Math.max(1, 2);'],
  ['src/adapters/a/b.ts', "// b\nimport { stat } from 'node:fs';\nimport { parse } from 'yaml';\nexport const b = [stat, parse];"],
  ['src/adapters/a/b.ts', "// b\nimport { c } from '../c/index.js';\nimport { World } from '../../sim/index.js';\nexport const b = [c, World];"],
  ['src/ports/operation.ts', '// a\nexport type A = () => Promise<void>;'],
  ['src/adapters/a/index.ts', "// The face.\nexport { b } from './b.js';"],
  ['src/app/a.ts', `// a\nexport function a() {\n${lines(68, '  b();')}\n}`],
  ['src/app/a.ts', "// The field `told` is `anew`.\nexport const a = ['told', 'b/*', `anew`]; // b"],
];

t.test('each rule finds what it forbids', async (t) => {
  for (const [path, text, message] of bad) {
    const messages = findingsIn(sourceText(path, text)).map((one) => one.message);
    t.ok(
      messages.some((one) => message.test(one)),
      `${path}: ${text.slice(0, 60)}`,
      { found: messages, wanted: message },
    );
  }
});

t.test('no rule finds what is allowed', async (t) => {
  for (const [path, text] of good) t.strictSame(shown(findingsIn(sourceText(path, text))), [], `${path}: ${text.slice(0, 60)}`);
});

t.test('documents have no banned words', async (t) => {
  const paths = [
    ...pathsBelow('docs', /\.md$/).filter((path) => path !== 'docs/glossary.md' && !path.startsWith('docs/api/')),
    'README.md',
    'ARCHITECTURE.md',
    'CONTRIBUTING.md',
    'CHANGELOG.md',
  ];
  t.strictSame(shown(paths.flatMap((path) => documentFindings(path, read(path)))), []);
  t.strictSame(shown(documentFindings('docs/a.md', 'A pod.\nIt is `told`, and told anew.')), [
    'docs/a.md:2: "anew" in a document; say: again',
    'docs/a.md:2: "tell" in a document; say: report, record, request, notify',
  ]);
});

t.test('identifiers may have a banned word up to its ceiling', async (t) => {
  const text = '// a\nexport const isToldOf = (tells: number) => tells + retell + Tells_All;\nfunction goOn(state: { readonly ours: 1 }) {\n  letGo(state.ours);\n}';
  const findings = (ceilings: Readonly<Record<string, number>>) => identifierFindings([sourceText('src/app/a.ts', text), sourceText('test/a.test.ts', 'anew();')], ceilings);
  t.strictSame(
    findings({}).map(({ message }) => message.replace(/,.*/, '')),
    ['3 identifiers with "tell"', '1 identifiers with "ours"', '1 identifiers with "go on"', '1 identifiers with "let go"'],
  );
  t.match(
    findings({ tell: 2, ours: 1, 'go on': 1, 'let go': 1 }).map(({ message }) => message),
    [/at most 2.*isToldOf \(src\/app\/a\.ts\), tells/],
  );
  t.strictSame(findings({ tell: 3, ours: 2, 'go on': 1, 'let go': 5 }), [], 'fewer are fine');
});

t.test('a file that nothing reaches is dead, whatever reaches it makes it live', async (t) => {
  const texts: Record<string, string> = {
    'src/app/cli/kubelet-ts.ts': "import { a } from '../a.js';",
    'src/app/a.ts': "const worker = new URL('./worker.js', import.meta.url);",
    'src/app/worker.ts': "const late = await import('./late.js');",
    'src/app/late.ts': '',
    'src/app/forgotten.ts': "import './late.js';",
    'src/sim/index.ts': "export type { W } from './world.js';",
    'src/sim/world.ts': '',
    'src/adapters/placeholder.ts': '',
    'src/app/placeholder.ts': '',
    'test/a.test.ts': "import './fixture.js';",
    'test/fixture.ts': '',
    'test/forgotten.ts': '',
    'scripts/a.mjs': "import './b.mjs';",
    'scripts/b.mjs': '',
    'scripts/forgotten.mjs': '',
  };
  const tree = Object.entries(texts).map(([path, text]) => sourceText(path, text));
  const named = { 'package.json': '{ "bin": "dist/bundle/kubelet-ts.mjs", "exports": "./dist/src/sim/index.js", "scripts": { "a": "node scripts/a.mjs" } }' };
  const dead = deadFindings(tree, named).map(({ path }) => path);
  t.strictSame(dead.sort(), ['scripts/forgotten.mjs', 'src/app/forgotten.ts', 'src/app/placeholder.ts', 'test/forgotten.ts']);
  t.ok(
    deadFindings(tree, {}).some(({ path }) => path === 'src/app/cli/kubelet-ts.ts'),
    'without its entry a program is dead too',
  );
});
