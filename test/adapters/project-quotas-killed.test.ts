// Several agents write the same /etc/projects and /etc/projid, and are killed meanwhile: the files are complete at every moment, no number belongs to two
// directories, lines of users stay, and the next agent finds everything to release.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { openNativeLinux, serviceEnvironmentOf } from '../../src/adapters/native-linux/index.js';
import { FileProjectQuotas } from '../../src/adapters/storage/index.js';
import { recordedDirectories } from '../../src/adapters/storage/project-lines.js';
import { podVolumeDirectory } from '../../src/domain/values/pod-directories.js';
import { quietCall } from '../ports/pod-volumes.contract.js';
import { quotaPlace } from '../ports/project-quotas.contract.js';
import { FakeProjects } from './fake-projects.js';

const child = fileURLToPath(new URL('./project-quotas-child.js', import.meta.url));
const native = openNativeLinux({ kernelLogPath: '/dev/null', service: serviceEnvironmentOf({}) }, false);
const theirs = { projects: '# theirs\n42:/srv/data\n1048580:/srv/more\n', projid: '# names\nweb:42\nmore:1048580\n' };
const volumes = 6;
const agents = ['one', 'two', 'three'];

function scene(t: Test) {
  const base = t.testdir({ etc: { ...theirs }, root: {} });
  const [rootDirectory, filesDirectory] = [join(base, 'root'), join(base, 'etc')];
  for (const uid of agents) for (let i = 0; i < volumes; i++) mkdirSync(podVolumeDirectory(rootDirectory, uid, 'kubernetes.io~empty-dir', `v${i}`), { recursive: true });
  const text = (name: string) => readFileSync(join(filesDirectory, name), 'utf8');
  const start = (uid: string, times: number) => {
    const started = spawn(process.execPath, [child, rootDirectory, filesDirectory, uid, String(volumes), String(times)], { stdio: ['ignore', 'pipe', 'inherit'] });
    t.teardown(() => started.kill('SIGKILL'));
    return started;
  };
  const clearAll = async () => {
    const quotas = new FileProjectQuotas({ rootDirectory, filesDirectory }, new FakeProjects(), native.fileLock);
    for (const uid of agents) for (let i = 0; i < volumes; i++) await quotas.clear(quotaPlace(uid, `v${i}`), quietCall);
  };
  return { text, start, clearAll };
}

/** Holds at every moment, after any kill. */
function check(t: Test, text: (name: string) => string): void {
  const [projects, projid] = [text('projects'), text('projid')];
  t.ok(projects.startsWith(theirs.projects) && projid.startsWith(theirs.projid), 'what people wrote stays');
  t.ok(projects.endsWith('\n') && projid.endsWith('\n'), 'whole');
  const ours = recordedDirectories({ projects: projects.slice(theirs.projects.length) });
  t.equal(ours.length, projects.slice(theirs.projects.length).split('\n').length - 1, 'each line is a directory');
  t.equal(new Set(ours.map(({ projectId }) => projectId)).size, ours.length, 'each number is one directory’s');
  t.notOk(ours.some(({ projectId }) => projectId === 1_048_580));
}

async function lines(running: ChildProcess, wanted: number): Promise<void> {
  let seen = 0;
  for await (const chunk of running.stdout as AsyncIterable<Buffer>) {
    seen += chunk.toString().split('\n').length - 1;
    if (seen >= wanted) return;
  }
}

t.test('three agents at once, to their end', async (t) => {
  const { text, start } = scene(t);
  const exits = await Promise.all(agents.map((uid) => once(start(uid, 10), 'exit')));
  t.strictSame(
    exits.map(([code]) => code),
    [0, 0, 0],
  );
  t.strictSame([text('projects'), text('projid')], [theirs.projects, theirs.projid]);
});

t.test('one is killed at any moment while another goes on', async (t) => {
  const { text, start, clearAll } = scene(t);
  for (let time = 0; time < 12; time++) {
    const [killed, goes] = [start('one', 1_000), start('two', 1_000)];
    const ended = [killed, goes].map((running) => once(running, 'exit'));
    await lines(killed, 1 + (time % 5));
    killed.kill('SIGKILL');
    await ended[0];
    check(t, text);
    await lines(goes, 1);
    goes.kill('SIGKILL');
    await ended[1];
    check(t, text);
  }
  await clearAll();
  t.strictSame([text('projects'), text('projid')], [theirs.projects, theirs.projid]);
});
