// Project quotas through the whole daemon: the gate, the volumes of a pod in a user namespace, answers and metrics, a restart and the
// end. The kernel's part is a model that counts by walks; the files are the test's own.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { mockCriProfiles } from '../../src/adapters/mock-cri/index.js';
import type { Daemon } from '../../src/app/daemon/start-daemon.js';
import { tokens } from '../../src/app/tokens.js';
import type { VolumeStats } from '../../src/ports/model/stats-summary.js';
import { FakeProjects } from '../adapters/fake-projects.js';
import { quietCall } from '../ports/pod-volumes.contract.js';
import { until } from '../support/until.js';
import { ask } from './ask-daemon.js';
import { podNamed, Stage } from './stage.js';

t.setTimeout(300_000);

const theirs = { projects: '# theirs\n42:/srv\n', projid: 'web:42\n' };
const manifest = (stage: Stage) =>
  stage
    .pod('a', 'busybox', 'run=forever', '  hostUsers: false\n  volumes: [{name: disk, emptyDir: {}}, {name: memory, emptyDir: {medium: Memory}}]\n')
    .replace('containers: [{', 'containers: [{volumeMounts: [{name: disk, mountPath: /disk}], ');

async function opened(t: Test, gate: boolean) {
  const stage = await Stage.open({ ...mockCriProfiles['containerd-2.0'] });
  t.teardown(() => stage.close());
  const projects = new FakeProjects();
  stage.projects = projects;
  stage.configurationMore = `enableServer: true\naddress: 127.0.0.1\nvolumeStatsAggPeriod: 100ms\nfeatureGates: {LocalStorageCapacityIsolationFSQuotaMonitoring: ${gate}}\n`;
  const projectFilesDirectory = join(stage.directory, 'etc');
  mkdirSync(projectFilesDirectory);
  for (const [name, text] of Object.entries(theirs)) writeFileSync(join(projectFilesDirectory, name), text);
  const text = (name: string) => readFileSync(join(projectFilesDirectory, name), 'utf8');
  return { stage, projects, start: () => stage.start({ projectFilesDirectory }), texts: () => ({ projects: text('projects'), projid: text('projid') }) };
}

const volumeOf = (stage: Stage, daemon: Daemon) => join(stage.root, 'pods', podNamed(daemon, 'a-n1')?.metadata.uid ?? '', 'volumes/kubernetes.io~empty-dir/disk');

/** As eviction sees it. */
async function shown(daemon: Daemon): Promise<VolumeStats | undefined> {
  const { summary } = await daemon.resolver.get(tokens.nodeStats).summary(null, quietCall);
  return (summary.pods ?? []).flatMap(({ volume = [] }) => volume).find(({ name }) => name === 'disk');
}

/** Waits until volumes have been measured again. */
async function lookedAt(daemon: Daemon): Promise<void> {
  const looks = async () => {
    const { body } = await ask(daemon, '/metrics');
    return [...body.matchAll(/kubelet_volume_metric_collection_duration_seconds_count\{[^}]*\} (\d+)/g)].reduce((sum, [, count]) => sum + Number(count), 0);
  };
  const before = await looks();
  // One more than the volumes: a look may have been under way.
  await until('volumes are looked at', async () => (await looks()) > before + 2);
}

async function sources(daemon: Daemon): Promise<readonly string[]> {
  const { body } = await ask(daemon, '/metrics');
  return [...new Set([...body.matchAll(/kubelet_volume_metric_collection_duration_seconds_count\{metric_source="(\w+)"/g)].map(([, source = '']) => source))].sort();
}

t.test('a volume is recorded, counted by its project, known after a restart, and freed', async (t) => {
  const { stage, projects, start, texts } = await opened(t, true);
  stage.manifest('a.yaml', manifest(stage));
  let daemon = await start();
  await until('a runs', () => podNamed(daemon, 'a-n1')?.status?.phase === 'Running');
  const path = volumeOf(stage, daemon);
  const recorded = { projects: `${theirs.projects}1048577:${path}\n`, projid: `${theirs.projid}volume1048577:1048577\n` };
  t.strictSame(texts(), recorded);
  t.equal(projects.projectOf(path), 1_048_577);
  writeFileSync(join(path, 'file'), Buffer.alloc(1024 * 1024, 1));
  await lookedAt(daemon);
  await until('what was written is shown', async () => ((await shown(daemon))?.usedBytes ?? 0) >= 1024 * 1024);
  t.equal((await shown(daemon))?.inodesUsed, 2);
  t.strictSame(await sources(daemon), ['fsquota']);

  await daemon.stop();
  daemon = await start();
  await lookedAt(daemon);
  await until('a is known again', async () => ((await shown(daemon))?.usedBytes ?? 0) >= 1024 * 1024);
  t.strictSame(texts(), recorded);
  t.strictSame(await sources(daemon), ['fsquota']);

  stage.remove('a.yaml');
  await until('its project is freed', () => texts().projects === theirs.projects);
  await until('so is its name', () => texts().projid === theirs.projid);
  t.strictSame([...projects.limits], []);
});

for (const [sentence, gate, unsupported, line] of [
  ['without the gate nobody asks', false, null, undefined],
  [
    'a file system without quotas',
    true,
    'the test says that nobody counts',
    /^info No quota for the volume, it is measured by walks .*"reason":"the test says that nobody counts"/,
  ],
] as const) {
  t.test(`${sentence}: the volume is walked`, async (t) => {
    const { stage, projects, start, texts } = await opened(t, gate);
    projects.unsupported = unsupported;
    stage.manifest('a.yaml', manifest(stage));
    const daemon = await start();
    await until('a runs', () => podNamed(daemon, 'a-n1')?.status?.phase === 'Running');
    writeFileSync(join(volumeOf(stage, daemon), 'file'), Buffer.alloc(1024 * 1024, 1));
    await lookedAt(daemon);
    await until('what was written is shown', async () => ((await shown(daemon))?.usedBytes ?? 0) >= 1024 * 1024);
    t.ok((await sources(daemon)).includes('du'));
    t.notOk((await sources(daemon)).includes('fsquota'));
    t.strictSame(texts(), theirs);
    const said = stage.log.find('it is measured by walks');
    if (line === undefined) t.equal(said, undefined);
    else t.match(said, line);
    if (!gate) t.strictSame(projects.calls, []);
  });
}

t.test('an agent that may not record projects gives none', async (t) => {
  const { stage, projects } = await opened(t, true);
  stage.manifest('a.yaml', manifest(stage));
  const daemon = await stage.start();
  await until('a runs', () => podNamed(daemon, 'a-n1')?.status?.phase === 'Running');
  t.match(stage.log.find('No quota for the volume'), /this agent may not record projects of the host/);
  t.strictSame(projects.calls, []);
});
