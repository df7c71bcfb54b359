// SPDY/3.1: frames and headers against bytes of other implementations, invalid input, pings, ends, and a flood of streams.
import { once } from 'node:events';
import { Duplex } from 'node:stream';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { constants, createInflate } from 'node:zlib';
import fc from 'fast-check';
import t from 'tap';
import { SpdyConnection, SpdyFrameReader, SpdyHeaderReader, SpdyHeaderWriter, type SpdyStream } from '../../src/adapters/streaming/index.js';
import { spdyDictionary, spdyDictionaryId } from '../../src/adapters/streaming/spdy-dictionary.js';
import { until } from '../support/until.js';
import { both, frame, kinds, numbers, packed, pair, plainBlock } from './spdy-peer.js';
import { bytesOf } from './stream-client.js';

t.setTimeout(300_000);

t.test('headers', async (t) => {
  t.equal(spdyDictionaryId, 0xe3c6a7c2, 'the dictionary is that of the protocol');
  t.equal(spdyDictionary.length, 1423);
  const sets = [
    [['streamtype', 'stdin']],
    [
      ['port', '8080'],
      ['requestid', '17'],
      ['streamtype', 'error'],
    ],
    [['x', 'ä'.repeat(10)]],
    [],
  ] as const;
  const blocks = await packed(sets.map((headers) => plainBlock(headers.map(([name, value]) => [name, Buffer.from(value).toString('latin1')] as const))));
  const reader = new SpdyHeaderReader();
  for (const [i, block] of blocks.slice(0, 2).entries()) t.strictSame([...reader.headers(block)], sets[i], 'as zlib packs them, the second upon the first');
  const writer = new SpdyHeaderWriter();
  const inflate = createInflate({ dictionary: spdyDictionary });
  for (const headers of sets.slice(0, 3)) {
    inflate.write(writer.block(Object.fromEntries(headers)));
    await new Promise<void>((resolve) => inflate.flush(constants.Z_SYNC_FLUSH, resolve));
    const plain = inflate.read() as Buffer;
    t.equal(plain.readUInt32BE(0), headers.length, 'zlib reads what is written');
    t.ok(plain.includes(headers[0]?.[1] ?? ''));
  }
  const [back, forth] = [new SpdyHeaderReader(), new SpdyHeaderWriter()];
  for (let i = 0; i < 200; i++)
    t.strictSame(
      [...back.headers(forth.block({ n: String(i), Big: 'x'.repeat(i * 50) }))],
      [
        ['n', String(i)],
        ['big', 'x'.repeat(i * 50)],
      ],
    );
});

t.test('headers that can not be', async (t) => {
  const bad: readonly (readonly [sentence: string, plain: Buffer, error: RegExp])[] = [
    ['fewer than said', Buffer.concat([numbers(2), plainBlock([['a', '1']]).subarray(4)]), /end too early/],
    ['a name longer than its block', Buffer.concat([numbers(1, 9), Buffer.from('x')]), /longer than its frame/],
    ['a name in capitals', plainBlock([['Port', '1']]), /not in lower case/],
    ['a name that is empty', plainBlock([['', '1']]), /is empty/],
    [
      'one name twice',
      plainBlock([
        ['a', '1'],
        ['a', '2'],
      ]),
      /comes twice/,
    ],
    ['more than said', Buffer.concat([plainBlock([['a', '1']]), Buffer.from('rest')]), /bytes after/],
    ['more than anybody needs', plainBlock([['a', 'x'.repeat(20_000)]]), /can't be unpacked/],
    ['a number of headers beyond all', numbers(0xffff_ffff), /end too early/],
  ];
  for (const [sentence, plain, error] of bad) {
    const [block] = await packed([plain]);
    t.throws(() => new SpdyHeaderReader().headers(block as Buffer), error, sentence);
  }
  t.throws(() => new SpdyHeaderReader().headers(Buffer.from([0x78, 0x9c, 1, 2, 3, 4, 5])), /do not begin/, 'without the dictionary');
  t.throws(() => new SpdyHeaderReader().headers(Buffer.alloc(3)), /do not begin/, 'hardly anything');
  const [block] = await packed([plainBlock([['a', '1']])]);
  (block as Buffer)[9] = 0xff;
  t.throws(() => new SpdyHeaderReader().headers(block as Buffer), /header/, 'spoiled on the way');
  t.throws(() => new SpdyHeaderWriter().block({ a: 'x'.repeat(20_000) }), /can be sent/);
});

t.test('frames come in any pieces', async (t) => {
  const [block] = await packed([plainBlock([['streamtype', 'data']])]);
  const whole = Buffer.concat([
    frame(1, 0, Buffer.concat([numbers(1, 0), Buffer.alloc(2), block as Buffer])),
    numbers(1, 5),
    Buffer.from('hello'),
    frame(6, 0, numbers(7)),
    frame(4, 0, numbers(1, 7, 100)),
    frame(9, 0, numbers(1, 500)),
    frame(77, 0, Buffer.from('what is this')),
    numbers(1, 0x0100_0000),
    frame(7, 0, numbers(0, 0)),
  ]);
  const told = (frames: readonly object[]) => JSON.stringify(frames.map((one) => ('bytes' in one ? { ...one, bytes: String(one.bytes) } : one)));
  const read = (pieces: readonly Buffer[]) => {
    const reader = new SpdyFrameReader();
    return pieces.flatMap((piece) => [...reader.read(piece)]);
  };
  t.strictSame(kinds(whole), ['syn-stream', 'data', 'ping', 'settings', 'window-update', 'unknown', 'data', 'goaway']);
  const joined = (frames: readonly { readonly kind: string }[]) => told(frames.filter(({ kind }) => kind !== 'data'));
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: whole.length - 1 }), { maxLength: 30 }), (cuts) => {
      const at = [0, ...cuts.sort((a, b) => a - b), whole.length];
      const frames = read(at.slice(1).map((end, i) => whole.subarray(at[i], end)));
      const data = frames.flatMap((one) => (one.kind === 'data' ? [one.bytes.toString()] : [])).join('');
      return data === 'hello' && joined(frames) === joined(read([whole])) && frames.filter((one) => one.kind === 'data' && one.fin).length === 1;
    }),
    { numRuns: 500 },
  );
});

t.test('what no peer may send ends the connection with a GOAWAY, what only a stream may not ends that', async (t) => {
  const [first] = await packed([plainBlock([['a', 'b']])]);
  const open = (id: number, block: Buffer = first as Buffer, flags = 0) => frame(1, flags, Buffer.concat([numbers(id, 0), Buffer.alloc(2), block]));
  const rows: readonly (readonly [sentence: string, bytes: Buffer, answers: readonly string[]])[] = [
    ['another version', frame(6, 0, numbers(1), 2), ['goaway']],
    ['a ping of three bytes', frame(6, 0, Buffer.alloc(3)), ['goaway']],
    ['a ping of eight', frame(6, 0, numbers(1, 1)), ['goaway']],
    ['a reset without a reason', frame(3, 0, numbers(1)), ['goaway']],
    ['settings that are fewer than said', frame(4, 0, numbers(3, 7, 1)), ['goaway']],
    ['settings beyond all', frame(4, 0, numbers(0xffff_ffff, 7, 1)), ['goaway']],
    ['a stream without headers', frame(1, 0, numbers(1)), ['goaway']],
    ['a stream with headers that are none', open(1, Buffer.from('nonsense')), ['goaway']],
    ['a stream with an even number', open(2), ['goaway']],
    ['a stream with the number 0', open(0), ['goaway']],
    ['a control frame of 16 MiB', Buffer.concat([Buffer.from([0x80, 3, 0, 1, 0, 0xff, 0xff, 0xff]), Buffer.alloc(100)]), ['goaway']],
    ['data for nobody', Buffer.concat([numbers(9, 2), Buffer.from('hi')]), ['rst-stream']],
    ['data for stream 0', Buffer.concat([numbers(0, 2), Buffer.from('hi')]), ['rst-stream']],
    ['an answer to nothing', frame(2, 0, Buffer.concat([numbers(2), first as Buffer])), ['rst-stream']],
    ['a stream of one direction', open(1, first as Buffer, 2), ['rst-stream']],
    ['data after the end', Buffer.concat([open(1), numbers(1, 0x0100_0000), numbers(1, 2), Buffer.from('hi')]), ['syn-reply', 'rst-stream']],
    ['a window beyond all', Buffer.concat([open(1), frame(9, 0, numbers(1, 0x7fff_ffff))]), ['syn-reply', 'rst-stream']],
    ['a window of nobody', frame(9, 0, numbers(5, 10)), []],
    ['a reset of nobody', frame(3, 0, numbers(5, 5)), []],
    ['a type that is unknown', frame(10, 0, Buffer.from('credential')), []],
    ['a ping', frame(6, 0, numbers(5)), ['ping']],
  ];
  for (const [sentence, bytes, answers] of rows) {
    const { raw, connection, got } = await pair(t, { accept: () => true });
    raw.write(bytes);
    raw.write(frame(6, 0, numbers(99)));
    const isOver = answers.includes('goaway');
    await until(sentence, () => (isOver ? kinds(got()).includes('goaway') : kinds(got()).filter((kind) => kind === 'ping').length === (sentence === 'a ping' ? 2 : 1)));
    t.strictSame(kinds(got()), isOver ? answers : [...answers, 'ping'], sentence);
    if (isOver) {
      await connection.closed;
      t.equal(connection.openStreams, 0);
    }
  }
});

t.test('anything at all, in any pieces, neither throws nor hangs', async (t) => {
  const [first] = await packed([plainBlock([['streamtype', 'x']])]);
  const open = frame(1, 0, Buffer.concat([numbers(1, 0), Buffer.alloc(2), first as Buffer]));
  const sound = [
    open,
    frame(6, 0, numbers(5)),
    Buffer.concat([numbers(1, 3), Buffer.from('abc')]),
    frame(4, 0, numbers(1, 7, 100)),
    frame(9, 0, numbers(1, 4)),
    frame(3, 0, numbers(1, 5)),
  ];
  const spoiled = fc.tuple(fc.constantFrom(...sound), fc.nat(), fc.nat(255)).map(([bytes, at, value]) => {
    const copy = Buffer.from(bytes);
    copy[at % copy.length] = value;
    return copy;
  });
  const piece = fc.oneof(
    fc.constantFrom(...sound),
    spoiled,
    fc.uint8Array({ maxLength: 64 }).map((bytes) => Buffer.from(bytes)),
  );
  let runs = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { maxLength: 12 }), async (pieces) => {
      const written: Buffer[] = [];
      const socket = new Duplex({
        read() {},
        write(chunk: Buffer, _encoding, done) {
          written.push(chunk);
          done();
        },
      });
      const connection = new SpdyConnection(socket, { role: 'server', streamsMax: 4, lingerMillis: 1, accept: (stream) => void stream.resume() === undefined });
      for (const bytes of pieces) socket.push(bytes);
      socket.push(null);
      await connection.closed;
      runs++;
      return connection.openStreams === 0;
    }),
    { numRuns: 3_000 },
  );
  t.ok(runs >= 3_000);
});

t.test('streams: both directions, half of it, resets, refusals, numbers', async (t) => {
  const taken: SpdyStream[] = [];
  const { client, server } = await both(t, (stream) => {
    if (stream.headers.get('streamtype') === 'no') return false;
    taken.push(stream);
    return true;
  });
  const stream = await client.open({ streamType: 'echo' });
  t.equal(taken[0]?.headers.get('streamtype'), 'echo');
  taken[0]?.pipe(taken[0] as SpdyStream);
  const block = Buffer.alloc(1_000_000, 'abc');
  const back = bytesOf(stream);
  stream.end(block);
  t.ok((await back).equals(block), 'a megabyte goes there and comes back, and its end with it');
  await until('it is forgotten', () => client.openStreams === 0 && server.openStreams === 0);
  await t.rejects(client.open({ streamtype: 'no' }), /was reset/);
  const broken = await client.open({ streamtype: 'other' });
  broken.resume();
  taken[1]?.destroy();
  await once(broken, 'close');
  t.notOk(broken.readableEnded, 'a reset is no end');
  const own = await client.open({ streamtype: 'own' });
  const peer = taken[2] as SpdyStream;
  peer.resume();
  own.destroy();
  await once(peer, 'close');
  t.notOk(peer.readableEnded);
  await client.ping();
  await server.ping();
  t.pass('pings are answered, by both');
  const last = await client.open({ streamtype: 'last' });
  const gone = once(last, 'close');
  server.close();
  await gone;
  await Promise.all([client.closed, server.closed]);
  await t.rejects(client.open({ streamtype: 'late' }), /is closed/);
  t.equal(client.openStreams + server.openStreams, 0);
});

t.test('more streams than may be are refused, and go on when there is room', async (t) => {
  const { client } = await both(t, (stream) => stream.resume() !== null, { streamsMax: 2 });
  const [first] = [await client.open({ a: '1' }), await client.open({ a: '2' })];
  await t.rejects(client.open({ a: '3' }), /was reset/);
  first?.destroy();
  await client.ping();
  t.ok(await client.open({ a: '4' }));
});

t.test('a peer that asks and does not read is cut', async (t) => {
  const { raw, connection } = await pair(t);
  raw.pause();
  const pings = Buffer.concat(Array.from({ length: 5_000 }, () => frame(6, 0, numbers(1))));
  // A failed write is reported before the socket counts as destroyed, and a write from its callback is reported in the same turn: endlessly.
  const more = (error?: Error | null): void => void (error || raw.destroyed || raw.write(pings, more));
  more();
  await connection.closed;
  t.pass('its answers are not gathered for ever');
});

t.test('five hundred streams on one connection come and go, and leave nothing', async (t) => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const { client, server } = await both(t, (stream) => stream.pipe(stream) !== null);
  const round = async (): Promise<void> => {
    const streams = await Promise.all(Array.from({ length: 500 }, (_, i) => client.open({ requestid: String(i) })));
    const answers = streams.map((stream) => bytesOf(stream));
    for (const [i, stream] of streams.entries()) {
      if (i % 5 === 0) stream.destroy();
      else stream.end(`word ${i}`);
    }
    const said = await Promise.all(answers);
    t.ok(
      said.every((bytes, i) => (i % 5 === 0 ? bytes.length === 0 : bytes.toString() === `word ${i}`)),
      'each has its own answer',
    );
    await until('none is left', () => client.openStreams === 0 && server.openStreams === 0);
  };
  const settled = async (): Promise<number> => {
    await client.ping();
    collect();
    await client.ping();
    collect();
    return process.memoryUsage().heapUsed;
  };
  // The first rounds are also those in which the engine compiles.
  for (let i = 0; i < 4; i++) await round();
  const before = await settled();
  for (let i = 0; i < 8; i++) await round();
  const growth = (await settled()) - before;
  t.ok(growth < 1024 * 1024, `the heap grew by ${growth} bytes in 4000 streams`);
});
