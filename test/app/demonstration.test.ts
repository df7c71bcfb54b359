// A demonstration on a healthy machine shows no warning that its reader can't act on: neither in its log nor in its events, with root and without.
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import t from 'tap';
import { fallbackNativeLinux } from '../../src/adapters/native-linux/fallback.js';
import type { ApiObject } from '../../src/ports/model/api-object.js';
import { until } from '../support/until.js';
import { AdminClient } from './admin-client.js';
import { Program } from './programs.js';
import { Stage } from './stage.js';

t.setTimeout(400_000);

/** Pods that are there to show what goes wrong, and a host whose owner is to do something. */
const meant = /no-image-dev|crash-loop-dev|reason="?CgroupV1/;
const nobody = 65_534;

/** A directory above the programs that other users can't enter; null: there is none. */
function closedAbove(path: string): string | null {
  const directory = dirname(path);
  if (directory === path) return null;
  return (statSync(directory).mode & 0o001) === 0 ? directory : closedAbove(directory);
}

/** Warnings and errors of the whole log, as --verbose writes it. */
function complaints(log: string): string[] {
  return log.split('\n').filter((line) => /^[WEF]\d{4} /.test(line) && !meant.test(line));
}

interface EventObject extends ApiObject {
  readonly type?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly involvedObject?: { readonly name?: string };
}

async function warningsOfCluster(admin: AdminClient): Promise<string[]> {
  const events = (await admin.list('events', null)) as readonly EventObject[];
  t.ok(events.length > 5, 'there are events');
  const warnings = events.filter(({ type }) => type === 'Warning');
  return warnings.map(({ involvedObject, reason, message }) => `${involvedObject?.name} reason=${reason} ${message}`).filter((line) => !meant.test(line));
}

for (const user of process.geteuid?.() === 0 ? ['root', 'nobody'] : ['who runs the tests']) {
  const closed = user === 'nobody' ? closedAbove(import.meta.filename) : null;
  t.test(`a demonstration of ${user}`, { skip: closed !== null && `${user} can't enter ${closed}` }, async (t) => {
    const temporary = mkdtempSync(join(tmpdir(), 'kubelet-ts-test-'));
    chmodSync(temporary, 0o777);
    t.teardown(() => rmSync(temporary, { recursive: true, force: true }));
    const dev = new Program('kubelet-ctl', ['dev', '--verbose'], { TMPDIR: temporary, HOME: temporary }, 300_000, user === 'nobody' ? nobody : null);
    for (const line of [/job-dev {2}Succeeded/, /crash-loop-dev .*restarts 1/, /no-image-dev .*ErrImagePull/]) await until(String(line), () => line.test(dev.out));
    const kubeconfig = /export KUBECONFIG=(\S+)/.exec(dev.out)?.[1] ?? '';
    const admin = new AdminClient(join(temporary, 'admin'), readFileSync(kubeconfig, 'utf8'));
    t.teardown(() => admin.close());
    // As kubectl makes one: with the DNS policy of a cluster, and a token, which is kept in memory, where only root can mount it.
    const withoutToken = user === 'root' ? {} : { automountServiceAccountToken: false };
    await admin.create('pods', 'default', { metadata: { name: 'applied' }, spec: { ...withoutToken, containers: [{ name: 'c', image: 'busybox:1.36' }] } } as unknown as ApiObject);
    const phase = async () => ((await admin.get('pods', 'default', 'applied')) as { status?: { phase?: string } } | null)?.status?.phase;
    await until('an applied pod runs', async () => (await phase()) === 'Running');
    const ofCluster = await warningsOfCluster(admin);
    dev.kill('SIGINT');
    t.equal(await dev.end(), 0);
    t.match(dev.err, /Starting kubelet\./, 'the log is there');
    t.strictSame(complaints(dev.err), [], 'no line warns');
    t.strictSame(ofCluster, [], 'no event warns');
  });
}

t.test('a machine without the addon is told so once', async (t) => {
  const stage = await Stage.open();
  t.teardown(() => stage.close());
  stage.native = (options) => fallbackNativeLinux(options, 'wanted by the test');
  stage.manifest('a.yaml', stage.pod('a'));
  await stage.start();
  const told = stage.log.lines.filter((line) => line.startsWith('warn Running without the native addon'));
  t.equal(told.length, 1, told.join('\n'));
  t.match(told[0], /"reason":"wanted by the test","degradations":\[/, 'with all that it means');
});
