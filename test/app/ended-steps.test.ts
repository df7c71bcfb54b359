// The files about what ended the agent: whole, few, readable again, and without a secret.

import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { EndedSteps } from '../../src/adapters/flight-record/ended-steps.js';
import { type AgentState, newAgentState } from '../../src/domain/agent/agent-state.js';
import { newSetAside } from '../../src/domain/agent/set-aside/set-aside-state.js';
import { defaultSettings } from '../../src/domain/agent/settings.js';
import { endedAgent } from '../../src/domain/agent-queries/ended-agent.js';
import { newReflector } from '../../src/domain/api-cache/reflector.js';
import { nodeFacts } from '../../src/domain/containers/default-node-facts.js';
import { type Clocks, instantOf } from '../../src/domain/values/instant.js';
import { microsPerMinute } from '../../src/domain/values/time.js';
import type { LogFields, Logger } from '../../src/ports/outbound/logger.js';

const start = 1_800_000_000_000_000;
const hour = 60 * microsPerMinute;

/** @param up since the boot, by the clock that is never set */
function clocksAt(wall: number, up = 0) {
  return { now: up, wall: instantOf(wall) };
}

function stage(t: Test) {
  const root = mkdtempSync(join(tmpdir(), 'ended-steps-'));
  t.teardown(() => rmSync(root, { recursive: true }));
  const lines: { readonly level: string; readonly message: string; readonly fields: LogFields | undefined }[] = [];
  const logger = { log: (level: string, message: string, fields?: LogFields) => void lines.push({ level, message, fields }), named: () => logger } as never;
  const agent = newAgentState({ ...defaultSettings, apiserver: true, sources: ['api'] }, nodeFacts({}));
  const pod = { metadata: { uid: 'u1', name: 'web', namespace: 'shop' }, spec: { containers: [] } };
  agent.pods.pods.set('u1', pod as never);
  return { root, lines, logger, agent, open: () => EndedSteps.open(root, logger), directory: join(root, 'ended-steps') };
}

function writeEnd(steps: EndedSteps, error: unknown, input: unknown, agent: AgentState, { now, wall }: Clocks, logger: Logger): string | null {
  return steps.write(error, input, () => endedAgent(agent, now), wall, logger);
}

t.test('no secret is in a file, wherever it comes from', async (t) => {
  const { agent, open, logger } = stage(t);
  agent.subject = 'u1';
  const secrets = newReflector(
    'secrets:shop/keys',
    { resource: { group: '', version: 'v1', plural: 'secrets' }, namespace: 'shop', fieldSelector: null, labelSelector: null },
    false,
  );
  const known = 'known-secret-value';
  secrets.objects.set('shop/keys', { metadata: { name: 'keys', namespace: 'shop' }, type: 'Opaque', data: { key: Buffer.from(known).toString('base64') } } as never);
  agent.api?.reflectors.set('secrets:shop/keys', secrets);
  const spec = {
    containers: [
      {
        name: 'c',
        command: ['sh', '-c', `login --password=argument-secret --key ${known}`],
        env: [{ name: 'PASSWORD', value: 'variable-secret' }],
        livenessProbe: { httpGet: { httpHeaders: [{ name: 'X-Key', value: 'header-secret' }] } },
      },
    ],
  };
  const copies = { annotations: { 'kubectl.kubernetes.io/last-applied-configuration': '{"env":"copied-secret"}' } };
  const objects = [
    { apiVersion: 'v1', kind: 'Pod', metadata: { uid: 'u1', ...copies }, spec },
    { apiVersion: 'v1', kind: 'Secret', metadata: {}, type: 'Opaque', data: { a: Buffer.from('object-secret').toString('base64') }, stringData: { b: 'text-secret' } },
    { metadata: {}, type: 'Opaque', data: { a: Buffer.from('listed-secret').toString('base64') } },
    { kind: 'ConfigMap', metadata: {}, data: { 'config.ini': 'config-secret' } },
    { kind: 'TokenRequest', metadata: {}, status: { token: 'token-secret' } },
  ];
  const answers = { stdout: 'output-secret', bytes: new TextEncoder().encode('bytes-secret'), password: 'field-secret', auth: 'auth-secret' };
  const input = { type: 'api-watch', watch: 'w', events: objects.map((object) => ({ type: 'MODIFIED', object })), answers };
  let error: unknown = null;
  try {
    JSON.parse('{"a": syntax-secret}');
  } catch (thrown) {
    error = thrown;
  }
  const files = [error, new Error(`failed with ${known}`)].map((thrown, i) => writeEnd(open(), thrown, input, agent, clocksAt(start + i), logger));
  for (const file of files) {
    const text = readFileSync(file ?? '', 'utf8');
    t.notMatch(text, /[a-z]-secret|known-secret-value/);
    for (const { data } of objects.filter((object) => 'data' in object)) for (const value of Object.values(data as object)) t.notOk(text.includes(value as string));
    t.match(JSON.parse(text), { pod: { uid: 'u1', name: 'web', namespace: 'shop' }, step: { type: 'api-watch' } }, 'what it is about is there');
    t.match(text, /"name": "PASSWORD"/, 'names are');
    t.equal(statSync(file ?? '').mode & 0o777, 0o600);
  }
});

t.test('they are read again by the next agent', async (t) => {
  const { agent, open, logger } = stage(t);
  t.strictSame(open().ends, []);
  agent.subject = 'u1';
  const file = writeEnd(open(), new TypeError('x'), { type: 'wake', address: { machine: 'sync', key: 'u1' } }, agent, clocksAt(start), logger);
  const end = { uid: 'u1', namespace: 'shop', name: 'web', version: null, manifestUid: 'u1', wasAside: false, sinceBoot: null, at: instantOf(start), file };
  t.strictSame(open().ends, [end]);
  agent.subject = null;
  writeEnd(open(), new TypeError('x'), null, agent, clocksAt(start + 1), logger);
  t.equal(open().ends.length, 1, 'what is laid to no pod sets none aside');
});

t.test('few are kept, and what cannot be read is passed by', async (t) => {
  const { agent, open, logger, directory, lines } = stage(t);
  agent.subject = 'u1';
  const steps = open();
  for (let i = 0; i < 12; i++) writeEnd(steps, new Error('x'), null, agent, clocksAt(start + i), logger);
  t.equal(open().ends.length, 8);
  agent.subject = null;
  for (let i = 20; i < 100; i++) writeEnd(steps, new Error('x'), null, agent, clocksAt(start + i), logger);
  open();
  t.ok(readdirSync(directory).length <= 64);
  for (const [i, text] of ['', '{', 'null', '[]', '{"kubeletTs":2}', '{"kubeletTs":1,"at":1,"pod":{"uid":7}}', '\0\0'].entries())
    writeFileSync(join(directory, `9${i}-u.json`), text);
  lines.length = 0;
  t.doesNotThrow(open);
  t.equal(lines.length, 7, 'each is told of');
});

t.test('a wall clock that was set back changes neither their order nor which of them are kept', async (t) => {
  const { agent, open, logger } = stage(t);
  Object.assign(agent.settings, { observedTimes: { text: null, bootId: 'b', bootedAt: 100 } });
  agent.subject = 'u1';
  const walls = [...Array.from({ length: 6 }, (_, i) => start + i), ...Array.from({ length: 4 }, (_, i) => start - 2 * hour + i)];
  const files = walls.map((wall, i) => writeEnd(open(), new Error('x'), null, agent, clocksAt(wall, 200.5 + i), logger));
  const { ends } = open();
  t.strictSame(
    ends.map(({ file }) => file),
    files.slice(-8),
    'the newest ones, in order',
  );
  t.match(ends.at(-1), { at: instantOf(walls.at(-1) ?? 0), sinceBoot: { bootId: 'b', at: 109 } });
});

t.test('a file of an earlier version has no moment of the boot, and one that is no moment is refused', async (t) => {
  const { agent, open, logger, lines } = stage(t);
  agent.subject = 'u1';
  const file = writeEnd(open(), new Error('x'), null, agent, clocksAt(start), logger) ?? '';
  const { pod, ...step } = JSON.parse(readFileSync(file, 'utf8'));
  const { sinceBoot: _, ...earlier } = pod;
  writeFileSync(file, JSON.stringify({ ...step, pod: earlier }));
  t.match(open().ends, [{ uid: 'u1', sinceBoot: null }]);
  for (const sinceBoot of [7, 'b', {}, { bootId: 7, at: 1 }, { bootId: 'b', at: '1' }]) {
    lines.length = 0;
    writeFileSync(file, JSON.stringify({ ...step, pod: { ...earlier, sinceBoot } }));
    t.strictSame(open().ends, []);
    t.equal(lines.length, 1);
  }
});

t.test('a directory that cannot be written is told of, and nothing is thrown', async (t) => {
  const { agent, open, logger, root, lines } = stage(t);
  writeFileSync(join(root, 'ended-steps'), '');
  t.equal(writeEnd(open(), new Error('x'), null, agent, clocksAt(start), logger), null);
  t.match(lines.at(-1), { level: 'error', message: 'What ended the agent cannot be written down' });
});

t.test('which pods are aside follows from the ends alone', async (t) => {
  const end = (minutes: number, more: object = {}) => ({
    ...{ uid: 'u', namespace: 'n', name: 'p', version: '1', manifestUid: 'u', wasAside: false, sinceBoot: null },
    at: instantOf(start + minutes * microsPerMinute),
    file: `${minutes}.json`,
    ...more,
  });
  const up = (minutes: number, bootId = 'b') => ({ sinceBoot: { bootId, at: minutes * microsPerMinute } });
  const rows: readonly (readonly [string, readonly ReturnType<typeof end>[], readonly string[], number])[] = [
    ['none', [], [], 0],
    ['one', [end(0)], [], 0],
    ['two within ten minutes', [end(0), end(10)], [], 2],
    ['two that are further apart', [end(0), end(11)], [], 0],
    ['the wall clock was set back, and nothing else is known', [end(10), end(0)], [], 2],
    ['ten minutes in one boot, the wall clock set forward', [end(0, up(0)), end(130, up(10))], [], 2],
    ['further apart in one boot, the wall clock set back', [end(0, up(0)), end(-109, up(11))], [], 0],
    ['each of another boot: the stamps', [end(0, up(50)), end(10, up(1, 'other'))], [], 2],
    ['each of another boot, further apart', [end(0, up(1)), end(11, up(2, 'other'))], [], 0],
    ['one by an earlier version', [end(0), end(11, up(11))], [], 0],
    ['a third one later', [end(0), end(1), end(300)], [], 3],
    ['of another pod', [end(0), end(1, { uid: 'other' })], [], 0],
    ['forgiven', [end(0), end(1)], ['0.json', '1.json'], 0],
    ['one since', [end(0), end(1), end(2)], ['0.json', '1.json'], 0],
    ['two since', [end(0), end(1), end(2), end(3)], ['0.json', '1.json'], 2],
    ['a forgiven file that is no more', [end(0), end(1)], ['gone.json'], 2],
  ];
  for (const [name, ends, forgiven, expected] of rows) {
    const { pods } = newSetAside({ ends, forgiven: JSON.stringify({ forgiven }) });
    t.equal(pods.get('u')?.ends ?? 0, expected, name);
  }
  for (const text of [null, '', '{', '7', '{"forgiven":{}}', '{"forgiven":[7]}']) t.equal(newSetAside({ ends: [end(0), end(1)], forgiven: text }).pods.size, 1, `text ${text}`);
});
