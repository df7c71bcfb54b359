// kubectl exec, attach, cp and port-forward on mocks alone: through the mock apiserver and the kubelet to the mock runtime, as WebSocket, which
// kubectl tries first, and as SPDY.
import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { skipWithoutKubectl } from '../containerd/kubectl.js';
import { until } from '../support/until.js';
import { type Environment, freePort, KubectlStage } from './kubectl-stage.js';

t.setTimeout(400_000);
const skip = skipWithoutKubectl();

const ways: readonly (readonly [way: string, environment: Environment, spoken: RegExp])[] = [
  ['WebSocket', {}, /Sec-Websocket-Protocol: v5\.channel\.k8s\.io[\s\S]*101 Switching Protocols[\s\S]*The subprotocol is v5\.channel\.k8s\.io/],
  [
    'SPDY',
    { KUBECTL_REMOTE_COMMAND_WEBSOCKETS: 'false', KUBECTL_PORT_FORWARD_WEBSOCKETS: 'false' },
    /POST https:[^\n]*\/exec[\s\S]*101 Switching Protocols[\s\S]*Upgrade: SPDY\/3\.1/,
  ],
];

/** Words after `exec`, input, exit code, output, errors. */
const rows: readonly (readonly [words: readonly string[], input: string, code: number, stdout: RegExp, stderr: RegExp])[] = [
  [['p', '--', 'echo', 'hi'], '', 0, /^hi\n$/, /^$/],
  [['p', '--', 'sh', '-c', 'echo out; echo err >&2; exit 7'], '', 7, /^out\n$/, /^err\ncommand terminated with exit code 7\n$/],
  [['p', '--', 'nope'], '', 127, /^$/, /no such program[\s\S]*exit code 127/],
  [['-i', 'p', '--', 'cat'], 'hello', 0, /^hello$/, /^$/],
  [['-i', 'p', '--', 'sh'], 'echo one\nexit 3\n', 3, /^one\n$/, /exit code 3/],
  [['p', '--', 'cat'], '', 0, /^$/, /^$/],
  [['p', '-c', 'other', '--', 'true'], '', 1, /^$/, /container other is not valid for pod p/],
  [['none', '--', 'true'], '', 1, /^$/, /pods "none" not found/],
  [['ends', '-c', 'c', '--', 'true'], '', 1, /^$/, /unable to upgrade connection: container not found \("c"\)/],
];

async function exec(t: Test, at: KubectlStage, environment: Environment, spoken: RegExp): Promise<void> {
  for (const [words, input, code, stdout, stderr] of rows) {
    const said = await at.run(['exec', ...words], input, environment);
    t.equal(said.code, code, words.join(' '));
    t.match(said.stdout.toString(), stdout, words.join(' '));
    t.match(said.stderr, stderr, words.join(' '));
  }
  t.match((await at.run(['exec', 'p', '-v=8', '--', 'true'], '', environment)).stderr, spoken, 'it is really spoken');
  const large = randomBytes(1024 * 1024);
  const there = await at.run(['exec', '-i', 'p', '--', 'cat'], large, environment);
  t.equal(there.code, 0);
  t.ok(there.stdout.equals(large), 'a mebibyte of input comes back as it was');
  const unread = await at.run(['exec', '-i', 'p', '--', 'sh', '-c', 'echo done; exit 5'], large, environment);
  t.match([unread.code, unread.stdout.toString()], [5, 'done\n'], 'a command that reads nothing of it ends');
}

async function copies(t: Test, { run, stage }: { run: KubectlStage['run']; stage: KubectlStage['stage'] }, environment: Environment): Promise<void> {
  const file = join(stage.directory, 'large');
  writeFileSync(`${file}.in`, randomBytes(3_000_000));
  for (const words of [
    [`${file}.in`, 'p:/tmp/large'],
    ['p:/tmp/large', `${file}.out`],
  ]) {
    const said = await run(['cp', ...words], '', environment);
    t.match([said.code, said.stderr], [0, /^(tar: [Rr]emoving[^\n]*\n)?$/], words.join(' '));
  }
  t.ok(readFileSync(`${file}.out`).equals(readFileSync(`${file}.in`)), 'a file goes there and comes back as it was');
}

async function attach(t: Test, at: KubectlStage, environment: Environment): Promise<void> {
  const child = at.spawn(['attach', 'talks'], environment);
  t.teardown(() => child.kill('SIGKILL'));
  let text = '';
  child.stdout.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  await until('what the container writes is shown', () => /line \d+ of c\nline \d+ of c\n/.test(text));
  const [, before] = [.../line (\d+) of c/.exec(text)!];
  t.ok(Number(before) >= 1);
  const closed = new Promise<number | null>((resolve) => child.once('close', resolve));
  child.kill('SIGINT');
  await closed;
}

/** The echo of the sent bytes, or the error. */
function echoed(port: number, bytes: Buffer): Promise<Buffer | string> {
  return new Promise((resolve) => {
    const got: Buffer[] = [];
    const socket = connect({ port, host: '127.0.0.1' }, () => socket.end(bytes));
    socket.on('data', (chunk: Buffer) => got.push(chunk));
    socket.once('error', (error) => resolve(String(error)));
    socket.once('close', () => resolve(Buffer.concat(got)));
  });
}

async function portForward(t: Test, at: KubectlStage, environment: Environment): Promise<void> {
  const [open, shut] = [await freePort(), await freePort()];
  const child = at.spawn(['port-forward', 'pod/serves', `${open}:8080`, `${shut}:9`, '-v=8'], environment);
  t.teardown(() => child.kill('SIGKILL'));
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      said += chunk.toString();
    });
  await until('the ports are there', () => said.split('Forwarding from').length > 2);
  if (environment.KUBECTL_PORT_FORWARD_WEBSOCKETS === undefined)
    t.match(said, /Sec-Websocket-Protocol: SPDY\/3\.1\+portforward\.k8s\.io[\s\S]*negotiated protocol: portforward\.k8s\.io/, 'in a tunnel');
  else t.match(said, /Upgrade: SPDY\/3\.1/);
  const blocks = Array.from({ length: 50 }, (_, i) => randomBytes(1 + i * 10_000));
  const answers = await Promise.all(blocks.map((block) => echoed(open, block)));
  for (const [i, answer] of answers.entries()) t.ok(Buffer.isBuffer(answer) && answer.equals(blocks[i] as Buffer), `connection ${i}: each byte came back`);
  t.equal(child.exitCode, null, 'and kubectl goes on');
  const refused = await echoed(shut, Buffer.from('anybody?'));
  t.ok(typeof refused === 'string' || refused.length === 0, 'a port that nobody listens on gives nothing');
  await until('it is told why', () => /an error occurred forwarding \d+ -> 9: error forwarding port 9 to pod serves_default, uid : .*connection refused/.test(said));
  child.kill('SIGKILL');
}

/** The outcome of a broken session, for each protocol. */
const faults: readonly (readonly [script: string, stdout: RegExp])[] = [
  ['stream=reset', /^(x\n)?$/],
  ['stream=half-close', /^x\n$/],
];

/** A pod that runs, of which one container has ended for good. */
async function endedContainer(at: KubectlStage): Promise<void> {
  const metadata = { name: 'ends', annotations: { 'sim.kubelet-ts/c': 'run=0s,exit=0', 'sim.kubelet-ts/d': 'run=forever' } };
  const containers = ['c', 'd'].map((name) => ({ name, image: 'busybox', imagePullPolicy: 'IfNotPresent' }));
  const spec = { restartPolicy: 'Never', automountServiceAccountToken: false, terminationGracePeriodSeconds: 1, containers };
  await at.run(['apply', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata, spec }));
  const { code, stderr } = await at.run(['wait', 'pod/ends', '--for=jsonpath={.status.containerStatuses[0].state.terminated.reason}=Completed', '--timeout=60s']);
  if (code !== 0) throw new Error(`pod ends: ${stderr}`);
}

t.test('kubectl on mocks', { skip, timeout: 380_000 }, async (t) => {
  const at = await KubectlStage.open(t);
  await at.pod('p');
  await at.pod('talks', 'run=forever,log=20/s');
  await at.pod('serves', 'listen=8080');
  for (const [i, [script]] of faults.entries()) await at.pod(`fault-${i}`, script);
  await endedContainer(at);
  for (const [way, environment, spoken] of ways) {
    await t.test(`${way}: exec`, (t) => exec(t, at, environment, spoken));
    await t.test(`${way}: cp`, (t) => copies(t, { run: (...words) => at.run(...words), stage: at.stage }, environment));
    await t.test(`${way}: attach`, (t) => attach(t, at, environment));
    await t.test(`${way}: port-forward`, (t) => portForward(t, at, environment));
    await t.test(`${way}: a session that breaks, ends`, async (t) => {
      for (const [i, [script, stdout]] of faults.entries()) {
        const said = await at.run(['exec', `fault-${i}`, '--', 'echo', 'x'], '', environment);
        t.match(said.stdout.toString(), stdout, script);
      }
    });
  }
  await until('no connection to the runtime is left', () => at.stage.runtime.streams.connections === 0);
  t.pass('nothing is left');
});
