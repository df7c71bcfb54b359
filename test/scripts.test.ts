// The scripts that a fresh clone begins with, run on a small project of their own.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';

const root = fileURLToPath(new URL('../../', import.meta.url));

class Project {
  readonly directory = mkdtempSync(join(tmpdir(), 'kubelet-ts-scripts-'));

  constructor() {
    cpSync(join(root, 'scripts'), join(this.directory, 'scripts'), { recursive: true });
    symlinkSync(join(root, 'node_modules'), join(this.directory, 'node_modules'));
    this.write('package.json', '{ "type": "module", "engines": { "node": ">=20.19" }, "bin": { "kubelet-ctl": "dist/bundle/kubelet-ctl.mjs" } }');
    this.write('package-lock.json', '{ "packages": {} }');
    this.write(
      'tsconfig.base.json',
      '{ "compilerOptions": { "module": "nodenext", "target": "es2023", "composite": true, "strict": true, "types": ["node"], "skipLibCheck": true } }',
    );
    this.write('tsconfig.json', '{ "files": [], "references": [{ "path": "test" }] }');
    this.write('test/tsconfig.json', '{ "extends": "../tsconfig.base.json", "compilerOptions": { "rootDir": ".", "outDir": "../dist/test" }, "include": ["**/*.ts"] }');
    this.write('test/a.test.ts', "import { test } from 'node:test';\ntest('a passes', () => {});\ntest('b waits', { skip: 'for reasons' }, () => {});\n");
  }

  write(path: string, text: string): void {
    mkdirSync(dirname(join(this.directory, path)), { recursive: true });
    writeFileSync(join(this.directory, path), text);
  }

  /** Without the marks that the runner of this very test puts into the environment. */
  run(script: string, ...args: string[]): { status: number | null; output: string } {
    const { NODE_TEST_CONTEXT: _, KUBELET_TS_TEST_TOTALS: __, ...env } = process.env;
    const { status, stdout, stderr } = spawnSync(process.execPath, [join(this.directory, 'scripts', script), ...args], {
      cwd: this.directory,
      env,
      encoding: 'utf8',
      timeout: 120_000,
    });
    return { status, output: `${stdout}${stderr}` };
  }

  remove(): void {
    rmSync(this.directory, { recursive: true });
  }
}

t.test('npm test runs every file, says what was skipped, and sums up as Node does', async (t) => {
  const project = new Project();
  t.teardown(() => project.remove());
  const good = project.run('test.mjs');
  t.equal(good.status, 0, good.output);
  for (const line of [/^ok +dist\/test\/a\.test\.js/m, /^skipped: .*b waits \(for reasons\)/m, /^# tests 2$/m, /^# pass 1$/m, /^# fail 0$/m, /^# skipped 1$/m, /^# files 1 of 1$/m])
    t.match(good.output, line);

  project.write('test/deep/er/b.alone.test.ts', "import { test } from 'node:test';\ntest('fails', () => { throw new Error('kaput'); });\n");
  project.write('test/empty.test.ts', 'export {};\n');
  const bad = project.run('test.mjs');
  t.equal(bad.status, 1);
  for (const line of [/not ok: .*: fails\n.*kaput/, /^FAILED ran no test: dist\/test\/empty\.test\.js/m, /^# fail 2$/m, /^# files 3 of 3$/m]) t.match(bad.output, line);

  t.match(project.run('test.mjs', 'a.test').output, /^# files 1 of 1$/m, 'a word chooses files');
  project.write('test/sweep.long.test.ts', "import { test } from 'node:test';\ntest('sweeps', () => {});\n");
  t.match(project.run('test.mjs', '--tier', 'short').output, /^# files 3 of 3\n# left out: 1 long files/m, 'a plain run leaves out long files');
  t.match(project.run('test.mjs', '--tier', 'short', 'sweep').output, /^# files 1 of 1$/m, 'a word chooses a long file, too');
  t.match(project.run('test.mjs', '--tier', 'ci').output, /^# files 4 of 4$/m);
  t.match(project.run('test.mjs', 'nowhere'), { status: 1, output: /no test file matches: nowhere/ });
  t.match(project.run('test.mjs', '--tier', 'soak'), { status: 1, output: /no test file matches: \.soak\.ts/ });

  project.write('test/empty.test.ts', "export const wrong: number = 'text';\n");
  t.match(project.run('test.mjs'), { status: 1, output: /TS2322[\s\S]*test: the sources do not compile/ });
});

t.test('a warning of Node fails the run, in whatever process it is', async (t) => {
  const warns = "process.emitWarning('too many of something', 'MaxListenersExceededWarning');";
  const sources = {
    'in the test': `import { test } from 'node:test';\ntest('warns', () => { ${warns} });\n`,
    'in a program that the test starts': [
      "import { test } from 'node:test';",
      "import { spawnSync } from 'node:child_process';",
      `test('warns', () => { spawnSync(process.execPath, ['-e', ${JSON.stringify(warns)}]); });`,
    ].join('\n'),
  };
  for (const [where, source] of Object.entries(sources)) {
    const project = new Project();
    t.teardown(() => project.remove());
    project.write('test/a.test.ts', source);
    const { status, output } = project.run('test.mjs');
    t.equal(status, 1, where);
    t.match(output, /FAILED warning of Node in .*MaxListenersExceededWarning: too many of something/, where);
    t.match(output, /# fail 1\n/);
  }
});

t.test('npm start bundles when something changed, and only then', async (t) => {
  const project = new Project();
  t.teardown(() => project.remove());
  t.match(project.run('start.mjs'), { status: 1, output: /has no src\/app\/cli\/kubelet-ctl\.ts/ });

  project.write('src/app/late.ts', 'export const late = 1;\n');
  project.write(
    'src/app/cli/kubelet-ctl.ts',
    "const { late } = await import('../late.js');\nconsole.log(JSON.stringify([late, ...process.argv.slice(2)]), require('node:path').sep, __dirname.length > 0);\n",
  );
  const first = project.run('start.mjs', '--port', '0');
  t.equal(first.status, 0, first.output);
  t.match(first.output, /^\[1,"dev","--port","0"\] \/ true$/m);
  t.match(first.output, /^bundle: compiling/m);
  t.notMatch(project.run('start.mjs').output, /bundle:/, 'nothing changed');
  project.write('src/app/late.ts', 'export const late = 22;\n');
  const changed = project.run('start.mjs');
  t.match(changed.output, /^\[22,"dev"\]/m);
});

t.test('what is missing is named', async (t) => {
  const project = new Project();
  t.teardown(() => project.remove());
  project.write(
    'package-lock.json',
    '{ "packages": { "": {}, "node_modules/no-such-package": { "version": "1.0.0" }, "node_modules/only-elsewhere": { "version": "1.0.0", "optional": true } } }',
  );
  t.match(project.run('start.mjs'), { status: 1, output: /node_modules is a link and lacks no-such-package: run `npm ci`/ });

  rmSync(join(project.directory, 'node_modules'));
  project.write('bin/npm', '#!/bin/sh\necho "asked: $*"\nexit 1\n');
  spawnSync('chmod', ['+x', join(project.directory, 'bin/npm')]);
  const before = process.env.PATH;
  process.env.PATH = `${project.directory}/bin:${before}`;
  t.teardown(() => {
    process.env.PATH = before;
  });
  const failed = project.run('start.mjs');
  t.equal(failed.output.match(/^asked: ci --ignore-scripts --omit=dev$/gm)?.length, 3, failed.output);
  t.match(failed, { status: 1, output: /start: `npm ci --ignore-scripts --omit=dev` failed 3 times/ });
  t.match(project.run('test.mjs').output, /^asked: ci --ignore-scripts$/m, 'tests need all packages');

  const manifest = readFileSync(join(project.directory, 'package.json'), 'utf8');
  project.write('package.json', manifest.replace('>=20.19', '>=99.1'));
  t.match(project.run('start.mjs'), { status: 1, output: /Node >=99\.1 is needed, this is v/ });
});
