// The mock runtime's exec, attach and port-forward with clients, without a kubelet between: terminals, ports, protocols, faults, and
// field report KB076 (terminals without a stderr stream, pairs of streams in any order, refused and reset ports).
import { setTimeout as delay } from 'node:timers/promises';
import t from 'tap';
import type { SpdyConnection, SpdyStream } from '../../src/adapters/streaming/index.js';
import { call } from '../ports/container-runtime.contract.js';
import { until } from '../support/until.js';
import { outputs, stand } from './mock-streams.js';
import { bytesOf, commandStreams, spdy, textOf, upgrade } from './stream-client.js';

t.setTimeout(300_000);

t.test('with a terminal nobody waits for a stream of errors (KB076)', async (t) => {
  const at = await stand(t);
  const connection = await spdy(await at.exec(['sh'], { stdin: true, stderr: false, tty: true }), 'v4.channel.k8s.io');
  const { stdin, stdout, resize, error } = (await commandStreams(connection, ['error', 'stdin', 'stdout', 'resize'])) as Record<string, SpdyStream>;
  let shown = '';
  stdout?.on('data', (chunk: Buffer) => {
    shown += chunk.toString();
  });
  const status = textOf(error as SpdyStream);
  await until('a prompt', () => shown.includes('/ # '));
  resize?.write('{"Width":101,"Height":33}\n');
  await connection.ping();
  stdin?.write('stty sizf\u007fe\r');
  await until('the size', () => shown.includes('33 101\r\n'));
  t.match(shown, /stty sizf\u0008 \u0008e\r\n33 101\r\n/, 'keys are shown, and the backspace takes one back');
  resize?.write('{"Width":1');
  resize?.write('40,"Height":50}');
  await connection.ping();
  stdin?.write('stty size; tty; nope\r');
  await until('the size follows', () => shown.includes('50 140\r\n/dev/pts/0\r\n'));
  await until('errors come on the one output', () => shown.includes('nope: not found'));
  stdin?.write('\u0004');
  t.match(JSON.parse(await status), { status: 'Failure', reason: 'NonZeroExitCode' }, 'Ctrl-D ends the shell with the last code');
  const other = await spdy(await at.exec(['cat'], { stdin: true, stderr: false, tty: true }), 'v4.channel.k8s.io');
  const streams = await commandStreams(other, ['error', 'stdin', 'stdout', 'resize']);
  streams.stdout?.resume();
  streams.stdin?.write('\u0003');
  t.match(await textOf(streams.error as SpdyStream), /"message":"130"/, 'Ctrl-C ends a program');
  connection.close();
  other.close();
});

t.test('streams that do not come, or that nobody asked for', async (t) => {
  const at = await stand(t, 'run=forever', { streamCreationMillis: 300 });
  const connection = await spdy(await at.exec(['true']), 'v4.channel.k8s.io');
  await commandStreams(connection, ['error', 'stdout']);
  await t.rejects(connection.open({ streamtype: 'stdin' }), /reset/, 'not asked for');
  await t.rejects(connection.open({ streamtype: 'stdout' }), /reset/, 'there already');
  await connection.closed;
  t.pass('a session whose streams do not come in time is over');
});

/** The request, and the answer in place of an upgrade. */
const refusals: readonly (readonly [sentence: string, headers: Record<string, string>, status: number, body: RegExp])[] = [
  ['another protocol', { Upgrade: 'h2c' }, 400, /unable to upgrade/],
  ['a version that nobody speaks', { Upgrade: 'SPDY/3.1', 'X-Stream-Protocol-Version': 'v9.channel.k8s.io' }, 403, /client supports \[v9\.channel\.k8s\.io\], server accepts \[v5/],
  ['a sub-protocol that nobody speaks', { Upgrade: 'websocket', 'Sec-WebSocket-Protocol': 'v9.channel.k8s.io' }, 403, /unable to negotiate protocol/],
  ['a WebSocket without a key', { Upgrade: 'websocket', 'Sec-WebSocket-Protocol': 'v5.channel.k8s.io' }, 400, /Sec-WebSocket-Key/],
];

t.test('what is refused', async (t) => {
  const at = await stand(t);
  for (const [sentence, headers, status, body] of refusals) {
    const answer = await upgrade(await at.exec(['true']), headers, 'GET');
    t.match(answer, { status, body }, sentence);
  }
  const url = await at.exec(['true']);
  const offer = { Upgrade: 'SPDY/3.1', 'X-Stream-Protocol-Version': 'v4.channel.k8s.io' };
  t.match(await upgrade(url.replace(/.{3}$/, 'xxx'), offer), { status: 404 }, 'an address that was not given out');
  t.match(await upgrade(url.replace('/exec/', '/attach/'), offer), { status: 404 }, 'one for something else');
  t.match(await upgrade(url, offer), { status: 404 }, 'which is used up by that');
  const again = await at.exec(['true']);
  (await spdy(again, 'v4.channel.k8s.io')).close();
  t.match(await upgrade(again, offer), { status: 404 }, 'an address is good for once');
  t.equal((await fetch(await at.exec(['true']))).status, 400, 'no upgrade at all');
  const rpc: readonly (readonly [sentence: string, asked: Promise<unknown>, message: RegExp])[] = [
    ['no stream', at.exec(['true'], { stdout: false, stderr: false }), /one of stdin, stdout, or stderr must be set/],
    ['a terminal with errors', at.exec(['true'], { tty: true }), /tty and stderr cannot both be true/],
    ['no such container', at.streaming.exec({ containerId: 'none', command: ['true'], ...outputs }, call()), /not found/],
    ['no such sandbox', at.streaming.portForward({ sandboxId: 'none', ports: [] }, call()), /not found/],
  ];
  for (const [sentence, asked, message] of rpc) await t.rejects(asked, message, sentence);
  await at.stopContainer();
  await t.rejects(at.exec(['true']), /CONTAINER_EXITED/, 'a container that has ended');
});

t.test('addresses that nobody uses are limited in number', async (t) => {
  const at = await stand(t);
  for (let i = 0; i < 1_000; i++) await at.exec(['true']);
  const error = await at.exec(['true']).catch((reason: unknown) => reason);
  t.match(error, { kind: 'resource-exhausted' });
});

t.test('a container that ends, ends its sessions', async (t) => {
  const at = await stand(t, 'run=forever,log=20/s');
  const connection = await spdy(await at.exec(['sleep', 'infinity']), 'v4.channel.k8s.io');
  const streams = await commandStreams(connection, ['error', 'stdout', 'stderr']);
  const { url } = await at.streaming.attach({ containerId: at.containerId, ...outputs }, call());
  const other = await spdy(url, 'v4.channel.k8s.io');
  const attached = await commandStreams(other, ['error', 'stdout', 'stderr']);
  let seen = '';
  attached.stdout?.on('data', (chunk: Buffer) => {
    seen += chunk.toString();
  });
  await until('what it writes is shown', () => /line \d+ of c\nline \d+ of c\n/.test(seen));
  const ends = [streams.error, attached.error].map((stream) => textOf(stream as SpdyStream));
  await at.stopContainer();
  t.match(await ends[0], /"message":"137"/, 'a command in it is killed');
  t.match(await ends[1], /"status":"Success"/, 'who only looked is told that it is over');
  connection.close();
  other.close();
});

async function forwarded(connection: SpdyConnection, port: number, requestid: string, order: readonly string[] = ['error', 'data'], pauseMillis = 0) {
  const streams: Record<string, SpdyStream> = {};
  for (const [i, streamtype] of order.entries()) {
    if (i > 0 && pauseMillis > 0) await delay(pauseMillis);
    streams[streamtype] = await connection.open({ streamtype, port: String(port), requestid });
  }
  const { data, error } = streams as { data: SpdyStream; error: SpdyStream };
  error.end();
  return { data, problem: textOf(error), answer: bytesOf(data) };
}

t.test('ports (KB076)', async (t) => {
  const at = await stand(t, 'listen=8080');
  const connection = await spdy(await at.forward(), 'portforward.k8s.io');
  for (const order of [
    ['error', 'data'],
    ['data', 'error'],
  ]) {
    const { data, problem, answer } = await forwarded(connection, 8080, `late ${order[0]}`, order, 2_000);
    data.end('hello');
    t.equal((await answer).toString(), 'hello', `${order[0]} first, the other one two seconds later`);
    t.equal(await problem, '');
  }
  const blocks = Array.from({ length: 50 }, (_, i) => Buffer.alloc(20_000 + i, String(i)));
  const answers = await Promise.all(
    blocks.map(async (block, i) => {
      const { data, problem, answer } = await forwarded(connection, 8080, `many ${i}`, i % 2 === 0 ? ['error', 'data'] : ['data', 'error']);
      data.end(block);
      return [await answer, await problem] as const;
    }),
  );
  t.ok(
    answers.every(([bytes, problem], i) => bytes.equals(blocks[i] as Buffer) && problem === ''),
    'fifty side by side, each with its own bytes',
  );
  const slow = await forwarded(connection, 8080, 'slow');
  slow.data.write('before ');
  const refused = await forwarded(connection, 9, 'refused');
  refused.data.end('anybody?');
  t.match(await refused.problem, /^error forwarding port 9 to pod p_ns, uid : failed to connect to localhost:9: dial tcp4 127\.0\.0\.1:9: connect: connection refused$/);
  slow.data.end('and after');
  t.equal((await slow.answer).toString(), 'before and after', 'the others are not touched by it');
  t.equal(await slow.problem, '');
  for (const headers of [{ streamtype: 'data' }, { streamtype: 'data', port: '0' }, { streamtype: 'data', port: '70000' }, { streamtype: 'what', port: '80' }])
    await t.rejects(connection.open(headers), /reset/, JSON.stringify(headers));
  connection.close();
});

t.test('one of three transfers is reset by what listens (KB076)', async (t) => {
  const at = await stand(t, 'listen=8080');
  const resets = { ...at.server.runtime.state.containers.get(at.containerId)?.script };
  t.equal(resets.serves, 'echo');
  const other = await stand(t, 'serve=reset');
  const connection = await spdy(await other.forward(), 'portforward.k8s.io');
  const [first, second, third] = [await forwarded(connection, 1, 'a'), await forwarded(connection, 2, 'b'), await forwarded(connection, 3, 'c')];
  second.data.write('a word too much');
  t.match(await second.problem, /error forwarding port 2 .*connection reset by peer/);
  first.data.end();
  third.data.end();
  t.equal(await first.problem, '', 'the one before goes on');
  t.equal(await third.problem, '', 'the one after, too');
  connection.close();
});

t.test('a pair that does not come together is told of, and nothing else', async (t) => {
  const at = await stand(t, 'listen=8080', { streamCreationMillis: 200 });
  const connection = await spdy(await at.forward(), 'portforward.k8s.io');
  const alone = await connection.open({ streamtype: 'error', port: '8080', requestid: '1' });
  t.match(await textOf(alone), /timed out waiting for streams/);
  const data = await connection.open({ streamtype: 'data', port: '8080', requestid: '2' });
  data.resume();
  await new Promise((resolve) => data.once('close', resolve));
  const { data: sound, answer } = await forwarded(connection, 8080, '3');
  sound.end('still here');
  t.equal((await answer).toString(), 'still here');
  connection.close();
});

t.test('what listens can be chosen', async (t) => {
  const web = await stand(t, 'serve=http');
  const connection = await spdy(await web.forward(), 'portforward.k8s.io');
  const { data, answer } = await forwarded(connection, 80, '1');
  data.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  t.match((await answer).toString(), /^HTTP\/1\.1 200 OK\r\n[\s\S]*\r\n\r\nok$/);
  connection.close();
  const deaf = await stand(t, 'serve=discard');
  const other = await spdy(await deaf.forward(), 'portforward.k8s.io');
  const sunk = await forwarded(other, 80, '1');
  sunk.data.end(Buffer.alloc(500_000));
  t.equal((await sunk.answer).length, 0);
  other.close();
});

/** How a session with that fault goes. */
const faults: readonly (readonly [fault: string, text: RegExp])[] = [
  ['reset', /^$|^x\n$/],
  ['half-close', /^x\n$/],
];

t.test('faults', async (t) => {
  for (const [fault, text] of faults) {
    const at = await stand(t, `stream=${fault}`);
    const connection = await spdy(await at.exec(['echo', 'x']), 'v4.channel.k8s.io');
    const streams = await commandStreams(connection, ['error', 'stdout', 'stderr']);
    const [stdout, status] = await Promise.all([textOf(streams.stdout as SpdyStream), textOf(streams.error as SpdyStream)]);
    t.match(stdout, text, fault);
    t.equal(status, '', `${fault}: nobody says how it ended`);
    await connection.closed;
    const forward = await spdy(await at.forward(), 'portforward.k8s.io');
    const { data } = await forwarded(forward, 80, '1');
    data.write('x');
    await forward.closed;
    t.pass(`${fault}: forwarded ports, too`);
  }
  const hanging = await stand(t, 'stream=hang');
  const connection = await spdy(await hanging.exec(['echo', 'x']), 'v4.channel.k8s.io');
  await commandStreams(connection, ['error', 'stdout', 'stderr']);
  await connection.ping();
  t.equal(hanging.server.streams.connections, 1, 'hang: the connection is there, and nothing comes');
  const silent = await stand(t, 'stream=no-answer');
  const asked = upgrade(await silent.exec(['true']), { Upgrade: 'SPDY/3.1', 'X-Stream-Protocol-Version': 'v4.channel.k8s.io' }).catch(() => 'cut');
  await until('it is there', () => silent.server.streams.connections === 1);
  await silent.server.stop();
  t.equal(await asked, 'cut', 'no-answer: until the runtime ends');
});

t.test('five hundred sessions come and go, whatever way, and leave nothing', async (t) => {
  const at = await stand(t);
  for (let round = 0; round < 10; round++) {
    await Promise.all(
      Array.from({ length: 50 }, async (_, i) => {
        const connection = await spdy(await at.exec(['cat'], { stdin: true }), 'v4.channel.k8s.io');
        const streams = await commandStreams(connection, ['error', 'stdin', 'stdout', 'stderr']);
        streams.stdin?.write('some');
        if (i % 3 === 0) connection.destroy();
        else if (i % 3 === 1) connection.close();
        else {
          streams.stdin?.end();
          await textOf(streams.error as SpdyStream);
          connection.close();
        }
        await connection.closed;
      }),
    );
  }
  await until('no connection is left', () => at.server.streams.connections === 0);
  t.pass('none is left');
});
