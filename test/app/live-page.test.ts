// The live page's server: access, the content of the data and what it never contains, and that the life of a pod is reported correctly.
import { readFileSync, statSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import t from 'tap';
import { openLivePage } from '../../src/adapters/http-server/index.js';
import type { Daemon } from '../../src/app/daemon/start-daemon.js';
import type { LifeSpan } from '../../src/domain/live-page/pod-lives.js';
import { PortError } from '../../src/ports/port-error.js';
import { until } from '../support/until.js';
import { phaseOf, podNamed, Stage } from './stage.js';

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

function ask(daemon: Daemon, path: string, headers: Readonly<Record<string, string>> = {}, method = 'GET'): Promise<Answer> {
  const { hostname, port } = new URL(daemon.page?.address ?? '');
  return new Promise((resolve, reject) => {
    const sent = request({ host: hostname, port, path, method, headers, agent: false }, (response) => {
      let body = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        body += chunk;
      });
      response.once('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body }));
    });
    sent.once('error', reject);
    sent.end();
  });
}

const page = { livePage: { address: '127.0.0.1', port: 0 } };
const keyOf = (daemon: Daemon): string => new URL(daemon.page?.url ?? '').hash.replace('#key=', '');

t.test('who gets what', async (t) => {
  const stage = await Stage.open();
  t.teardown(() => stage.close());
  stage.manifest('a.yaml', stage.pod('a', 'busybox', 'run=forever,log=50/s'));
  const daemon = await stage.start(page);
  await until('a runs', () => phaseOf(daemon, 'a-n1') === 'Running');
  const key = keyOf(daemon);
  const shown = { Authorization: `Bearer ${key}` };
  const logs = '/containerLogs/default/a-n1/c?tailLines=3';
  const rows: readonly (readonly [sentence: string, path: string, headers: Record<string, string>, method: string, status: number])[] = [
    ['the page itself says nothing and needs no key', '/', {}, 'GET', 200],
    ['nor does its style', '/page.css', {}, 'GET', 200],
    ['nor its program', '/page.js', {}, 'GET', 200],
    ['data needs the key', '/data', {}, 'GET', 401],
    ['a wrong key is none', '/data', { Authorization: `Bearer ${key}x` }, 'GET', 401],
    ['nor is an empty one', '/data', { Authorization: 'Bearer ' }, 'GET', 401],
    ['nor the right one by another scheme', '/data', { Authorization: `Basic ${key}` }, 'GET', 401],
    ['nor in the query, where it would get into logs', `/data?key=${key}`, {}, 'GET', 401],
    ['with the key it is there', '/data', shown, 'GET', 200],
    ['logs need the key', logs, {}, 'GET', 401],
    ['and are there with it', logs, shown, 'GET', 200],
    ['a name that leads here from elsewhere is refused', '/', { Host: 'evil.example:4194' }, 'GET', 403],
    ['also with the key', '/data', { ...shown, Host: 'evil.example' }, 'GET', 403],
    ['and also for logs', logs, { ...shown, Host: '10.0.0.1' }, 'GET', 403],
    ['localhost is its own name', '/data', { ...shown, Host: 'localhost:4194' }, 'GET', 200],
    ['nothing is changed through it', '/data', shown, 'POST', 405],
    ['nothing else is there', '/pods', shown, 'GET', 404],
    ['no way out of its files', '/../../package.json', shown, 'GET', 404],
    ['nor by an escape', '/%2e%2e/page.js', shown, 'GET', 404],
    ['a container that there is not', '/containerLogs/default/a-n1/none', shown, 'GET', 404],
    ['a pod that there is not', '/containerLogs/default/none/c', shown, 'GET', 404],
  ];
  for (const [sentence, path, headers, method, status] of rows) t.equal((await ask(daemon, path, headers, method)).status, status, sentence);
  const { headers } = await ask(daemon, '/');
  t.match(String(headers['content-security-policy']), /default-src 'none'/, 'nothing is fetched from elsewhere');
  t.equal(headers['cache-control'], 'no-store');
  const log = await ask(daemon, logs, shown);
  t.match(log.headers['content-type'], /^text\/plain/, 'a log is text to a browser, whatever is in it');
  t.equal(log.headers['x-content-type-options'], 'nosniff');
});

t.test('its key', async (t) => {
  const stage = await Stage.open();
  t.teardown(() => stage.close());
  const daemon = await stage.start(page);
  const key = keyOf(daemon);
  const file = join(stage.root, 'live-page-key');
  t.equal(readFileSync(file, 'utf8').trim(), key);
  t.equal(statSync(file).mode & 0o777, 0o600, 'is read by its owner alone');
  t.notOk(stage.log.find(key), 'and is in no log');
  t.ok(stage.log.find('live-page-key'), 'which names its file');
  await daemon.stop();
  t.equal(keyOf(await stage.start(page)), key, 'and stays, so that a bookmark stays good');
});

t.test('what it tells', async (t) => {
  const stage = await Stage.open();
  t.teardown(() => stage.close());
  stage.configurationMore = 'evictionHard: {memory.available: 100Mi, nodefs.available: 10%}\n';
  const secret = 'hunter2-of-this-pod';
  const hidden = `imagePullPolicy: IfNotPresent, env: [{name: PASSWORD, value: ${secret}}], args: [--password=${secret}]`;
  stage.manifest('a.yaml', stage.pod('a').replace('imagePullPolicy: IfNotPresent', hidden));
  const daemon = await stage.start(page);
  await until('a runs', () => phaseOf(daemon, 'a-n1') === 'Running');
  const answer = await ask(daemon, '/data', { Authorization: `Bearer ${keyOf(daemon)}` });
  t.notMatch(answer.body, new RegExp(secret), 'no command line and no environment of a pod');
  const data = JSON.parse(answer.body);
  t.match(data.node, { name: 'n1', version: /^v1\.36/, runtime: /^mock /, cpuCount: Number, memoryBytes: Number, workingSetBytes: Number });
  t.match(data.signals[0], { signal: 'memory.available', kind: 'hard', available: Number, capacity: Number, threshold: 104_857_600, isBytes: true });
  t.ok(
    data.signals.some(({ signal, threshold, capacity }: Record<string, number | string>) => signal === 'nodefs.available' && Number(threshold) < Number(capacity) / 5),
    'a share is told as bytes',
  );
  const [pod] = data.pods;
  t.match(pod, { name: 'a-n1', namespace: 'default', phase: 'Running', ready: '1/1', restarts: 0, isStatic: true, isEnding: false, containers: [{ name: 'c', state: 'running' }] });
  const life: LifeSpan[] = pod.life;
  t.strictSame(
    life.map(({ step, subject }) => `${step} ${subject}`.trim()),
    ['queued', 'sandbox attempt 0', 'pull busybox:latest', 'create c', 'start c', 'ready'],
    'its life, in order',
  );
  t.ok(
    life.every(({ from, to }, i) => (to === null ? i === life.length - 1 : to >= from) && from >= (life[i - 1]?.from ?? 0)),
    'with times that go on',
  );
  stage.remove('a.yaml');
  await until('a is gone', () => podNamed(daemon, 'a-n1') === undefined);
  const after = JSON.parse((await ask(daemon, '/data', { Authorization: `Bearer ${keyOf(daemon)}` })).body);
  t.strictSame(after.pods, [], 'a pod that is gone is not told of');
});

t.test('off unless it is asked for, and never outside of loopback', async (t) => {
  const stage = await Stage.open();
  t.teardown(() => stage.close());
  const daemon = await stage.start();
  t.equal(daemon.page, null);
  const options = { address: '0.0.0.0', port: 0, key: 'k', assets: '', data: async () => ({}), onError: () => {} };
  const logs = { pattern: '/containerLogs/', methods: null, produces: null, answer: () => null };
  await t.rejects(openLivePage({ ...options, logs }), PortError);
});

t.test('a port that is taken keeps no node from working', async (t) => {
  const stage = await Stage.open();
  t.teardown(() => stage.close());
  const first = await stage.start(page);
  const port = Number(new URL(first.page?.address ?? '').port);
  const second = await stage.start({ livePage: { address: '127.0.0.1', port } }, `${stage.root}-second`);
  t.equal(second.page, null);
  t.ok(stage.log.find('The live page can not be opened'));
});
