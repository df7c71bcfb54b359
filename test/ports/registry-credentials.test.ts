// Registry credentials of the node itself: one contract on the model and on the real adapter, and faults of real plugins.
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { NodeRegistryCredentials } from '../../src/adapters/credentials/index.js';
import { failingPort } from '../../src/adapters/decorators/index.js';
import type { Call, PortOf } from '../../src/ports/operation.js';
import type { PluginRun, RegistryCredentialOperations } from '../../src/ports/outbound/registry-credentials.js';
import { PortError } from '../../src/ports/port-error.js';
import type { HostOperationName } from '../../src/sim/host/host-ports.js';
import { SimHost } from '../../src/sim/host/sim-host.js';
import { portErrorOf } from '../support/port-failures.js';
import { type CredentialsUnderTest, quietCall, registryCredentialsContract, runOf } from './registry-credentials.contract.js';

function modelled(): CredentialsUnderTest {
  const host = new SimHost({ seed: 1 });
  const operation = (name: string) => async (request: never, call: Call) => {
    const op = `registryCredentials.${name}` as HostOperationName;
    if (call.signal.aborted) throw new PortError({ kind: 'cancelled', message: '', operation: op, subject: '' });
    const { outcome } = host.handle(op, request, 0);
    if (!outcome.ok) throw new PortError(outcome.error);
    return outcome.value;
  };
  const port = new Proxy({}, { get: (_, name) => operation(String(name)) }) as PortOf<RegistryCredentialOperations>;
  return {
    port,
    configure: (text) => {
      host.state.dockerConfig = { format: 'config.json', path: '/config.json', text };
    },
    plugin: (name, answer) =>
      host.state.credentialPlugins.set(name, { stdout: 'stdout' in answer ? answer.stdout : '', failure: 'failure' in answer ? answer.failure : null, takes: 0 }),
  };
}

interface RealCredentials extends CredentialsUnderTest {
  readonly base: string;
  /** Makes a plugin of a shell script. */
  script(name: string, text: string): void;
  run(run: PluginRun, timeoutMillis?: number): Promise<{ readonly stdout: string }>;
}

function real(t: Test): RealCredentials {
  const base = mkdtempSync(join(tmpdir(), 'registry-credentials-'));
  t.teardown(() => rmSync(base, { recursive: true }));
  const [rootDirectory, workingDirectory, homeDirectory, pluginDirectory] = ['root', 'work', 'home', 'plugins'].map((name) => join(base, name)) as [string, string, string, string];
  for (const path of [rootDirectory, workingDirectory, homeDirectory, pluginDirectory]) mkdirSync(path);
  const port = new NodeRegistryCredentials({
    rootDirectory,
    workingDirectory,
    homeDirectory,
    pluginDirectory,
    environment: { PATH: process.env.PATH, FROM: 'kubelet', OWN: 'kubelet' },
  });
  const script = (name: string, text: string) => {
    writeFileSync(join(pluginDirectory, name), `#!/bin/sh\n${text}\n`);
    chmodSync(join(pluginDirectory, name), 0o755);
  };
  return {
    base,
    port,
    script,
    configure: (text) => writeFileSync(join(rootDirectory, 'config.json'), text),
    plugin: (name, answer) => script(name, 'stdout' in answer ? `printf %s '${answer.stdout}'` : `printf %s '${answer.failure}' >&2; exit 3`),
    run: (run, timeoutMillis = 20_000) => port.runPlugin(run, { signal: AbortSignal.timeout(timeoutMillis) as unknown as Call['signal'], timeoutMicros: timeoutMillis * 1_000 }),
  };
}

t.test('the model', (t) => registryCredentialsContract(t, modelled()));
t.test('the node', (t) => registryCredentialsContract(t, real(t)));

t.test('a port that fails says so for each operation', async (t) => {
  const port = failingPort('registryCredentials', 'unavailable', 'away');
  t.match(await portErrorOf(port.readNodeConfig(null, quietCall)), { kind: 'unavailable', operation: 'registryCredentials.readNodeConfig' });
  t.match(await portErrorOf(port.runPlugin(runOf('x'), quietCall)), { kind: 'unavailable', operation: 'registryCredentials.runPlugin' });
});

t.test('the first configuration of the usual places counts', async (t) => {
  const { base, port } = real(t);
  const places = [
    ['home/.dockercfg', '.dockercfg'],
    ['root/.dockercfg', '.dockercfg'],
    ['home/.docker/config.json', 'config.json'],
    ['work/config.json', 'config.json'],
    ['root/config.json', 'config.json'],
  ] as const;
  mkdirSync(join(base, 'home/.docker'));
  for (const [path, format] of places) {
    writeFileSync(join(base, path), path);
    t.strictSame(await port.readNodeConfig(null, quietCall), { format, path: join(base, path), text: path }, path);
  }
  rmSync(join(base, 'root/config.json'));
  mkdirSync(join(base, 'root/config.json'));
  t.match(await port.readNodeConfig(null, quietCall), { text: 'work/config.json' }, 'a directory in its place is passed over');
  writeFileSync(join(base, 'work/config.json'), 'x'.repeat(1024 * 1024 + 1));
  t.match(await port.readNodeConfig(null, quietCall), { text: 'home/.docker/config.json' }, 'so is what is larger than any such file');
});

t.test('what a plugin gets: arguments, its environment over the kubelet’s, and the request through a pipe', async (t) => {
  const { script, run } = real(t);
  script('plugin', 'echo "$#:$1:$2 $FROM $OWN"; cat; tr "\\0" " " < /proc/$$/cmdline');
  const { stdout } = await run(runOf('plugin', { args: ['get', 'a b'], env: [{ name: 'OWN', value: 'configured' }], stdin: '{"token":"t0k3n-in-stdin"}\n' }));
  const [first, second, commandLine = ''] = stdout.split('\n');
  t.strictSame([first, second], ['2:get:a b kubelet configured', '{"token":"t0k3n-in-stdin"}']);
  t.notMatch(commandLine, /t0k3n/, 'nothing of the request is on the command line');
});

const secret = 's3cr3t-of-the-plugin';
const misbehaviours: readonly (readonly [string, string, { readonly kind: string; readonly message: string | RegExp }])[] = [
  ['an exit status', `echo ${secret}; echo why >&2; exit 4`, { kind: 'unknown', message: 'exit status 4: why' }],
  ['an exit status without a word', `echo ${secret}; exit 1`, { kind: 'unknown', message: 'exit status 1' }],
  ['a signal', `echo ${secret}; kill -SEGV $$`, { kind: 'unknown', message: 'signal: SIGSEGV' }],
  ['output without end', `while :; do echo ${secret}; done`, { kind: 'resource-exhausted', message: 'wrote more than 1048576 bytes' }],
  ['error output without end is cut to its end', 'i=0; while [ $i -lt 3000 ]; do echo "line $i" >&2; i=$((i+1)); done; exit 2', { kind: 'unknown', message: /line 2999$/ }],
];
t.test('what a plugin may do wrong, each with its error, none with what it wrote to its output', async (t) => {
  const { script, run } = real(t);
  for (const [sentence, text, wanted] of misbehaviours) {
    script('plugin', text);
    const error = await portErrorOf(run(runOf('plugin')));
    t.match(error, { ...wanted, operation: 'registryCredentials.runPlugin', subject: 'plugin' }, sentence);
    t.ok(error.message.length < 5000, 'bounded');
    t.notMatch(JSON.stringify({ ...error, message: error.message }), secret, `${sentence}: no output in the error`);
  }
});

/** The state of the process whose id a file holds: after SIGKILL a process ends when the kernel next schedules it. */
async function endOf(path: string): Promise<string> {
  const stat = `/proc/${readFileSync(path, 'utf8').trim()}/stat`;
  const until = performance.now() + 60_000;
  for (;;) {
    let state = 'gone';
    try {
      state = readFileSync(stat, 'utf8').replace(/^.*\) /, '')[0] ?? '';
    } catch {
      // Gone between two looks.
    }
    if (state === 'gone' || state === 'Z') return 'ended';
    if (performance.now() > until) return `still ${state}`;
    await new Promise(setImmediate);
  }
}

t.test('a plugin that hangs is killed at its deadline, with all that it started', async (t) => {
  const { base, script, run } = real(t);
  script('plugin', `trap "" TERM; sh -c 'trap "" TERM; echo $$ > ${base}/child; while :; do sleep 1; done' & echo $$ > ${base}/plugin; wait`);
  t.match(await portErrorOf(run(runOf('plugin'), 1_500)), { kind: 'deadline-exceeded', message: 'context deadline exceeded' });
  for (const name of ['plugin', 'child']) t.equal(await endOf(join(base, name)), 'ended', name);
});

t.test('what a plugin leaves in the background ends with it, and does not keep the call', async (t) => {
  const { base, script, run } = real(t);
  script('plugin', `sh -c 'echo $$ > ${base}/child; exec sleep 60' >/dev/null 2>&1 </dev/null & while [ ! -s ${base}/child ]; do :; done; echo done`);
  t.strictSame(await run(runOf('plugin')), { stdout: 'done\n' });
  t.equal(await endOf(join(base, 'child')), 'ended');
});

t.test('programs that can’t be run', async (t) => {
  const { base, script, run } = real(t);
  script('plugin', 'echo never');
  chmodSync(join(base, 'plugins/plugin'), 0o644);
  t.match(await portErrorOf(run(runOf('plugin'))), { kind: 'permission-denied', message: 'cannot be run: EACCES' });
  const none = new NodeRegistryCredentials({ rootDirectory: base, workingDirectory: base, homeDirectory: null, pluginDirectory: null, environment: {} });
  t.match(await portErrorOf(none.runPlugin(runOf('plugin'), quietCall)), { kind: 'failed-precondition' });
});

t.test('one that ends without reading what it is sent is no failure', async (t) => {
  const { script, run } = real(t);
  script('plugin', 'exec <&-; echo answered');
  t.strictSame(await run(runOf('plugin', { stdin: 'x'.repeat(300_000) })), { stdout: 'answered\n' });
});
