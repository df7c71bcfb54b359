// kubelet-ts and kubelet-ctl as processes: versions, refusals and their exit codes, signals, kill -9, and the demonstration.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { ApiObject } from '../../src/ports/model/api-object.js';
import { AdminClient } from './admin-client.js';
import { Program } from './programs.js';
import { Stage, until } from './stage.js';

// The file as a whole; each wait in it has a bound of its own.
t.setTimeout(570_000);

const { version } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as { readonly version: string };

t.test('--version is one line that kubeadm can read', async (t) => {
  for (const words of [['--version'], ['--version=true'], ['--version', '--v=2']]) {
    const program = new Program('kubelet-ts', words);
    t.equal(await program.end(), 0);
    t.equal(program.out, `Kubernetes v1.36.2+ts.${version}\n`);
    t.match(program.out, /^\s*Kubernetes v((\d+)\.(\d+)\.(\d+)[-\w.+]*)\s*$/);
  }
  const raw = new Program('kubelet-ts', ['--version=raw']);
  t.equal(await raw.end(), 0);
  t.match(raw.out, `version.Info{Major:"1", Minor:"36", GitVersion:"v1.36.2+ts.${version}"`);
});

t.test('--help names every flag and ends with 0', async (t) => {
  const program = new Program('kubelet-ts', ['--help']);
  t.equal(await program.end(), 0);
  t.match(program.out, /--config string/);
});

interface Refusal {
  readonly what: string;
  /** The whole command line; else it is that of the stage. */
  readonly words?: readonly string[];
  /** YAML on top of the stage's configuration. */
  readonly configuration?: string;
  /** Behind the stage's words. */
  readonly flags?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly expected: RegExp;
}

const refusals: readonly Refusal[] = [
  { what: 'an unknown flag', words: ['--no-such-flag'], expected: /err="failed to parse kubelet flag: unknown flag: --no-such-flag"/ },
  { what: 'a word', words: ['run'], expected: /err="unknown command run"/ },
  { what: 'a missing file', words: ['--config=/no/such'], expected: /failed to load kubelet config file, path: \/no\/such, .*open \/no\/such: no such file or directory/ },
  { what: 'a bad value', configuration: 'healthzPort: 99999\n', expected: /failed to validate kubelet configuration, error: .*HealthzPort/i },
  { what: 'a type', configuration: 'maxPods: many\n', expected: /maxPods/ },
  {
    what: 'webhook authentication without an apiserver',
    configuration: 'authentication: {}\n',
    expected: /failed to run Kubelet: no client provided, cannot use webhook authentication/,
  },
  {
    what: 'webhook authorization without an apiserver',
    configuration: 'authorization: {}\n',
    expected: /failed to run Kubelet: no client provided, cannot use webhook authorization/,
  },
  { what: 'a reservation', configuration: 'kubeReserved: {cpu: much}\n', expected: /--kube-reserved value failed to parse/ },
  {
    what: 'a runtime that is not there',
    configuration: 'containerRuntimeEndpoint: unix:///no/such.sock\n',
    expected: /failed to run Kubelet: validate service connection: validate CRI v1 runtime API for endpoint \\"unix:\/\/\/no\/such\.sock\\": rpc error: code = Unavailable/,
  },
  {
    what: 'a runtime over TCP',
    configuration: 'containerRuntimeEndpoint: tcp://127.0.0.1:1\n',
    expected: /err="failed to run Kubelet: containerRuntimeEndpoint \\"tcp:\/\/127\.0\.0\.1:1\\": only support unix socket endpoint"/,
  },
  { what: 'a log directory that is a file', configuration: 'podLogsDir: /proc/version/logs\n', expected: /failed to run Kubelet: .*mkdir \/proc\/version\/logs: not a directory/ },
  { what: 'a root directory that is a file', flags: ['--root-dir=/proc/version/root'], expected: /failed to run Kubelet: .*ENOTDIR.*\/proc\/version/ },
  { what: 'a cloud', flags: ['--cloud-provider=aws'], expected: /failed to create kubelet: cloud provider \\"aws\\" was specified, but built-in cloud providers are disabled/ },
  { what: 'a root directory in another form', flags: ['--root-dir=/tmp/a/../b'], expected: /rootDirectory not in canonical form: expected \/tmp\/b, was \/tmp\/a\/\.\.\/b/ },
  { what: 'two addresses of a family', flags: ['--node-ip=10.0.0.1,10.0.0.2'], expected: /bad --node-ip \\"10.*must contain either a single IP or a dual-stack pair of IPs/ },
  { what: 'contention without a lock file', flags: ['--exit-on-lock-contention'], expected: /cannot exit on lock file contention: no lock file specified/ },
  { what: 'a watchdog that is no number', environment: { WATCHDOG_USEC: 'often' }, expected: /create health checker: configure watchdog: error converting WATCHDOG_USEC/ },
  { what: 'a watchdog that is too quick', environment: { WATCHDOG_USEC: '1000000' }, expected: /configure watchdog timeout too small: 1s/ },
];

t.test('a refusal is one line that names the field, exit code 1, and nothing is started', async (t) => {
  const stage = await Stage.open();
  t.teardown(() => stage.close());
  stage.manifest('a.yaml', stage.pod('a'));
  for (const { what, words, configuration, flags = [], environment, expected } of refusals) {
    const program = new Program('kubelet-ts', words ?? [...stage.words(stage.root, configuration), ...flags], environment);
    t.equal(await program.end(), 1, `${what}: exit code`);
    const failures = program.err.split('\n').filter((line) => line.startsWith('E') && !line.includes('insufficient permissions'));
    t.equal(failures.length, 1, `${what}: one line`);
    t.match(failures[0], expected, what);
  }
  t.equal(stage.containers.length, 0);
});

t.test('the settings of our own are as strict', async (t) => {
  const stage = await Stage.open();
  t.teardown(() => stage.close());
  const path = join(stage.directory, 'own.yaml');
  const rows = [
    ['flightRecorder: {path: /x}\n', 'unknown field \\"flightRecorder.path\\"'],
    ['livePage: {host: x}\n', 'unknown field \\"livePage.host\\"'],
    ['livePage: {address: 0.0.0.0}\n', 'livePage.address: must be an address of loopback'],
    ['livePage: {port: 70000}\n', 'livePage.port: must be a port, 0 to 65535'],
    ['livePage: yes\n', 'livePage: must be a map'],
    ['flightRecorder: {file: x}\n', 'flightRecorder.file: must be an absolute path'],
    ['nativeAddon: maybe\n', 'nativeAddon: must be optional or required'],
    ['images: mine\n', 'images: must be own or shared'],
    ['a: [\n', 'own.yaml: line'],
  ] as const;
  for (const [text, expected] of rows) {
    writeFileSync(path, text);
    const program = new Program('kubelet-ts', stage.words(), { KUBELET_TS_CONFIG: path });
    t.equal(await program.end(), 1);
    t.match(program.err, expected);
  }
});

t.test('SIGTERM ends the daemon with 0 within 3 s, and its containers go on', async (t) => {
  const stage = await Stage.open();
  t.teardown(() => stage.close());
  stage.manifest('a.yaml', stage.pod('a'));
  const record = join(stage.directory, 'flight.ndjson');
  const own = join(stage.directory, 'own.yaml');
  writeFileSync(own, `flightRecorder: {file: ${record}}\n`);
  const program = new Program('kubelet-ts', stage.words(), { KUBELET_TS_CONFIG: own });
  await until('it runs', () => stage.running.length === 1);
  const before = performance.now();
  program.kill('SIGTERM');
  t.equal(await program.end(), 0);
  t.ok(performance.now() - before < 10_000);
  t.equal(stage.running.length, 1);

  const replay = new Program('kubelet-ctl', ['replay', record]);
  t.equal(await replay.end(), 0, 'what it recorded is replayed to the same commands');
  t.match(replay.out, /^\d+ steps, the same commands in each\n$/);
});

t.test('kill -9 at any moment, and the next one finds the same containers', async (t) => {
  const stage = await Stage.open();
  t.teardown(() => stage.close());
  for (const name of ['a', 'b', 'c']) stage.manifest(`${name}.yaml`, stage.pod(name));
  // Each life ends a little further on: before the first sandbox, between sandbox and container, when all run.
  const moments = [() => stage.runtime.runtime.state.sandboxes.size >= 1, () => stage.containers.length >= 1, () => stage.containers.length >= 3, () => stage.running.length === 3];
  for (const moment of moments) {
    const program = new Program('kubelet-ts', stage.words());
    await until('the moment has come', moment);
    program.kill('SIGKILL');
    t.equal(await program.end(), 'SIGKILL');
  }
  const before = stage.running;
  const last = new Program('kubelet-ts', [...stage.words(), '--v=4']);
  await until('the last one is up', () => last.err.includes('Container runtime is ready'));
  stage.manifest('d.yaml', stage.pod('d'));
  await until('it works', () => stage.running.length === 4);
  t.ok(
    before.every((id) => stage.running.includes(id)),
    'the same containers',
  );
  const names = stage.containers.filter(({ state }) => state === 'running').map(({ podUid, config }) => `${podUid}/${config.metadata.name}`);
  t.equal(new Set(names).size, names.length, 'none doubled');
  last.kill('SIGTERM');
  t.equal(await last.end(), 0);
});

t.test('whoever opens the lock file ends the daemon that says so', async (t) => {
  const stage = await Stage.open();
  t.teardown(() => stage.close());
  const lock = join(stage.directory, 'lock');
  stage.manifest('a.yaml', stage.pod('a'));
  const first = new Program('kubelet-ts', [...stage.words(), `--lock-file=${lock}`, '--exit-on-lock-contention']);
  await until('it runs', () => stage.running.length === 1);
  const second = new Program('kubelet-ts', [...stage.words(), `--lock-file=${lock}`]);
  t.equal(await first.end(), 0);
  await until('the second is up', () => second.err.includes('Container runtime is ready'));
  second.kill('SIGTERM');
  t.equal(await second.end(), 0);
  t.equal(stage.running.length, 1);
});

/** The kubeconfig that a person is told leads to a cluster with the node, its pods, and a place for new ones. */
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
  t.match(second.err, /holds pods that this agent does not know \(default\/a-dev\); nothing was touched\. Say --take-over/);
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
