// WebSocket clients of the mock apiserver's exec, attach and port-forward, through a kubelet to the mock runtime: each sub-protocol, outcomes, refusals,
// faults of the runtime's streaming server, and hundreds of sessions that leave nothing. With ExtendWebSocketsToKubelet the kubelet translates them to
// SPDY, without it the apiserver does.
import { randomBytes } from 'node:crypto';
import t, { type Test } from 'tap';
import { upgrade } from '../adapters/stream-client.js';
import { channelsAt } from '../adapters/web-socket-client.js';
import { until } from '../support/until.js';
import { KubectlStage } from './kubectl-stage.js';

t.setTimeout(400_000);

const v5 = ['v5.channel.k8s.io'];

function urlOf({ server }: KubectlStage, pod: string, subresource: string, query: readonly (readonly [string, string])[] = []): string {
  return `${(server.httpUrl ?? '').replace('http:', 'ws:')}/api/v1/namespaces/default/pods/${pod}/${subresource}?${new URLSearchParams(query as [string, string][])}`;
}

function execUrl(at: KubectlStage, pod: string, command: readonly string[], streams: readonly string[] = ['stdout', 'stderr']): string {
  const all = ['stdin', 'stdout', 'stderr', 'tty'].map((name) => [name, String(streams.includes(name))] as const);
  return urlOf(at, pod, 'exec', [...all, ...command.map((word) => ['command', word] as const)]);
}

async function protocols(t: Test, at: KubectlStage): Promise<void> {
  for (const protocol of ['channel.k8s.io', 'base64.channel.k8s.io', 'v4.channel.k8s.io', 'v4.base64.channel.k8s.io', 'v5.channel.k8s.io']) {
    const client = await channelsAt(execUrl(at, 'p', ['sh', '-c', 'read WORD; echo got $WORD; echo err >&2; exit 3'], ['stdin', 'stdout', 'stderr']), [protocol]);
    t.equal(client.protocol, protocol);
    client.send(0, 'hello\n');
    await client.closed;
    t.equal(client.text(1), 'got hello\n', protocol);
    t.equal(client.text(2), 'err\n', protocol);
    if (/^v[45]/.test(protocol)) {
      const status = JSON.parse(client.text(3)) as object;
      t.match(status, { status: 'Failure', reason: 'NonZeroExitCode', details: { causes: [{ reason: 'ExitCode', message: '3' }] } }, protocol);
    } else t.match(client.text(3), /^command terminated with non-zero exit code: /, protocol);
  }
  const preferred = await channelsAt(execUrl(at, 'p', ['true']), ['v4.channel.k8s.io', 'v5.channel.k8s.io']);
  await preferred.closed;
  t.equal(preferred.protocol, 'v5.channel.k8s.io', 'where channels can be ended, that is spoken');
}

async function channels(t: Test, at: KubectlStage): Promise<void> {
  const fine = await channelsAt(execUrl(at, 'p', ['true']), v5);
  t.equal(await fine.closed, 1000, 'it closes in good order');
  t.match(JSON.parse(fine.text(3)), { status: 'Success' });
  const block = randomBytes(2_000_000);
  const large = await channelsAt(execUrl(at, 'p', ['cat'], ['stdin', 'stdout']), v5);
  for (let i = 0; i < block.length; i += 50_000) large.send(0, block.subarray(i, i + 50_000));
  large.end(0);
  await large.closed;
  t.ok(large.bytes(1).equals(block), 'two megabytes there and back, and the end of input ends the command');
  const screen = await channelsAt(execUrl(at, 'p', ['sh'], ['stdin', 'stdout', 'tty']), v5);
  screen.send(4, '{"Width":99,"Height":31}');
  await until('there is a prompt', () => screen.text(1).includes('# '));
  screen.send(0, 'stty size\r');
  await until('the size came through', () => screen.text(1).includes('31 99'));
  screen.send(0, 'exit 4\r');
  await screen.closed;
  t.match(JSON.parse(screen.text(3)), { details: { causes: [{ message: '4' }] } });
  const nonsense = await channelsAt(execUrl(at, 'p', ['cat'], ['stdin', 'stdout']), v5);
  for (const message of [[], [255], [255, 77], [9, 1], [3, 1, 2], [1, 65], [254, 254]]) nonsense.socket.send(Uint8Array.from(message));
  nonsense.socket.send('0text');
  nonsense.send(0, 'sound');
  nonsense.end(0);
  nonsense.send(0, 'too late');
  await nonsense.closed;
  t.equal(nonsense.text(1), 'sound', 'messages that mean nothing are passed over');
}

/** Pod, subresource, sub-protocol, and the answer in place of an upgrade. */
const refused: readonly (readonly [sentence: string, pod: string, subresource: string, protocol: string, status: number, body: RegExp])[] = [
  ['a pod that is not there', 'none', 'exec', 'v5.channel.k8s.io', 404, /pods \\"none\\" not found/],
  ['a protocol that nobody speaks', 'p', 'exec', 'v9.channel.k8s.io', 403, /unable to negotiate protocol/],
  ['a tunnel for what nobody speaks', 'p', 'portforward', 'SPDY/3.1+other.k8s.io', 403, /unable to negotiate protocol: client supports \[other\.k8s\.io\]/],
  ['ports that are not said', 'p', 'portforward', 'v4.channel.k8s.io', 400, /query parameter "port" is required/],
];

async function refusals(t: Test, at: KubectlStage, extended: boolean): Promise<void> {
  if (extended) await t.rejects(channelsAt(execUrl(at, 'ends', ['true']), v5), { message: 'Unexpected server response: 500' }, 'a container that has ended');
  else await endedContainer(t, at);
  for (const [sentence, pod, subresource, protocol, status, body] of refused) {
    const url = subresource === 'exec' ? execUrl(at, pod, ['true']) : urlOf(at, pod, subresource);
    const headers = { Upgrade: 'websocket', 'Sec-WebSocket-Version': '13', 'Sec-WebSocket-Key': randomBytes(16).toString('base64'), 'Sec-WebSocket-Protocol': protocol };
    t.match(await upgrade(url.replace('ws:', 'http:'), headers, 'GET'), { status, body }, sentence);
  }
}

/** The apiserver has agreed to the upgrade before it asks the kubelet. */
async function endedContainer(t: Test, at: KubectlStage): Promise<void> {
  const ended = await channelsAt(execUrl(at, 'ends', ['true']), v5);
  await ended.closed;
  const message = 'Internal error occurred: unable to upgrade connection: container not found ("c")';
  t.match(JSON.parse(ended.text(3)), { status: 'Failure', reason: 'InternalError', code: 500, message }, 'a container that has ended');
}

/** A pod with that fault, and the outcome of a session in it, from the error channel. */
async function faults(t: Test, at: KubectlStage): Promise<void> {
  const reset = await channelsAt(execUrl(at, 'resets', ['echo', 'x']), v5);
  await reset.closed;
  t.ok(['', 'x\n'].includes(reset.text(1)), 'reset: the session is over');
  const silence = { status: 'Failure', reason: 'InternalError', message: /the connection ended without an outcome of the command/ };
  t.match(JSON.parse(reset.text(3)), silence, 'reset: it is no success');
  const half = await channelsAt(execUrl(at, 'halves', ['echo', 'x']), v5);
  await half.closed;
  t.equal(half.text(1), 'x\n', 'half-close: what was written came');
  t.match(JSON.parse(half.text(3)), silence, 'half-close: silence is no success');
  for (const pod of ['hangs', 'silent']) {
    const hanging = await channelsAt(execUrl(at, pod, ['echo', 'x']), v5);
    await until(`${pod}: the runtime has it`, () => at.stage.runtime.streams.connections > 0);
    hanging.socket.terminate();
    await until(`${pod}: a client that goes, takes it along`, () => at.stage.runtime.streams.connections === 0);
    t.equal(hanging.text(1), '', pod);
  }
}

async function ports(t: Test, at: KubectlStage): Promise<void> {
  const legacy = await channelsAt(
    urlOf(at, 'p', 'portforward', [
      ['ports', '8080'],
      ['ports', '9'],
    ]),
    ['v4.channel.k8s.io'],
  );
  await until('each channel begins with its port', () => [0, 1, 2, 3].every((channel) => legacy.bytes(channel).length >= 2));
  t.strictSame(
    [0, 1, 2, 3].map((channel) => legacy.bytes(channel).readUInt16LE(0)),
    [8080, 8080, 9, 9],
  );
  legacy.send(0, 'hello');
  await until('it echoes', () => legacy.bytes(0).subarray(2).toString() === 'hello');
  await until('a port that nobody listens on is told of on its own channel', () => /error forwarding port 9 .*connection refused/.test(legacy.bytes(3).subarray(2).toString()));
  t.equal(legacy.bytes(1).length, 2);
  legacy.socket.close();
  await legacy.closed;
}

async function manySessions(t: Test, at: KubectlStage): Promise<void> {
  const round = async (count: number): Promise<void> => {
    await Promise.all(
      Array.from({ length: count }, async (_, i) => {
        const client = await channelsAt(execUrl(at, 'p', ['cat'], ['stdin', 'stdout']), v5);
        client.send(0, `word ${i}`);
        await until('it answers', () => client.text(1) === `word ${i}`);
        if (i % 3 === 0) client.socket.terminate();
        else if (i % 3 === 1) client.socket.close();
        else client.end(0);
        await client.closed;
      }),
    );
  };
  const began = performance.now();
  for (let i = 0; i < 5; i++) await round(50);
  t.comment(`250 sessions in ${Math.round(performance.now() - began)} ms`);
  await until('no connection to the runtime is left', () => at.stage.runtime.streams.connections === 0);
  const sockets = () => process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap' || name === 'TLSWrap').length;
  await until('nor any other but what daemon and servers keep', () => sockets() < 20);
  t.pass('hundreds of sessions came and went');
}

for (const extended of [true, false]) {
  t.test(`WebSocket through mock apiserver, kubelet and mock runtime, ExtendWebSocketsToKubelet=${extended}`, { timeout: 380_000 }, async (t) => {
    const at = await KubectlStage.open(t, {}, extended ? [] : ['featureGates: {ExtendWebSocketsToKubelet: false}']);
    await at.pod('p', 'listen=8080');
    await at.pod('resets', 'stream=reset');
    await at.pod('halves', 'stream=half-close');
    await at.pod('hangs', 'stream=hang');
    await at.pod('silent', 'stream=no-answer');
    await at.pod('ends', 'run=5s', { restartPolicy: 'Never' });
    await at.run(['wait', 'pod/ends', '--for=jsonpath={.status.phase}=Succeeded', '--timeout=30s']);
    const parts = { protocols, channels, refusals, faults, 'ports as channels': ports, 'many sessions': manySessions };
    for (const [name, part] of Object.entries(parts)) await t.test(name, (t) => part(t, at, extended));
  });
}
