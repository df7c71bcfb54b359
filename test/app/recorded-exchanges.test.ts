// The recorded answers of a Go kubelet, request by request (recorded-exchanges.jsonl), compared with a daemon of this project with the same pods.
// Invariant: each difference is in the table below with its reason, and each row differs.
import { readFileSync, writeFileSync } from 'node:fs';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { createServer } from 'node:net';
import { join } from 'node:path';
import t from 'tap';
import { TestAuthority } from '../adapters/api-peer.js';
import { until } from '../support/until.js';
import { podNamed, Stage } from './stage.js';

t.setTimeout(120_000);

interface Exchange {
  readonly name: string;
  readonly server: 'open' | 'closed';
  readonly port: 'api' | 'readOnly' | 'health';
  readonly credentials: 'none' | 'client' | 'stranger';
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly send: string;
  /** A body of null is one of a run: only its existence is compared. */
  readonly want: { readonly status: number; readonly headers: Readonly<Record<string, string | null>>; readonly body: string | null };
}

const exchanges = readFileSync(new URL('../../../test/app/recorded-exchanges.jsonl', import.meta.url), 'utf8')
  .split('\n')
  .filter((line) => line !== '')
  .map((line) => JSON.parse(line) as Exchange);

const notRun = 'the mock runtime runs nothing, so nothing fails by itself';
const overHttp1 = 'recorded over HTTP/2, where the Go kubelet has a content type for it; over HTTP/1.1 it has none';
const different: Readonly<Record<string, string>> = {
  'containerlogs-previous-none': overHttp1,
  'containerlogs-waiting': overHttp1,
  'run-fail': notRun,
  checkpoint: 'the mock runtime can make checkpoints',
};

/** Of a run, or of the host that it was on. */
const bodies =
  /^(containerlogs-(ok|timestamps|limit|tail-zero|init|legacy-tail|bad-bool|since-future|previous-ok|stream-all)|run-ok|run-fail|logs-query-none|statusz-|flagz-structured)/;

const authority = new TestAuthority('clients');
const client = authority.client('reader');
const stranger = new TestAuthority('strangers').client('reader');
const node = 'ref2';

const manifests: Readonly<Record<string, string>> = {
  hostnet: `apiVersion: v1
kind: Pod
metadata: {name: hostnet, namespace: kube-system}
spec: {hostNetwork: true, containers: [{name: pause, image: "registry.k8s.io/pause:3.10.2"}]}
`,
  web: `apiVersion: v1
kind: Pod
metadata: {name: web, annotations: {"sim.kubelet-ts/setup": "run=0s,exit=0", "sim.kubelet-ts/app": "run=forever,log=100/s"}}
spec:
  dnsPolicy: Default
  initContainers: [{name: setup, image: busybox}]
  containers: [{name: app, image: busybox}]
`,
  crash: `apiVersion: v1
kind: Pod
metadata: {name: crash, namespace: other, annotations: {"sim.kubelet-ts/bad": "run=100ms,exit=3,log=100/s;run=forever"}}
spec:
  dnsPolicy: Default
  containers: [{name: bad, image: busybox}, {name: live, image: busybox}, {name: noimage, image: "registry.invalid/none:v1", imagePullPolicy: Never}]
`,
};

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

type Checks = Parameters<Parameters<typeof t.test>[0]>[0];

async function serving(t: Checks, kind: Exchange['server']): Promise<Readonly<Record<Exchange['port'], number>>> {
  const stage = await Stage.open();
  t.teardown(() => stage.close());
  const [readOnlyPort, healthPort] = [await freePort(), await freePort()];
  const file = join(stage.directory, 'client-ca.crt');
  writeFileSync(file, authority.certificate);
  const authentication =
    kind === 'open' ? '{anonymous: {enabled: true}, webhook: {enabled: false}}' : `{x509: {clientCAFile: ${file}}, anonymous: {enabled: false}, webhook: {enabled: false}}`;
  const lines = [
    'enableServer: true',
    'address: 127.0.0.1',
    `readOnlyPort: ${readOnlyPort}`,
    `authentication: ${authentication}`,
    `enableDebuggingHandlers: ${kind === 'open'}`,
    `enableSystemLogQuery: ${kind === 'open'}`,
    '',
  ];
  stage.configurationMore = lines.join('\n');
  stage.flags.push(`--hostname-override=${node}`, `--healthz-port=${healthPort}`);
  for (const [name, text] of Object.entries(manifests)) stage.manifest(`${name}.yaml`, text);
  const daemon = await stage.start({ listenPort: null });
  await until('the pods are as they were', () => {
    const statuses = ['web-ref2', 'crash-ref2'].flatMap((name) => podNamed(daemon, name)?.status?.containerStatuses ?? []);
    const state = (name: string) => statuses.find((status) => status.name === name);
    return (
      state('app')?.state?.running !== undefined &&
      state('noimage')?.state?.waiting?.reason === 'ErrImageNeverPull' &&
      state('bad')?.state?.running !== undefined &&
      state('bad')?.lastState?.terminated !== undefined
    );
  });
  return { api: daemon.apiPort ?? 0, readOnly: readOnlyPort, health: healthPort };
}

function ask(port: number, exchange: Exchange): Promise<{ readonly status: number; readonly headers: IncomingMessage['headers']; readonly body: string }> {
  const { method, path, headers, send, credentials } = exchange;
  const pair = credentials === 'none' ? null : credentials === 'client' ? client : stranger;
  const tls = { rejectUnauthorized: false, ...(pair === null ? {} : { cert: pair.certificate, key: pair.key }) };
  const options = { host: '127.0.0.1', port, method, path, headers: { ...headers, ...(send === '' ? {} : { 'content-length': send.length }) }, agent: false as const };
  return new Promise((resolve, reject) => {
    const answered = (response: IncomingMessage) => {
      let body = '';
      response.on('data', (chunk: Buffer) => {
        body += chunk.toString('latin1');
        // A follower of a log would wait forever.
        if (/[?&]follow=/.test(path)) response.destroy();
      });
      response.once('close', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body }));
    };
    const sent = exchange.port === 'api' ? httpsRequest({ ...options, ...tls }, answered) : httpRequest(options, answered);
    sent.once('error', reject);
    sent.end(send);
  });
}

async function difference(port: number, exchange: Exchange): Promise<string | null> {
  const got = await ask(port, exchange);
  const { status, headers, body } = exchange.want;
  if (got.status !== status) return `status ${got.status} instead of ${status}: ${got.body.slice(0, 200)}`;
  for (const [name, value] of Object.entries(headers)) if ((got.headers[name] ?? null) !== value) return `${name}: ${String(got.headers[name])} instead of ${value}`;
  if (body !== null && !bodies.test(exchange.name) && got.body !== body) return `body ${JSON.stringify(got.body.slice(0, 300))} instead of ${JSON.stringify(body)}`;
  return null;
}

for (const kind of ['open', 'closed'] as const) {
  t.test(`a server that is ${kind}`, async (t) => {
    const ports = await serving(t, kind);
    for (const exchange of exchanges.filter(({ server }) => server === kind)) {
      const found = await difference(ports[exchange.port], exchange);
      const reason = different[exchange.name];
      if (reason === undefined) t.equal(found, null, `${exchange.name}: ${exchange.method} ${exchange.path}`);
      else t.not(found, null, `${exchange.name} differs: ${reason}`);
    }
  });
}
