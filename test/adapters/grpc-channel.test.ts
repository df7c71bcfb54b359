// The gRPC client against HTTP/2 servers with every kind of behaviour: how each call ends, that it ends once, and that nothing stays open.
import { once } from 'node:events';
import { createServer, type Http2Server, type IncomingHttpHeaders, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import { type AddressInfo, connect, createServer as createTcpServer, type Server } from 'node:net';
import t, { type Test } from 'tap';
import { GrpcChannel, type GrpcFailure, grpcStatus } from '../../src/adapters/grpc/index.js';

t.setTimeout(60_000);

type Handler = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, session: ServerHttp2Session) => void;
type Outcome = string;

async function listening(t: Test, server: Server | Http2Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  return (server.address() as AddressInfo).port;
}

async function peer(t: Test, handler: Handler): Promise<{ readonly port: number; readonly sessions: Set<ServerHttp2Session> }> {
  const server = createServer();
  const sessions = new Set<ServerHttp2Session>();
  server.on('session', (session) => {
    sessions.add(session);
    session.once('close', () => sessions.delete(session));
    session.on('error', () => {});
  });
  server.on('stream', (stream, headers) => {
    stream.on('error', () => {});
    handler(stream, headers, stream.session as ServerHttp2Session);
  });
  t.teardown(() => {
    for (const session of sessions) session.destroy();
  });
  return { port: await listening(t, server), sessions };
}

function channelTo(t: Test, port: number, messageBytesMax = 1_000): GrpcChannel {
  const dialProblem = (error: Error) => `dial tcp: ${(error as NodeJS.ErrnoException).code}`;
  const channel = new GrpcChannel({ dial: () => connect({ host: '127.0.0.1', port }), dialProblem, authority: 'a', userAgent: 'test', messageBytesMax });
  t.teardown(() => channel.close());
  return channel;
}

function ask(channel: GrpcChannel, path = '/s/m', millis: number | null = 20_000): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    let settled = 0;
    channel.unary(path, Buffer.from('question'), millis, (failure, answer) => {
      if (++settled > 1) reject(new Error('settled twice'));
      resolve(failure === null ? answer.toString() : textOf(failure));
    });
  });
}

const textOf = ({ code, details }: GrpcFailure): string => `${code} ${details}`;
const message = (text: string): Buffer => Buffer.concat([Buffer.from([0, 0, 0, 0, text.length]), Buffer.from(text)]);
const grpc = { ':status': 200, 'content-type': 'application/grpc' };

function answering(stream: ServerHttp2Stream, bytes: readonly Buffer[], trailers: Record<string, string>): void {
  stream.respond(grpc, { waitForTrailers: true });
  stream.once('wantTrailers', () => stream.sendTrailers(trailers));
  for (const part of bytes) stream.write(part);
  stream.end();
}

const rows: readonly (readonly [sentence: string, handler: Handler, outcome: Outcome | RegExp])[] = [
  ['one answer', (stream) => answering(stream, [message('yes')], { 'grpc-status': '0' }), 'yes'],
  ['an empty answer is one', (stream) => answering(stream, [message('')], { 'grpc-status': '0' }), ''],
  [
    'an answer in single bytes',
    (stream) =>
      answering(
        stream,
        [...message('yes')].map((byte) => Buffer.from([byte])),
        { 'grpc-status': '0' },
      ),
    'yes',
  ],
  ['no answer', (stream) => answering(stream, [], { 'grpc-status': '0' }), '13 cardinality violation: expected one answer, got 0'],
  ['two answers', (stream) => answering(stream, [message('a'), message('b')], { 'grpc-status': '0' }), '13 cardinality violation: expected one answer, got 2'],
  ['half an answer', (stream) => answering(stream, [message('yes').subarray(0, 6)], { 'grpc-status': '0' }), '13 unexpected EOF'],
  ['a status with a message', (stream) => answering(stream, [], { 'grpc-status': '5', 'grpc-message': 'no such container' }), '5 no such container'],
  ['its message is percent-encoded', (stream) => answering(stream, [], { 'grpc-status': '2', 'grpc-message': 'f%C3%BCr 100%25' }), '2 für 100%'],
  ['or badly so', (stream) => answering(stream, [], { 'grpc-status': '2', 'grpc-message': '100% of it' }), '2 100% of it'],
  ['an answer before a status counts for nothing', (stream) => answering(stream, [message('yes')], { 'grpc-status': '13', 'grpc-message': 'x' }), '13 x'],
  ['headers with a status are all', (stream) => stream.respond({ ...grpc, 'grpc-status': '12', 'grpc-message': 'unknown method' }, { endStream: true }), '12 unknown method'],
  ['a status that is no number', (stream) => answering(stream, [], { 'grpc-status': 'fine' }), '2 '],
  ['trailers without a status', (stream) => answering(stream, [message('yes')], { other: 'x' }), '2 '],
  ['no trailers', (stream) => stream.respond(grpc) ?? stream.end(message('yes')), '2 the answer has no status'],
  [
    'a web server',
    (stream) => {
      stream.respond({ ':status': 404, 'content-type': 'text/html' });
      stream.end('<p>');
    },
    '12 unexpected HTTP status code received from server: 404; transport: received unexpected content-type "text/html"',
  ],
  ['a proxy', (stream) => stream.respond({ ':status': 503, 'content-type': 'application/grpc' }, { endStream: true }), '14 unexpected HTTP status code received from server: 503'],
  ['compressed', (stream) => answering(stream, [Buffer.from([1, 0, 0, 0, 1, 65])], { 'grpc-status': '0' }), '13 grpc: compressed flag set with identity or empty encoding'],
  [
    'too long, told before it has come',
    (stream) => {
      stream.respond(grpc);
      stream.write(Buffer.from([0, 0, 0x10, 0, 0]));
    },
    '8 grpc: received message larger than max (1048576 vs. 1000)',
  ],
  ['refused', (stream) => stream.close(7), '14 stream terminated by RST_STREAM with error code: REFUSED_STREAM'],
  ['cancelled by the server', (stream) => stream.close(8), '1 stream terminated by RST_STREAM with error code: CANCEL'],
  ['reset', (stream) => stream.close(2), '13 stream terminated by RST_STREAM with error code: INTERNAL_ERROR'],
  ['told to be calm', (stream) => stream.close(11), '8 stream terminated by RST_STREAM with error code: ENHANCE_YOUR_CALM'],
  ['the connection is cut', (_stream, _headers, session) => session.destroy(), '14 error reading from server: EOF'],
  [
    'the connection is cut in the middle of an answer',
    (stream, _headers, session) => stream.respond(grpc) ?? stream.write(message('yes').subarray(0, 6), () => session.destroy()),
    /^14 /,
  ],
];

t.test('how a call ends', async (t) => {
  for (const [sentence, handler, outcome] of rows) {
    const { port } = await peer(t, handler);
    const channel = channelTo(t, port);
    const got = await ask(channel);
    if (typeof outcome === 'string') t.equal(got, outcome, sentence);
    else t.match(got, outcome, sentence);
  }
});

t.test('what is sent', async (t) => {
  const seen: IncomingHttpHeaders[] = [];
  const { port } = await peer(t, (stream, headers) => {
    seen.push(headers);
    const chunks: Buffer[] = [];
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('end', () => answering(stream, [Buffer.concat(chunks)], { 'grpc-status': '0' }));
  });
  const channel = channelTo(t, port);
  t.equal(await ask(channel, '/a.B/C', 1_500.2), 'question');
  await ask(channel, '/a.B/C', null);
  await ask(channel, '/a.B/C', 400_000_000_000);
  const common = { ':method': 'POST', ':scheme': 'http', ':path': '/a.B/C', ':authority': 'a', te: 'trailers', 'content-type': 'application/grpc', 'user-agent': 'test' };
  t.strictSame(
    seen.map((headers) => Object.fromEntries(Object.entries(headers))),
    [{ ...common, 'grpc-timeout': '1501m' }, { ...common }, { ...common, 'grpc-timeout': '99999999S' }],
  );
});

t.test('deadlines and cancelling, which the server hears of', async (t) => {
  const resets: number[] = [];
  const { port, sessions } = await peer(t, (stream) => stream.once('close', () => resets.push(stream.rstCode)));
  const channel = channelTo(t, port);
  t.equal(await ask(channel, '/s/m', 30), '4 context deadline exceeded');
  const cancelled = await new Promise<Outcome>((resolve) => {
    const call = channel.unary('/s/m', Buffer.alloc(0), null, (failure) => resolve(failure === null ? '' : textOf(failure)));
    setTimeout(() => {
      call.cancel();
      call.cancel();
    }, 30);
  });
  t.equal(cancelled, '1 context canceled');
  for (const end = Date.now() + 60_000; resets.length < 2 && Date.now() < end; ) await new Promise((resolve) => setTimeout(resolve, 5));
  t.strictSame(resets, [8, 8]);
  t.equal(sessions.size, 1, 'and the connection stays');
});

t.test('a peer that never speaks', async (t) => {
  let open = 0;
  const mute = createTcpServer((socket) => {
    open++;
    socket
      .on('error', () => {})
      .on('close', () => open--)
      .resume();
  });
  const port = await listening(t, mute);
  const channel = channelTo(t, port);
  const outcomes = await Promise.all([ask(channel, '/s/m', 50), ask(channel, '/s/m', 60)]);
  t.strictSame(outcomes, ['4 context deadline exceeded', '4 context deadline exceeded']);
  channel.close();
  for (const end = Date.now() + 60_000; open > 0 && Date.now() < end; ) await new Promise((resolve) => setTimeout(resolve, 5));
  t.equal(open, 0, 'is let go of with the channel');
});

t.test('peers that speak something else, or nothing is there', async (t) => {
  const web = createTcpServer((socket) => socket.on('error', () => {}).once('data', () => socket.end('HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n')));
  t.match(await ask(channelTo(t, await listening(t, web))), /^14 /, 'HTTP/1');
  const shut = createTcpServer((socket) => socket.destroy());
  t.match(await ask(channelTo(t, await listening(t, shut))), /^14 /, 'a connection that is closed at once');
  const gone = createTcpServer();
  const port = await listening(t, gone);
  gone.close();
  await once(gone, 'close');
  const channel = channelTo(t, port);
  const dialled = '14 connection error: desc = "transport: Error while dialing: dial tcp: ECONNREFUSED"';
  t.strictSame(await Promise.all([ask(channel), ask(channel)]), [dialled, dialled], 'each call is told');
  channel.close();
  t.equal(await ask(channel), '14 the channel is closed');
});

t.test('a server that goes away answers what it has; the next call goes to a new connection', async (t) => {
  let connections = 0;
  let release: () => void = () => {};
  const { port } = await peer(t, (stream, headers, session) => {
    if (headers[':path'] === '/slow') release = () => answering(stream, [message('late')], { 'grpc-status': '0' });
    else answering(stream, [message(String(connections))], { 'grpc-status': '0' });
    if (headers[':path'] === '/bye') session.goaway(0);
  });
  const channel = new GrpcChannel({
    dial: () => {
      connections++;
      return connect({ host: '127.0.0.1', port });
    },
    dialProblem: String,
    authority: 'a',
    userAgent: 'test',
    messageBytesMax: 1_000,
  });
  t.teardown(() => channel.close());
  const slow = ask(channel, '/slow');
  t.equal(await ask(channel, '/bye'), '1');
  for (const end = Date.now() + 60_000; Date.now() < end; ) if ((await ask(channel, '/s/m')) === '2') break;
  t.equal(connections, 2);
  release();
  t.equal(await slow, 'late');
});

t.test('a stream of answers', async (t) => {
  const { port } = await peer(t, (stream) => answering(stream, [message('a'), Buffer.concat([message('b'), message('c')])], { 'grpc-status': '0' }));
  const channel = channelTo(t, port);
  const log: string[] = [];
  await new Promise<void>((resolve) => {
    channel.call('/s/m', Buffer.alloc(0), null, {
      begun: () => log.push('begun'),
      message: (bytes) => log.push(bytes.toString()),
      ended: (failure) => {
        log.push(failure === null ? 'ended' : textOf(failure));
        resolve();
      },
    });
  });
  t.strictSame(log, ['begun', 'a', 'b', 'c', 'ended']);
});

t.test('hundreds at once on one connection', async (t) => {
  const { port, sessions } = await peer(t, (stream, headers) => setTimeout(() => answering(stream, [message(String(headers[':path']))], { 'grpc-status': '0' }), 5));
  const channel = channelTo(t, port);
  const paths = Array.from({ length: 500 }, (_, i) => `/s/${i}`);
  t.strictSame(await Promise.all(paths.map((path) => ask(channel, path))), paths);
  t.equal(sessions.size, 1);
  t.equal(grpcStatus.OK, 0);
});
