// D-Bus: values as bytes and back, messages that are none, and a connection to a fake bus and to the real one's program.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import t, { type Test } from 'tap';
import { DbusConnection, DbusReader, type DbusValue, DbusWriter, decodeMessage, encodeMessage, SystemBus, socketPaths } from '../../src/adapters/systemd/index.js';
import { FakeBus } from './fake-bus.js';

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

t.test('values as bytes', async (t) => {
  const table: readonly (readonly [what: string, signature: string, values: readonly DbusValue[], bytes: string | null])[] = [
    ['a byte', 'y', [255], 'ff'],
    ['a flag has four bytes', 'b', [true], '01000000'],
    ['numbers are aligned', 'yq', [1, 2], '01000200'],
    ['... to their size', 'yt', [1, 2n], '0100000000000000' + '0200000000000000'],
    ['a text has its length and a zero', 's', ['foo'], '03000000666f6f00'],
    ['a signature a short one', 'g', ['ay'], '02617900'],
    ['bytes', 'ay', [new Uint8Array([1, 2, 3])], '03000000010203'],
    ['an empty list of structs is aligned as if it had one', 'a(sv)', [[]], '0000000000000000'],
    ['texts', 'as', [['a', '']], '0d000000' + '0100000061000000' + '0000000000'],
    ['a variant says what it is', 'v', [{ signature: 'u', value: 7 }], '01750000' + '07000000'],
    ['a dictionary', 'a{su}', [[['k', 5]]], null],
    [
      'properties of a unit',
      'a(sv)',
      [
        [
          ['TasksMax', { signature: 't', value: 2n ** 64n - 1n }],
          ['Wants', { signature: 'as', value: ['a.slice'] }],
        ],
      ],
      null,
    ],
    ['all numbers', 'nqiuxtd', [-2, 3, -4, 5, -6n, 7n, 1.5], null],
    ['umlauts', 's', ['größe'], null],
  ];
  for (const [what, signature, values, bytes] of table) {
    const writer = new DbusWriter();
    writer.writeAll(signature, values);
    const written = writer.result();
    if (bytes !== null) t.equal(hex(written), bytes, what);
    t.strictSame(new DbusReader(Buffer.from(written), true).readAll(signature), values, `${what}: and back`);
  }
  const wrong: readonly (readonly [what: string, signature: string, values: readonly DbusValue[]])[] = [
    ['no signature at all', 'k', [1]],
    ['an open struct', '(u', [[1]]],
    ['an empty struct', '()', [[]]],
    ['an entry outside of an array', '{su}', [['a', 1]]],
    ['an entry with a list for a key', 'a{auu}', [[]]],
    ['too many values', 'u', [1, 2]],
    ['too few members', '(uu)', [[1]]],
    ['a text for a number', 'u', ['1']],
    ['a number for a text', 's', [1]],
    ['a number that is too large', 'q', [65_536]],
    ['a negative length', 't', [-1n]],
    ['a number for a big one', 't', [1]],
    ['a zero in a text', 's', ['a\0b']],
    ['arrays beyond the depth', `${'a'.repeat(40)}u`, [[]]],
  ];
  for (const [what, signature, values] of wrong) t.throws(() => new DbusWriter().writeAll(signature, values), { name: 'DbusFormatError' }, what);
});

t.test('whatever a peer sends is a message, not whole yet, or an error', async (t) => {
  const good = encodeMessage({ kind: 'call', serial: 1, path: '/a', interface: 'a.b', member: 'C', signature: 'a(sv)', body: [[['k', { signature: 'as', value: ['x'] }]]] });
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(good.length - 1), fc.nat(255)), { minLength: 1, maxLength: 6 }), (changes) => {
      const bytes = Buffer.from(good);
      for (const [at, to] of changes) bytes[at] = to;
      try {
        const decoded = decodeMessage(bytes);
        return decoded === null || decoded.length > 0;
      } catch (error) {
        return error instanceof Error && error.name === 'DbusFormatError';
      }
    }),
    { numRuns: 2000 },
  );
  for (let length = 0; length < good.length; length++) t.equal(decodeMessage(Buffer.from(good.subarray(0, length))), null);
  t.match(decodeMessage(Buffer.concat([good, good])), { length: good.length, message: { kind: 'call', path: '/a', member: 'C' } });
});

t.test('addresses of a bus', async (t) => {
  t.strictSame(socketPaths('unix:path=/run/dbus/system_bus_socket'), ['/run/dbus/system_bus_socket']);
  t.strictSame(socketPaths('tcp:host=a,port=1;unix:abstract=/tmp/x,guid=1;unix:path=/a%20b'), ['\0/tmp/x', '/a b']);
  t.strictSame(socketPaths(''), []);
});

const echo = { destination: 'test.Echo', path: '/', interface: 'test.Echo', member: 'Echo', signature: 's', body: ['hello'] } as const;

t.test('a connection to a bus', async (t) => {
  const bus = await FakeBus.open(t);
  bus.services.set('test.Echo', ({ member, body }) => {
    if (member === 'Silent') return null;
    return member === 'Echo' ? { signature: 's', body } : { error: 'test.No', message: 'no such thing' };
  });
  const connection = await DbusConnection.open({ socketPath: bus.socketPath, isBus: true, timeoutMillis: 60_000 });
  t.teardown(() => connection.close());
  t.strictSame(await connection.call(echo), ['hello']);
  await t.rejects(connection.call({ ...echo, member: 'Other' }), { name: 'DbusRefusal', errorName: 'test.No', message: 'no such thing' });
  await t.rejects(connection.call({ ...echo, destination: 'test.Nobody' }), { name: 'DbusRefusal', errorName: 'org.freedesktop.DBus.Error.ServiceUnknown' });
  await t.rejects(connection.call({ ...echo, member: 'Silent' }, 10), { name: 'DbusTimeout' }, 'nobody waits for ever');
  t.strictSame(await connection.call(echo), ['hello'], 'the connection stays');
  await connection.match("type='signal',member='Happened'");
  t.strictSame(bus.rules, ["type='signal',member='Happened'"]);
  const heard = new Promise((resolve) => {
    connection.onSignal(({ member, body }) => resolve([member, body]));
  });
  bus.signal('/a', 'test.Echo', 'Happened', 'b', [true]);
  t.strictSame(await heard, ['Happened', [true]]);
  const unanswered = connection.call({ ...echo, member: 'Silent' });
  const closed = new Promise<void>((resolve) => {
    connection.onClose(resolve);
  });
  bus.raw(Buffer.from('x'.repeat(32)));
  await t.rejects(unanswered, { name: 'DbusDisconnected', message: 'the peer sent a message of an unknown order of bytes' });
  await closed;
  t.ok(connection.isClosed);
  await t.rejects(connection.call(echo), { name: 'DbusDisconnected' });
});

t.test('a peer that lets nobody in, says nothing, or isn’t there', async (t) => {
  const bus = await FakeBus.open(t);
  const options = { socketPath: bus.socketPath, isBus: true, timeoutMillis: 60_000 };
  bus.letsIn = false;
  await t.rejects(DbusConnection.open(options), { name: 'DbusDisconnected', message: 'the peer does not let us in: REJECTED EXTERNAL' });
  await bus.stop();
  const system = new SystemBus({ address: bus.address, privateSocket: null });
  t.teardown(() => system.close());
  await t.rejects(
    system.use((connection) => connection.call(echo)),
    { name: 'DbusDisconnected', message: `dial unix ${bus.socketPath}: connect: no such file or directory` },
  );
  bus.letsIn = true;
  await bus.start();
  bus.services.set('test.Echo', ({ body }) => ({ signature: 's', body }));
  t.strictSame(await system.use((connection) => connection.call(echo)), ['hello'], 'it is there by now');
  bus.drop();
  t.strictSame(await system.use((connection) => connection.call(echo)), ['hello'], 'a connection that went is made anew');
  let calls = 0;
  bus.services.set('test.Echo', () => {
    calls++;
    bus.drop();
    return null;
  });
  await t.rejects(
    system.use((connection) => connection.call(echo)),
    { name: 'DbusDisconnected' },
  );
  t.equal(calls, 3, 'a peer that goes at each call is not called for ever');
});

const daemonProgram = spawnSync('dbus-daemon', ['--version'], { encoding: 'utf8' }).status === 0;

/** A private bus of the real program, on a socket of its own. */
async function realBus(t: Test): Promise<{ readonly address: string; readonly daemon: ChildProcess }> {
  const directory = mkdtempSync(join(tmpdir(), 'dbus-daemon-'));
  const configuration = join(directory, 'bus.conf');
  const address = `unix:path=${join(directory, 'socket')}`;
  const policy = '<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy>';
  writeFileSync(configuration, `<busconfig><type>session</type><listen>${address}</listen><auth>EXTERNAL</auth>${policy}</busconfig>`);
  const daemon = spawn('dbus-daemon', [`--config-file=${configuration}`, '--nofork', '--nopidfile', '--print-address=1'], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.teardown(async () => {
    const exited = daemon.exitCode === null && daemon.signalCode === null ? once(daemon, 'exit') : null;
    daemon.kill('SIGKILL');
    await exited;
    rmSync(directory, { recursive: true });
  });
  await once(daemon.stdout as NodeJS.ReadableStream, 'data');
  return { address, daemon };
}

t.test('the real bus takes what we write, and is understood', { skip: daemonProgram ? false : 'there is no dbus-daemon (Debian: dbus)' }, async (t) => {
  const { address, daemon } = await realBus(t);
  const bus = new SystemBus({ address, privateSocket: null });
  t.teardown(() => bus.close());
  const daemonCall = { destination: 'org.freedesktop.DBus', path: '/org/freedesktop/DBus', interface: 'org.freedesktop.DBus' } as const;
  const [names] = await bus.use((connection) => connection.call({ ...daemonCall, member: 'ListNames' }));
  t.ok((names as string[]).includes('org.freedesktop.DBus'));
  const owned = bus.use(async (connection) => {
    await connection.match("type='signal',member='NameOwnerChanged',arg0='test.kubelet'");
    const heard = new Promise<readonly DbusValue[]>((resolve) => {
      connection.onSignal(({ member, body }) => member === 'NameOwnerChanged' && resolve(body));
    });
    t.strictSame(await connection.call({ ...daemonCall, member: 'RequestName', signature: 'su', body: ['test.kubelet', 0] }), [1]);
    return heard;
  });
  t.match(await owned, ['test.kubelet', '', /^:1\./]);
  // A property of each kind, and a dictionary: the daemon checks each message it passes on, and ends the connection of who sends a bad one.
  const unit = [
    'a.slice',
    'replace',
    [
      ['Wants', { signature: 'as', value: ['b.slice'] }],
      ['AllowedCPUs', { signature: 'ay', value: new Uint8Array([5]) }],
      ['TasksMax', { signature: 't', value: 7n }],
    ],
    [],
  ];
  await t.rejects(
    bus.use((connection) =>
      connection.call({ destination: 'org.freedesktop.systemd1', path: '/a', interface: 'a.b', member: 'C', signature: 'ssa(sv)a(sa(sv))', body: unit as never }),
    ),
    { name: 'DbusRefusal', errorName: 'org.freedesktop.DBus.Error.ServiceUnknown' },
  );
  const exited = once(daemon, 'exit');
  daemon.kill('SIGKILL');
  await exited;
  await t.rejects(
    bus.use((connection) => connection.call({ ...daemonCall, member: 'ListNames' })),
    { name: 'DbusDisconnected' },
    'a bus that died',
  );
});
