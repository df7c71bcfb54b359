// The HTTP/2 client against Node's server (headers, bodies, windows, limits) and against peers that send arbitrary bytes.
import { once } from 'node:events';
import { createServer, type Http2Server, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import { type AddressInfo, connect } from 'node:net';
import { Duplex } from 'node:stream';
import t, { type Test } from 'tap';
import { Http2Connection, headerBlock, type StreamEnd } from '../../src/adapters/http2/index.js';
import { Random32 } from '../domain/random-32.js';

t.setTimeout(120_000);

const block = (path: string): Buffer => headerBlock({ ':method': 'POST', ':scheme': 'http', ':path': path, ':authority': 'a', 'x-long': 'v'.repeat(300) });

interface Answer {
  readonly headers: ReadonlyMap<string, string>[];
  readonly body: Buffer;
  readonly end: StreamEnd;
}

function ask(connection: Http2Connection, path = '/', body: Buffer = Buffer.from('question')): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers: ReadonlyMap<string, string>[] = [];
    const chunks: Buffer[] = [];
    let ends = 0;
    connection.request(block(path), body, {
      headers: (got) => headers.push(got),
      data: (bytes) => chunks.push(bytes),
      ended: (end) => (++ends > 1 ? reject(new Error('ended twice')) : resolve({ headers, body: Buffer.concat(chunks), end })),
    });
  });
}

async function connected(t: Test, server: Http2Server): Promise<Http2Connection> {
  const sessions = new Set<ServerHttp2Session>();
  server.on('session', (session) => sessions.add(session.on('error', () => {})));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const connection = new Http2Connection({ dial: () => connect({ host: '127.0.0.1', port }), spoke: () => {}, left: () => {} });
  t.teardown(() => {
    connection.destroy();
    for (const session of sessions) session.destroy();
    server.close();
  });
  return connection;
}

function echoing(stream: ServerHttp2Stream): void {
  stream.on('error', () => {});
  stream.respond({ ':status': 200 });
  stream.pipe(stream);
}

t.test('headers of any kind are those that were sent, whatever the tables hold by then', async (t) => {
  const random = new Random32(7);
  const pick = (n: number) => random.below(n);
  const alphabet = ['0', 'a', 'Z', ' x', '~', '\u00ff', '\u0080', '/', '%', '{', '\\', '<'];
  const text = (): string => Array.from({ length: pick(12) }, () => alphabet[pick(alphabet.length)]).join('');
  const known = Array.from({ length: 40 }, (_, i) => [`x-${i}-${text().replace(/[^a-z]/g, '')}`, `${text()}v`.trim()] as const);
  const sets = Array.from({ length: 600 }, () => {
    const chosen = Array.from({ length: pick(12) }, () => known[pick(known.length)] as readonly [string, string]);
    const fresh = [`y-${pick(1_000)}`, `${text()}w${'z'.repeat(pick(50) === 0 ? 20_000 : pick(200))}`.trim()] as const;
    return Object.fromEntries(pick(3) === 0 ? chosen : [...chosen, fresh]);
  });
  const server = createServer({ maxSendHeaderBlockLength: 1_000_000 } as never);
  server.on('stream', (stream, { ':path': path }) => {
    stream.respond({ ':status': 200, ...sets[Number(String(path).slice(1))] }, { sendDate: false, waitForTrailers: true } as never);
    stream.once('wantTrailers', () => stream.sendTrailers({ 'grpc-status': String(path).slice(1) }));
    stream.end();
  });
  const connection = await connected(t, server);
  let wrong = 0;
  for (const [i, set] of sets.entries()) {
    const { headers, end } = await ask(connection, `/${i}`);
    const { ':status': status, date, ...got } = Object.fromEntries(headers[0] ?? []);
    const isRight = status === '200' && end.how === 'whole' && JSON.stringify(Object.entries(got).sort()) === JSON.stringify(Object.entries(set).sort());
    if ((!isRight || headers[1]?.get('grpc-status') !== String(i)) && wrong++ === 0) t.strictSame([got, date, end, headers[1]], [set, undefined, { how: 'whole' }, i]);
  }
  t.equal(wrong, 0);
});

t.test('bodies larger than all windows, both ways and at once', async (t) => {
  const server = createServer({ settings: { initialWindowSize: 1_000, maxFrameSize: 20_000 } });
  server.on('stream', echoing);
  const connection = await connected(t, server);
  const bodies = [3_000_000, 1, 70_000, 1_200_000].map((size, i) => Buffer.alloc(size, `body ${i} `));
  const answers = await Promise.all(bodies.map((body) => ask(connection, '/', body)));
  for (const [i, { body, end }] of answers.entries()) t.ok(end.how === 'whole' && body.equals(bodies[i] as Buffer), `${body.length} bytes`);
});

t.test('no more at once than the peer takes, in the order of asking; one that is cancelled before its turn is never sent', async (t) => {
  const seen: string[] = [];
  let most = 0;
  let open = 0;
  const server = createServer({ settings: { maxConcurrentStreams: 2 } });
  server.on('stream', (stream, { ':path': path }) => {
    most = Math.max(most, ++open);
    seen.push(String(path));
    setTimeout(() => {
      open--;
      echoing(stream);
    }, 2);
  });
  const connection = await connected(t, server);
  await ask(connection, '/first');
  const paths = Array.from({ length: 20 }, (_, i) => `/${i}`);
  const answers = paths.map((path) => ask(connection, path));
  connection.request(block('/cancelled'), Buffer.from('x'), { headers: () => {}, data: () => {}, ended: () => t.fail('was cancelled') }).cancel();
  await Promise.all(answers);
  t.strictSame(seen, ['/first', ...paths]);
  t.equal(most, 2);
});

/** A connection to a peer of the test's own, in memory: what it sends comes at once, and what it gets is kept. */
function inMemory() {
  const sent: Buffer[] = [];
  const socket = new Duplex({
    read() {},
    write(chunk: Buffer, _encoding, done) {
      sent.push(chunk);
      done();
    },
  });
  let left = 0;
  const connection = new Http2Connection({ dial: () => socket, spoke: () => {}, left: () => left++ });
  return { connection, socket, sent, left: () => left, say: (bytes: Buffer) => socket.emit('data', bytes) };
}

function frame(type: number, flags: number, stream: number, payload: Buffer | string = ''): Buffer {
  const body = Buffer.from(payload as Buffer);
  const head = Buffer.alloc(9);
  head.writeUIntBE(body.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, body]);
}
const number = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};
const settings = frame(4, 0, 0);
const ok = Buffer.from([0x88]);
const hex = (sent: readonly Buffer[]): string => Buffer.concat(sent).toString('hex');

const rows: readonly (readonly [sentence: string, bytes: readonly Buffer[], end: string, problem: RegExp | null])[] = [
  ['an answer', [settings, frame(1, 4, 1, ok), frame(0, 1, 1, 'yes')], 'whole yes', null],
  ['padded, with a priority', [settings, frame(1, 0x2c, 1, Buffer.concat([Buffer.from([2, 0, 0, 0, 0, 9]), ok, Buffer.alloc(2)])), frame(0, 9, 1, '\x02yes..')], 'whole yes', null],
  ['headers in three frames', [settings, frame(1, 0, 1, ''), frame(9, 0, 1, ok), frame(9, 4, 1, ''), frame(0, 1, 1, 'yes')], 'whole yes', null],
  ['headers that are early', [settings, frame(1, 4, 1, Buffer.from('\x08\x03103', 'latin1')), frame(1, 5, 1, ok)], 'whole ', null],
  ['frames of kinds that are not known', [settings, frame(99, 255, 1, 'x'), frame(2, 0, 1, '12345'), frame(1, 5, 1, ok)], 'whole ', null],
  ['a reset', [settings, frame(3, 0, 1, number(7))], 'reset 7', null],
  ['a farewell that has not seen it', [settings, frame(7, 0, 0, Buffer.alloc(8))], 'reset 7', null],
  ['no settings first', [frame(1, 4, 1, ok)], 'connection', /first frame/],
  ['HTTP/1', [Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n')], 'connection', /a frame of 4740180 bytes/],
  ['a frame that is too long', [settings, Buffer.from([1, 0, 0, 0, 0, 0, 0, 0, 1])], 'connection', /a frame of 65536 bytes/],
  ['another frame within headers', [settings, frame(1, 0, 1, ok), settings], 'connection', /interrupted/],
  ['headers continued that never began', [settings, frame(9, 4, 1, ok)], 'connection', /not begun/],
  ['headers without end', [settings, frame(1, 0, 1), ...Array.from({ length: 8_000 }, () => frame(9, 0, 1))], 'connection', /too long/],
  ['a push', [settings, frame(5, 4, 1, Buffer.concat([number(2), ok]))], 'connection', /push/],
  ['data of nobody', [settings, frame(0, 0, 7, 'x')], 'connection', /DATA on stream 7, which is idle/],
  ['headers of nobody', [settings, frame(1, 4, 8, ok)], 'connection', /HEADERS on stream 8, which is idle/],
  ['more padding than there is', [settings, frame(0, 8, 1, '\x09a')], 'connection', /padding/],
  ['more data than the window held at first', [settings, frame(1, 4, 1, ok), ...Array.from({ length: 70 }, () => frame(0, 0, 1, 'x'.repeat(16_384)))], 'open', null],
  ['an entry that no table has', [settings, frame(1, 4, 1, Buffer.from([0xff, 0x80, 0x01]))], 'connection', /no entry 255/],
  ['entry nought', [settings, frame(1, 4, 1, Buffer.from([0x80]))], 'connection', /no entry 0/],
  ['a number without end', [settings, frame(1, 4, 1, Buffer.alloc(20, 0xff))], 'connection', /too large/],
  ['a text that is not all there', [settings, frame(1, 4, 1, Buffer.from([0, 0x7f, 0x10, 65]))], 'connection', /longer than its block/],
  ['a text that is no Huffman code', [settings, frame(1, 4, 1, Buffer.from([0, 0x84, 255, 255, 255, 255, 0]))], 'connection', /Huffman/],
  ['a table that is too large', [settings, frame(1, 4, 1, Buffer.from([0x3f, 0xe2, 0x1f, 0x88]))], 'connection', /larger than allowed/],
  ['settings of an odd length', [frame(4, 0, 0, 'odd')], 'connection', /odd length/],
  ['a window that is too large', [frame(4, 0, 0, Buffer.from([0, 4, 0xff, 0xff, 0xff, 0xff]))], 'connection', /a setting of/],
  ['a ping of another length', [settings, frame(6, 0, 0, 'ping')], 'connection', /PING of 4 bytes/],
  ['a reset of another length', [settings, frame(3, 0, 1, 'x')], 'connection', /RST_STREAM of 1 bytes/],
  ['a short farewell', [settings, frame(7, 0, 0, 'bye')], 'connection', /GOAWAY of 3 bytes/],
  ...['DATA', 'HEADERS', 'PRIORITY', 'RST_STREAM', 'SETTINGS', 'PUSH_PROMISE', 'PING', 'GOAWAY', 'WINDOW_UPDATE', 'CONTINUATION'].flatMap((name, type): typeof rows => {
    const payload = Buffer.alloc([0, 1, 5, 4, 0, 5, 8, 8, 4, 1][type] ?? 0, 1);
    const ofConnection = name === 'SETTINGS' || name === 'PING' || name === 'GOAWAY';
    const [stream, problem] = ofConnection ? [1, `${name} on stream 1`] : name === 'WINDOW_UPDATE' ? [3, `${name} on stream 3, which is idle`] : [0, `${name} on stream 0`];
    // A continuation that nothing goes before is refused as such.
    if (name === 'CONTINUATION') return [];
    return [[`${name} where it can't belong`, [settings, frame(type, 0, stream, payload)], 'connection', new RegExp(problem)]];
  }),
  ['a priority of another length', [settings, frame(2, 0, 1, '1234')], 'connection', /PRIORITY of 4 bytes/],
  ['a priority of a stream to come', [settings, frame(2, 0, 9, '12345'), frame(1, 5, 1, ok)], 'whole ', null],
  ['an acknowledgement with settings', [settings, frame(4, 1, 0, Buffer.alloc(6))], 'connection', /acknowledgement of SETTINGS of 6 bytes/],
  ['a window update of another length', [settings, frame(8, 0, 1, 'x')], 'connection', /WINDOW_UPDATE of 1 bytes/],
  ['a window update of 0 for the connection', [settings, frame(8, 0, 0, number(0))], 'connection', /WINDOW_UPDATE of 0 bytes/],
  ['a window update of 0 for a stream', [settings, frame(8, 0, 1, number(0))], 'reset 1', null],
  ['a window of the connection that overflows', [settings, frame(8, 0, 0, number(0x7f_ff_ff_ff))], 'connection', /WINDOW_UPDATE of 2147483647 bytes/],
  ['a window of a stream that overflows', [settings, frame(8, 0, 1, number(0x7f_ff_ff_ff))], 'reset 3', null],
  [
    'settings that make a window overflow',
    [settings, frame(8, 0, 1, number(0x7f_ff_00_00)), frame(4, 0, 0, Buffer.from([0, 4, 0x7f, 0xff, 0xff, 0xff]))],
    'connection',
    /SETTINGS make a window of/,
  ],
  ['a window update of a stream that has ended', [settings, frame(1, 5, 1, ok), frame(8, 0, 1, number(0))], 'whole ', null],
];

t.test('what a peer may send, and what it may not: in one piece and byte by byte', async (t) => {
  for (const [sentence, frames, end, problem] of rows) {
    const all = Buffer.concat(frames);
    for (const pieces of [[all], ...(all.length > 1_000 ? [] : [[...all].map((byte) => Buffer.from([byte]))])]) {
      const { connection, say, left } = inMemory();
      let outcome = 'open';
      void ask(connection).then((answer) => {
        outcome = answer.end.how === 'whole' ? `whole ${answer.body}` : answer.end.how === 'reset' ? `reset ${answer.end.code}` : 'connection';
      });
      for (const piece of pieces) say(piece);
      await new Promise((resolve) => setImmediate(resolve));
      t.equal(outcome, end, sentence);
      if (problem === null) t.equal(connection.problem, null, `${sentence}: no problem`);
      else t.match(connection.problem?.message ?? '', problem, `${sentence}: problem`);
      t.equal(left(), problem !== null || sentence.includes('farewell') ? 1 : 0, `${sentence}: left`);
    }
  }
});

t.test('what it answers', async (t) => {
  const { sent, say, socket } = inMemory();
  say(Buffer.concat([settings, frame(6, 0, 0, '12345678')]));
  await new Promise((resolve) => setImmediate(resolve));
  t.match(hex(sent), `${frame(4, 1, 0).toString('hex')}${frame(6, 1, 0, '12345678').toString('hex')}`, 'settings and pings are answered');
  say(frame(4, 0, 0, 'odd'));
  t.match(hex(sent), /0000080700000000000000000000000006$/, 'and what is wrong is told before the end');
  t.ok(socket.destroyed);
});

t.test('a peer that asks without end and reads nothing is left', async (t) => {
  const socket = new Duplex({ read() {}, write() {} });
  const connection = new Http2Connection({ dial: () => socket, spoke: () => {}, left: () => {} });
  socket.emit('data', settings);
  for (let i = 0; i < 50 && connection.isOpen; i++) {
    socket.emit('data', Buffer.concat(Array.from({ length: 900 }, () => frame(6, 0, 0, '12345678'))));
    await new Promise((resolve) => setImmediate(resolve));
  }
  t.match(connection.problem?.message ?? '', /questions/);
});

t.test('whatever comes, nothing is thrown, each request ends once at most, and all end with the connection', async (t) => {
  const random = new Random32(11);
  const pick = (n: number) => random.below(n);
  const good = rows.filter(([, , , problem]) => problem === null).map(([, frames]) => Buffer.concat(frames.slice(0, 4)));
  let wrong = 0;
  for (let i = 0; i < 5_000; i++) {
    const { connection, say } = inMemory();
    const ends = [0, 0, 0];
    ends.forEach((_, stream) => {
      connection.request(block('/'), Buffer.from('x'), { headers: () => {}, data: () => {}, ended: () => (ends[stream] = (ends[stream] ?? 0) + 1) });
    });
    const bytes = Buffer.concat([settings, ...Array.from({ length: 1 + pick(3) }, () => good[pick(good.length)] as Buffer)]);
    for (let n = pick(6); n > 0; n--) bytes[settings.length + pick(bytes.length - settings.length)] = pick(256);
    for (let at = 0; at < bytes.length; ) {
      const length = 1 + pick(bytes.length);
      say(bytes.subarray(at, at + length));
      at += length;
    }
    connection.destroy();
    if (ends.some((count) => count !== 1) && wrong++ === 0) t.strictSame(ends, [1, 1, 1], bytes.toString('hex'));
  }
  t.equal(wrong, 0);
});
