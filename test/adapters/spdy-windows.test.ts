// The windows of SPDY/3.1: peers that speak of them, peers that don't, and readers that are behind.
import t from 'tap';
import { SpdyFrameReader, type SpdyStream } from '../../src/adapters/streaming/index.js';
import { until } from '../support/until.js';
import { frame, kinds, numbers, packed, pair, plainBlock } from './spdy-peer.js';

t.setTimeout(300_000);

const [block] = await packed([plainBlock([['a', 'b']])]);
const open = frame(1, 0, Buffer.concat([numbers(1, 0), Buffer.alloc(2), block as Buffer]));
const sentBytes = (bytes: Buffer) => [...new SpdyFrameReader().read(bytes)].reduce((sum, one) => sum + (one.kind === 'data' ? one.bytes.length : 0), 0);

t.test('a peer that speaks of them is obeyed', async (t) => {
  const { raw, got } = await pair(t, { accept: (stream) => void stream.write(Buffer.alloc(200_000)) === undefined });
  raw.write(Buffer.concat([frame(4, 0, numbers(1, 7, 1_000)), open]));
  await until('as much as it allows', () => sentBytes(got()) === 1_000);
  raw.write(Buffer.concat([frame(9, 0, numbers(1, 500)), frame(6, 0, numbers(1))]));
  await until('and more as it allows more', () => kinds(got()).includes('ping'));
  t.equal(sentBytes(got()), 1_500);
  raw.write(frame(4, 0, numbers(1, 7, 3_000)));
  await until('a wider beginning counts for those that are open', () => sentBytes(got()) === 3_500);
  raw.write(frame(9, 0, numbers(1, 1_000_000)));
  await until('the rest', () => sentBytes(got()) === 200_000);
});

t.test('one that does not is sent all', async (t) => {
  const { raw, got } = await pair(t, { accept: (stream) => void stream.write(Buffer.alloc(200_000)) === undefined });
  raw.write(open);
  await until('all of it', () => sentBytes(got()) >= 200_000);
  t.equal(sentBytes(got()), 200_000);
});

t.test('a peer that keeps to its window gets it back, however what it sent is read', async (t) => {
  const readers: readonly (readonly [sentence: string, read: (stream: SpdyStream) => void])[] = [
    ['in flow', (stream) => void stream.resume()],
    ['late', (stream) => void setTimeout(() => stream.resume(), 100)],
    [
      'by iterator',
      async (stream) => {
        const all = async () => {
          for await (const _ of stream);
        };
        await all().catch(() => {});
      },
    ],
    [
      'by reading, once it is all there',
      (stream) => {
        const look = (): void => {
          if (stream.readableLength === 65_536) while (stream.read() !== null);
          else setTimeout(look, 10);
        };
        look();
      },
    ],
  ];
  for (const [sentence, read] of readers) {
    const { raw, got } = await pair(t, { accept: (stream) => void read(stream) === undefined });
    const granted = () => [...new SpdyFrameReader().read(got())].reduce((sum, one) => sum + (one.kind === 'window-update' ? one.delta : 0), 0);
    raw.write(Buffer.concat([open, numbers(1, 65_536), Buffer.alloc(65_536)]));
    await until(`${sentence}: half of it at least`, () => granted() >= 32_768);
    t.ok(granted() <= 65_536, sentence);
  }
});

t.test('what was not read holds up who sends', async (t) => {
  const taken: SpdyStream[] = [];
  const { raw, got } = await pair(t, { accept: (stream) => taken.push(stream) > 0 });
  raw.write(Buffer.concat([open, numbers(1, 60_000), Buffer.alloc(60_000), frame(6, 0, numbers(1))]));
  await until('within the window nobody is held up', () => kinds(got()).includes('ping'));
  t.notOk(kinds(got()).includes('window-update'), 'nothing is granted that nobody reads');
  let sent = 0;
  const more = (): void => {
    const chunk = Buffer.concat([numbers(1, 60_000), Buffer.alloc(60_000)]);
    while (sent < 100_000_000 && raw.write(chunk)) sent += chunk.length;
  };
  raw.on('drain', more);
  more();
  let before = -1;
  await until('it comes to a halt', async () => {
    const halted = before === sent;
    before = sent;
    await new Promise((resolve) => setTimeout(resolve, 150));
    return halted;
  });
  t.ok(sent < 24_000_000, `${sent} bytes were taken for a stream that nobody reads`);
  t.ok((taken[0]?.readableLength ?? 0) < 256 * 1024, 'few of them are kept');
  taken[0]?.resume();
  await until('it goes on once it is read', () => sent > 40_000_000);
  t.notOk(kinds(got()).includes('window-update'), 'who pays no regard to windows is granted nothing, at his end least of all');
  raw.destroy();
});

t.test('a ping is of use on a silent connection alone: one that meets the end of a peer loses what that one wrote last', async (t) => {
  const taken: SpdyStream[] = [];
  const { raw, connection } = await pair(t, { accept: (stream) => taken.push(stream) > 0 });
  t.ok(connection.isQuiet(0), 'nothing has come, and nothing waits');
  t.notOk(connection.isQuiet(60_000), 'but not for so long');
  raw.write(Buffer.concat([open, ...Array.from({ length: 10 }, () => Buffer.concat([numbers(1, 60_000), Buffer.alloc(60_000)]))]));
  await until('its reader is behind', () => (taken[0]?.readableLength ?? 0) > 65_536);
  t.notOk(connection.isQuiet(0), 'output waits for its reader: the peer was there, and may have closed');
  taken[0]?.resume();
  await until('all was read', () => connection.isQuiet(0));
  await until('and nothing came for a while', () => connection.isQuiet(200));
  raw.destroy();
});
