// The loopback listener's answers to any local client: nothing that the kubelet's own port protects by authentication.
import { writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import t from 'tap';
import { logs } from '../../src/app/cli/logs.js';
import { ps } from '../../src/app/cli/ps.js';
import { servesPods } from '../../src/app/daemon/listener.js';
import { TestAuthority } from '../adapters/api-peer.js';
import { Stage } from './stage.js';

t.setTimeout(120_000);

let text = '';
const output = { write: () => true, destroyed: false, writableNeedDrain: false, on: () => {}, off: () => {} };
const error = {
  write(part: string): boolean {
    text += part;
    return true;
  },
};

const open = 'authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}\n';
const rows: readonly (readonly [sentence: string, configuration: string, expected: boolean])[] = [
  ['no port of its own', 'enableServer: false\n', true],
  ['a port that lets in everybody', `enableServer: true\n${open}authorization: {mode: AlwaysAllow}\n`, true],
  ['a port that asks who it is', 'enableServer: true\nauthentication: {anonymous: {enabled: false}}\nauthorization: {mode: AlwaysAllow}\n', false],
  ['a port that asks whether they may', `enableServer: true\n${open}authorization: {mode: Webhook}\n`, false],
];

t.test('pods on the health port', async (t) => {
  const stage = await Stage.open();
  t.teardown(() => stage.close());
  for (const [sentence, configuration, expected] of rows) {
    stage.configurationMore = configuration;
    t.equal(servesPods(stage.loaded().configuration), expected, sentence);
  }
});

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

t.test('a kubelet whose port asks who it is tells nobody on loopback, and its commands say what else there is', async (t) => {
  const stage = await Stage.open();
  t.teardown(() => stage.close());
  writeFileSync(join(stage.directory, 'ca.crt'), new TestAuthority('clients').certificate);
  const lines = [
    'enableServer: true',
    'address: 127.0.0.1',
    `healthzPort: ${await freePort()}`,
    `authentication: {anonymous: {enabled: false}, webhook: {enabled: false}, x509: {clientCAFile: ${join(stage.directory, 'ca.crt')}}}`,
  ];
  stage.configurationMore = `${lines.join('\n')}\n`;
  const daemon = await stage.start({ listenPort: null });
  const base = `http://${daemon.address}`;
  t.equal(await (await fetch(`${base}/healthz`)).text(), 'ok');
  for (const path of ['/pods', '/pods/', '//pods', '/healthz/../pods', '/%70ods']) t.equal((await fetch(`${base}${path}`)).status, 404, path);
  for (const [command, instead] of [
    [() => ps(['--agent', base], output, error), /--runtime/],
    [() => logs(['p', '--agent', base], output, error, new AbortController().signal), /kubectl logs/],
  ] as const) {
    text = '';
    t.equal(await command(), 1);
    t.match(text, instead);
  }
});
