// kubelet-ctl as a process: the demonstration, the mocks, lists, and mistakes on its command line.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { ApiObject } from '../../src/ports/model/api-object.js';
import { until } from '../support/until.js';
import { AdminClient } from './admin-client.js';
import { Program } from './programs.js';
import { Stage } from './stage.js';

// The file as a whole; each wait in it has a bound of its own.
t.setTimeout(570_000);

t.test('dev shows its pods line by line, and leaves nothing', async (t) => {
  const temporary = mkdtempSync(join(tmpdir(), 'kubelet-ts-test-'));
  t.teardown(() => rmSync(temporary, { recursive: true, force: true }));
  const dev = new Program('kubelet-ctl', ['dev'], { TMPDIR: temporary });
  for (const line of [
    /steady-dev {2}Running {2}ready 1\/1/,
    /init-then-two-dev {2}Running {2}ready 2\/2/,
    /job-dev {2}Succeeded/,
    /no-image-dev {2}Pending .*ErrImagePull/,
    /crash-loop-dev .*restarts 1/,
  ]) {
    await until(String(line), () => line.test(dev.out));
  }
  await clusterShows(t, temporary, /export KUBECONFIG=(\S+)/.exec(dev.out)?.[1] ?? '');
  const [, agent = ''] = /ps -w --agent (\S+)/.exec(dev.out) ?? [];
  const ps = new Program('kubelet-ctl', ['ps', '--agent', agent]);
  t.equal(await ps.end(), 0);
  t.match(ps.out, /^NAME +NAMESPACE +PHASE +READY +RESTARTS +AGE +MESSAGE\n/);
  t.match(ps.out, /\ndefault\/steady-dev +web +running/);
  const [directory = ''] = readdirSync(temporary);
  const runtime = new Program('kubelet-ctl', ['ps', '--runtime', `unix://${join(temporary, directory, 'runtime.sock')}`, '-o', 'json']);
  t.equal(await runtime.end(), 0);
  t.ok((JSON.parse(runtime.out) as unknown[]).length >= 4);

  t.notMatch(dev.err + dev.out, /THIS NODE IS OPEN/, 'no port that anybody may read, nor one that another demonstration would want, too');
  const before = performance.now();
  dev.kill('SIGINT');
  t.equal(await dev.end(), 0);
  t.ok(performance.now() - before < 10_000);
  t.same(readdirSync(temporary), []);
});

t.test('dev on a runtime of ones own takes its pods out again', async (t) => {
  const stage = await Stage.open();
  t.teardown(() => stage.close());
  const temporary = join(stage.directory, 'tmp');
  mkdirSync(temporary);
  stage.manifest('a.yaml', stage.pod('a'));
  const options = ['dev', '--runtime', stage.runtime.endpoint, '--manifests', stage.manifests];
  const dev = new Program('kubelet-ctl', options, { TMPDIR: temporary });
  await until('it runs', () => /a-dev {2}Running/.test(dev.out));
  const second = new Program('kubelet-ctl', options, { TMPDIR: temporary });
  t.equal(await second.end(), 1, 'a second one is refused');
  t.match(second.err, /holds pods that this agent does not know \(default\/a-dev\); nothing was touched\. With --take-over/);
  t.equal(stage.running.length, 1);
  dev.kill('SIGINT');
  t.equal(await dev.end(), 0);
  t.match(dev.out, /Everything is removed\.\n$/);
  t.equal(stage.containers.length, 0);
  t.equal(stage.runtime.runtime.state.sandboxes.size, 0);
  t.same(readdirSync(temporary), []);
});

t.test('dev ends as by Ctrl-C when its terminal or reader goes away', async (t) => {
  const stage = await Stage.open();
  t.teardown(() => stage.close());
  const temporary = join(stage.directory, 'tmp');
  mkdirSync(temporary);
  stage.manifest('a.yaml', stage.pod('a'));
  const leave = (dev: Program): void => dev.closeOutput();
  const hangUp = (dev: Program): void => dev.kill('SIGHUP');
  for (const goAway of [hangUp, leave]) {
    const dev = new Program('kubelet-ctl', ['dev', '--runtime', stage.runtime.endpoint, '--manifests', stage.manifests], { TMPDIR: temporary });
    await until('it runs', () => /a-dev {2}Running/.test(dev.out));
    goAway(dev);
    stage.manifest('b.yaml', stage.pod('b'));
    t.equal(await dev.end(), 0);
    t.notMatch(dev.err, /EPIPE/);
    t.equal(stage.runtime.runtime.state.sandboxes.size, 0);
    t.same(readdirSync(temporary), []);
    rmSync(join(stage.manifests, 'b.yaml'));
  }
});

t.test('ps writes all of a long list into a pipe', async (t) => {
  const items = Array.from({ length: 3_000 }, (_, index) => ({ metadata: { name: `p${index}`, namespace: 'x'.repeat(1_000) }, spec: { containers: [] } }));
  const server = createServer((_request, response) => response.end(JSON.stringify({ items })));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  const { port } = server.address() as AddressInfo;
  const program = new Program('kubelet-ctl', ['ps', '--agent', `127.0.0.1:${port}/`, '-o', 'json']);
  t.equal(await program.end(), 0);
  t.same(JSON.parse(program.out), items);
  const unread = new Program('kubelet-ctl', ['ps', '--agent', `http://127.0.0.1:${port}`, '-o', 'json']);
  unread.closeOutput();
  t.equal(await unread.end(), 0);
  t.equal(unread.err, '');
});

t.test('mock-cri serves until it is told to stop', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'kubelet-ts-test-'));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  const endpoint = `unix://${directory}/runtime.sock`;
  const mock = new Program('kubelet-ctl', ['mock-cri', '--listen', endpoint]);
  await until('it listens', () => mock.out === `listening on ${endpoint}\n`);
  const ps = new Program('kubelet-ctl', ['ps', '--runtime', endpoint]);
  t.equal(await ps.end(), 0);
  t.equal(ps.out, 'No pods.\n');
  mock.kill('SIGTERM');
  t.equal(await mock.end(), 0);
  t.same(readdirSync(directory), []);
});

t.test('mock-apiserver serves until it is told to stop', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'kubelet-ts-test-'));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  const [kubeconfig, node] = [join(directory, 'kubeconfig'), join(directory, 'node')];
  const words = [
    'mock-apiserver',
    '--bind=127.0.0.1:0',
    '--http',
    '127.0.0.1:0',
    '--kubeconfig-out',
    kubeconfig,
    '--node-kubeconfig',
    `n1=${node}`,
    '--token',
    'secret=tester:testers',
  ];
  const mock = new Program('kubelet-ctl', words);
  await until('it listens', () => mock.out.includes(`export KUBECONFIG=${kubeconfig}\n`));
  const [, secure, plain] = /^listening on (https:\S+) and (http:\S+)\n/.exec(mock.out) ?? [];
  t.equal(statSync(kubeconfig).mode & 0o777, 0o600, 'keys are for their owner alone');
  for (const file of [kubeconfig, node]) t.match(JSON.parse(readFileSync(file, 'utf8')), { clusters: [{ cluster: { server: secure } }] });
  t.match(await (await fetch(`${plain}/api/v1/namespaces/default`)).json(), { kind: 'Namespace', status: { phase: 'Active' } });
  const refused = await fetch(`${plain}/api/v1/pods`, { headers: { authorization: 'Bearer secret' } });
  t.match(await refused.json(), { code: 403, message: /User "tester" cannot list resource "pods"/ });
  mock.kill('SIGTERM');
  t.equal(await mock.end(), 0);
});

t.test('mistakes on the command line of kubelet-ctl', async (t) => {
  for (const words of [['no-such'], ['dev', '--no-such'], ['dev', '--take-over'], ['ps', '-o', 'xml'], ['mock-cri'], ['mock-apiserver', '--bind'], ['replay'], ['check-config']]) {
    const program = new Program('kubelet-ctl', words);
    t.equal(await program.end(), 2, words.join(' '));
    t.match(program.err, /usage: kubelet-ctl/);
  }
  const absent = new Program('kubelet-ctl', ['ps', '--agent', 'http://127.0.0.1:1']);
  t.equal(await absent.end(), 1);
  t.match(absent.err, /^kubelet-ctl ps: http:\/\/127\.0\.0\.1:1: /);
});

/** The printed kubeconfig leads to a cluster with the node and its pods, which accepts new ones. */
async function clusterShows(t: Test, directory: string, kubeconfig: string): Promise<void> {
  const file = join(directory, 'admin');
  const admin = new AdminClient(file, readFileSync(kubeconfig, 'utf8'));
  const phaseOf = async (name: string): Promise<string> => ((await admin.get('pods', 'default', name)) as { status?: { phase?: string } } | null)?.status?.phase ?? '';
  try {
    await until('the mirror pod shows it', async () => (await phaseOf('steady-dev')) === 'Running');
    const spec = { automountServiceAccountToken: false, containers: [{ name: 'c', image: 'busybox:1.36' }] };
    await admin.create('pods', 'default', { metadata: { name: 'applied' }, spec } as unknown as ApiObject);
    await until('an applied pod runs', async () => (await phaseOf('applied')) === 'Running');
    t.match(await admin.get('nodes', null, 'dev'), { metadata: { name: 'dev' } });
  } finally {
    admin.close();
    rmSync(file);
  }
}
