// Labels of plugins' directories: what a host with SELinux gets, what one without, and a directory that can't be labelled.
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import t from 'tap';
import { labelPluginDirectories } from '../../src/adapters/linux/directory-labels.js';
import { pluginDirectories } from '../../src/adapters/storage/data-directories.js';
import type { Logger } from '../../src/ports/outbound/logger.js';

const labelOf = (path: string) => execFileSync('stat', ['-c', '%C', path], { encoding: 'utf8' }).trim();

function scene(directory: string) {
  const lines: unknown[] = [];
  const logger = { log: (...line: readonly unknown[]) => lines.push(line) } as unknown as Logger;
  return { directories: pluginDirectories(directory), lines, logger };
}

t.test('with SELinux both are labelled, each time the agent starts', async (t) => {
  const root = t.testdir({ plugins: {}, plugins_registry: {} });
  const { directories, lines, logger } = scene(root);
  t.strictSame(
    directories.map(({ path }) => path.slice(root.length)),
    ['/plugins_registry', '/plugins'],
  );
  for (let start = 0; start < 2; start++) await labelPluginDirectories(directories, true, logger);
  if (lines.length > 0) {
    // Without the right to set it, or on a file system without labels: it is said of each.
    t.match(lines, [['info', /plugin registration dir$/], ['info', /plugins dir$/], [], []]);
    return;
  }
  for (const { path } of directories) t.equal(labelOf(path), 'system_u:object_r:container_file_t:s0');
});

t.test('without SELinux nothing is asked for', async (t) => {
  const { lines, logger } = scene('/nonexistent');
  await labelPluginDirectories(pluginDirectories('/nonexistent'), false, logger);
  t.strictSame(lines, []);
});

t.test('what can’t be labelled is told, and the other one is labelled', async (t) => {
  const root = t.testdir({});
  mkdirSync(`${root}/plugins`);
  const { directories, lines, logger } = scene(root);
  await labelPluginDirectories(directories, true, logger);
  t.match(lines[0], [
    'info',
    'Unprivileged containerized plugins might not work, could not set selinux context on plugin registration dir',
    { path: `${root}/plugins_registry`, err: /No such file or directory/ },
  ]);
});
