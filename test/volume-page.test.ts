// docs/coverage/volumes.md against the tests: each file of tests that is about volumes by its name is on the page, so that a newcomer finds it. That what the page
// names is there is held by documents.test.ts.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';

const root = join(import.meta.dirname, '..', '..');

t.test('tests of volumes are on the page', async (t) => {
  const page = readFileSync(join(root, 'docs/coverage/volumes.md'), 'utf8');
  const named = ['containerd', 'domain', 'ports', 'sim'].flatMap((directory) =>
    readdirSync(join(root, 'test', directory))
      .filter((name) => /(volume|csi|claims|quota).*\.test\.ts$/.test(name))
      .map((name) => `test/${directory}/${name}`),
  );
  t.ok(named.length > 20, `${named.length} files`);
  for (const path of named) t.ok(page.includes(`(../../${path})`), path);
});
