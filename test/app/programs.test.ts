// kubelet-ts as a process: versions, refusals and their exit codes, signals and kill -9.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { until } from '../support/until.js';
import { Program } from './programs.js';
import { Stage } from './stage.js';

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
