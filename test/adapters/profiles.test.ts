// Profiles in the format of pprof, decoded by an independent reader of the wire format.
import { gunzipSync } from 'node:zlib';
import t from 'tap';
import { profileRoute } from '../../src/adapters/http-server/index.js';
import { ProfileInUse, takeCpuProfile, takeHeapProfile } from '../../src/adapters/profiling/index.js';
import { encodedProfile } from '../../src/adapters/profiling/pprof-profile.js';

type Fields = Map<number, (number | Buffer)[]>;

function fieldsOf(bytes: Buffer): Fields {
  const fields: Fields = new Map();
  for (let at = 0; at < bytes.length; ) {
    const [key, afterKey] = varintAt(bytes, at);
    const [value, afterValue] = varintAt(bytes, afterKey);
    const isNumber = (key & 7) === 0;
    if (!isNumber && (key & 7) !== 2) throw new Error(`wire type ${key & 7}`);
    const list = fields.get(key >> 3) ?? [];
    fields.set(key >> 3, list);
    list.push(isNumber ? value : bytes.subarray(afterValue, afterValue + value));
    at = isNumber ? afterValue : afterValue + value;
  }
  return fields;
}

function varintAt(bytes: Buffer, from: number): [value: number, after: number] {
  let value = 0n;
  let at = from;
  for (let shift = 0n; ; shift += 7n) {
    const byte = bytes[at++] ?? 0;
    value |= BigInt(byte & 127) << shift;
    if (byte < 128) return [Number(value), at];
  }
}

function packed(bytes: Buffer): number[] {
  const values: number[] = [];
  for (let at = 0; at < bytes.length; ) {
    const [value, after] = varintAt(bytes, at);
    values.push(value);
    at = after;
  }
  return values;
}

/** Names of the functions of each sample, the innermost first, and its values. */
function readBack(gzipped: Buffer) {
  const profile = fieldsOf(gunzipSync(gzipped));
  const messages = (field: number) => (profile.get(field) ?? []).map((bytes) => fieldsOf(bytes as Buffer));
  const strings = (profile.get(6) ?? []).map(String);
  const one = (fields: Fields, field: number): number => Number(fields.get(field)?.[0] ?? 0);
  const functions = new Map(messages(5).map((fields) => [one(fields, 1), strings[one(fields, 2)] ?? '']));
  const locations = new Map(messages(4).map((fields) => [one(fields, 1), functions.get(one(fieldsOf(fields.get(4)?.[0] as Buffer), 1)) ?? '']));
  return {
    types: messages(1).map((fields) => `${strings[one(fields, 1)]}/${strings[one(fields, 2)]}`),
    samples: messages(2).map((fields) => ({
      names: packed(fields.get(1)?.[0] as Buffer).map((id) => locations.get(id) ?? '?'),
      values: packed(fields.get(2)?.[0] as Buffer),
    })),
    duration: one(profile, 10),
  };
}

t.test('the format', async (t) => {
  const frame = (functionName: string) => ({ functionName, url: 'file:///x.js', lineNumber: 4 });
  const type = { type: 'cpu', unit: 'nanoseconds' };
  const bytes = encodedProfile({
    ...{ valueTypes: [type], startedMillis: 1_700_000_000_000, durationNanos: 3e9, periodType: type, period: 1e6 },
    samples: [
      { frames: [frame('inner'), frame('outer')], values: [123_456_789_012] },
      { frames: [frame('outer')], values: [5] },
    ],
  });
  t.strictSame(readBack(bytes), {
    types: ['cpu/nanoseconds'],
    samples: [
      { names: ['inner', 'outer'], values: [123_456_789_012] },
      { names: ['outer'], values: [5] },
    ],
    duration: 3e9,
  });
});

function burnedHere(millis: number): number {
  let sum = 0;
  for (const end = performance.now() + millis; performance.now() < end; ) sum += Math.sqrt(sum + 1);
  return sum;
}

t.test('where CPU time goes', async (t) => {
  const taking = takeCpuProfile(0.5, new AbortController().signal);
  await t.rejects(takeCpuProfile(1, new AbortController().signal), { message: 'cpu profiling already in use' }, 'one at a time');
  const timer = setInterval(() => burnedHere(20), 1);
  const profile = readBack(await taking);
  clearInterval(timer);
  t.strictSame(profile.types, ['samples/count', 'cpu/nanoseconds']);
  const burned = profile.samples.filter(({ names }) => names.includes('burnedHere')).reduce((sum, { values }) => sum + (values[1] ?? 0), 0);
  t.ok(burned > profile.duration / 4, `the function that burns it: ${burned} of ${profile.duration}`);
});

t.test('who allocates what lives on', async (t) => {
  const kept: unknown[] = [];
  const taking = takeHeapProfile(0.2, new AbortController().signal);
  const timer = setInterval(function keepsMuch() {
    for (let i = 0; i < 20_000; i++) kept.push({ i });
  }, 5);
  const profile = readBack(await taking);
  clearInterval(timer);
  const bytes = profile.samples.filter(({ names }) => names.includes('keepsMuch')).reduce((sum, { values }) => sum + (values[0] ?? 0), 0);
  t.ok(bytes > 500_000 && kept.length > 0, `the function that keeps it: ${bytes}`);
});

t.test('the route', async (t) => {
  const asked: number[] = [];
  const take = async (seconds: number) => {
    asked.push(seconds);
    if (seconds === 7) throw new ProfileInUse('cpu profiling already in use');
    return Buffer.from('x');
  };
  const route = profileRoute({ cpu: take, heap: take, commandLine: ['node', 'kubelet'] });
  const ask = async (path: string) => {
    const [plain = '', query = ''] = path.split('?');
    const elements = plain.split('/').filter((element) => element !== '');
    const answer = await route.answer({
      method: 'GET',
      path: plain,
      elements,
      query: new URLSearchParams(query),
      headers: {},
      body: async () => '',
      signal: new AbortController().signal,
    });
    return answer !== null && 'status' in answer ? answer.status : 0;
  };
  for (const path of [
    '/debug/pprof/profile',
    '/debug/pprof/profile?seconds=3',
    '/debug/pprof/profile?seconds=x',
    '/debug/pprof/profile?seconds=1e9',
    '/debug/pprof/heap?seconds=-1',
  ])
    t.equal(await ask(path), 200, path);
  t.strictSame(asked, [30, 3, 30, 300, 5]);
  t.equal(await ask('/debug/pprof/profile?seconds=7'), 500);
  for (const path of ['/debug/pprof/goroutine', '/debug/pprof/heap/x']) t.equal(await ask(path), 404, path);
});
