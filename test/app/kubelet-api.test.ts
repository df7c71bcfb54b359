// The kubelet's port of a daemon on the mock runtime: which requests it serves, and what it never discloses.
import { generateKeyPairSync } from 'node:crypto';
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { type RequestOptions, request } from 'node:https';
import { createServer } from 'node:net';
import { join } from 'node:path';
import t from 'tap';
import { issueCertificate } from '../../src/adapters/certificates/index.js';
import type { Daemon } from '../../src/app/daemon/start-daemon.js';
import { until } from '../support/until.js';
import { phaseOf, podNamed, Stage } from './stage.js';

const hour = 3_600_000;

function pairOf(name: string, issuer: { readonly name: string; readonly key: ReturnType<typeof generateKeyPairSync>['privateKey'] } | null) {
  const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const by = { commonName: issuer?.name ?? name, organizations: [], privateKey: issuer?.key ?? keys.privateKey } as Parameters<typeof issueCertificate>[1];
  const contents = { commonName: name, organizations: ['people'], dnsNames: [], ipAddresses: [], notBeforeMillis: Date.now() - hour, notAfterMillis: Date.now() + hour };
  const cert = issueCertificate(
    { ...contents, organizations: issuer === null ? [] : ['people'], publicKey: keys.publicKey, isAuthority: issuer === null, purposes: issuer === null ? [] : ['client'] },
    by,
  );
  return { cert, key: keys.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(), privateKey: keys.privateKey };
}

const authority = pairOf('ca', null);
const client = pairOf('admin', { name: 'ca', key: authority.privateKey });

interface Answer {
  readonly status: number;
  readonly body: string;
}

function ask(daemon: Daemon, path: string, options: RequestOptions = {}, body = ''): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port: daemon.apiPort, path, rejectUnauthorized: false, agent: false, cert: client.cert, key: client.key, ...options }, (response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => {
        text += chunk.toString();
      });
      response.once('end', () => resolve({ status: response.statusCode ?? 0, body: text }));
    });
    sent.once('error', reject);
    sent.end(body);
  });
}

async function serving(t: { teardown(what: () => unknown): unknown }, more = ''): Promise<Stage> {
  const stage = await Stage.open();
  t.teardown(() => stage.close());
  const file = join(stage.directory, 'client-ca.crt');
  writeFileSync(file, authority.cert);
  const authentication = `{x509: {clientCAFile: ${file}}, anonymous: {enabled: false}, webhook: {enabled: false}}`;
  stage.configurationMore = `enableServer: true\naddress: 127.0.0.1\nauthentication: ${authentication}\n${more}`;
  return stage;
}

t.test('what is served, and to whom', async (t) => {
  const stage = await serving(t, 'staticPodURLHeader: {Authorization: [Bearer hidden]}\nstaticPodURL: http://127.0.0.1:1/\n');
  stage.manifest('a.yaml', stage.pod('a', 'busybox', 'run=forever,log=200/s'));
  const daemon = await stage.start();
  await until('a runs', () => phaseOf(daemon, 'a-n1') === 'Running');
  const uid = podNamed(daemon, 'a-n1')?.metadata.uid ?? '';

  t.match(await ask(daemon, '/pods', { cert: undefined, key: undefined }), { status: 401, body: 'Unauthorized' }, 'nobody gets in without a certificate');
  t.match(await ask(daemon, '/exec/default/a-n1/c?command=id&output=1', { cert: undefined, key: undefined, method: 'POST' }), { status: 401 });
  const pods = JSON.parse((await ask(daemon, '/pods')).body) as { items: { metadata: { name: string; uid: string }; status: { phase: string } }[] };
  t.match(pods, { kind: 'PodList', items: [{ metadata: { name: 'a-n1', uid }, status: { phase: 'Running' } }] });
  t.match(JSON.parse((await ask(daemon, '/runningpods/')).body), {
    items: [{ metadata: { name: 'a-n1', namespace: 'default', uid }, spec: { containers: [{ name: 'c', image: /busybox/ }] } }],
  });
  t.match(await ask(daemon, '/healthz?verbose'), { status: 200, body: '[+]ping ok\n[+]log ok\n[+]syncloop ok\n[+]device-plugin ok\nhealthz check passed\n' });
  t.match(await ask(daemon, '/healthz/syncloop'), { status: 200, body: 'ok' });
  const configz = await ask(daemon, '/configz');
  t.match(JSON.parse(configz.body), { kubeletconfig: { kind: 'KubeletConfiguration', apiVersion: 'kubelet.config.k8s.io/v1beta1', enableServer: true } });
  t.notMatch(configz.body, /hidden/, 'credentials are not for /configz');
  t.match(await ask(daemon, '/flagz'), { status: 200, body: /\nhostname-override=n1\n/ });
  t.match(await ask(daemon, '/flagz', { headers: { accept: 'application/json' } }), { status: 406 });
  t.match(JSON.parse((await ask(daemon, '/statusz', { headers: { accept: 'application/json;g=config.k8s.io;v=v1beta1;as=Statusz' } })).body), {
    kind: 'Statusz',
    metadata: { name: 'kubelet' },
  });
  t.match(await ask(daemon, '/debug/flags/v', { method: 'PUT' }, '4'), { status: 200, body: 'successfully set klog.logging.verbosity to 4' });
  t.match(await ask(daemon, '/debug/flags/v', { method: 'PUT' }, 'loud'), { status: 400 });
  t.match(await ask(daemon, '/debug/pprof/'), { status: 200, body: /href="profile"/ });
  t.match(await ask(daemon, '/debug/pprof/goroutine'), { status: 404, body: 'Unknown profile\n' });
  t.match(await ask(daemon, '/debug/pprof/heap?seconds=0.1'), { status: 200, body: /^\u001f/ });
  t.match(await ask(daemon, '/logs'), { status: 307 });
  t.match(await ask(daemon, '/logs/'), { status: 200, body: /<pre>/ });
  t.match(await ask(daemon, '/logs/..%2f..%2fetc/passwd'), { status: 404 });
  t.match(await ask(daemon, '/checkpoint/default/none/c', { method: 'POST' }), { status: 404, body: 'pod does not exist' });
  t.match(await ask(daemon, '/checkpoint/default/a-n1/none', { method: 'POST' }), { status: 404, body: 'container none does not exist' });
});

t.test('logs over the port', async (t) => {
  const stage = await serving(t);
  stage.manifest('a.yaml', stage.pod('a', 'busybox', 'run=forever,log=200/s'));
  const daemon = await stage.start();
  await until('a runs', () => phaseOf(daemon, 'a-n1') === 'Running');
  const logs = (query: string, of = 'default/a-n1/c') => ask(daemon, `/containerLogs/${of}${query}`);
  await until('it has written something', () => stage.log.lines.length > 0);
  let tail = await logs('?tailLines=2');
  for (let i = 0; i < 50 && tail.body.split('\n').length < 3; i++) tail = await logs('?tailLines=2');
  t.equal(tail.status, 200);
  t.equal(tail.body.split('\n').length, 3, 'two lines');
  t.equal((await logs('?limitBytes=5')).body.length, 5);
  t.match((await logs('?timestamps=true&tailLines=1')).body, /^\d{4}-\d\d-\d\dT[0-9:.]+Z /);
  t.equal((await logs('?tail=1')).body.split('\n').length, 2, 'the older word for it');
  const rows: readonly (readonly [query: string, status: number, body: string])[] = [
    ['?tailLines=x', 400, '{"message": "Unable to decode query."}'],
    ['?sinceTime=yesterday', 400, '{"message": "Unable to decode query."}'],
    ['?tailLines=-1', 422, '{"message": "Invalid request."}'],
    ['?limitBytes=0', 422, '{"message": "Invalid request."}'],
    ['?sinceSeconds=1&sinceTime=2026-01-01T00:00:00Z', 422, '{"message": "Invalid request."}'],
    ['?stream=Stdout', 400, 'unable to return the given log stream: "Stdout". Please enable PodLogsQuerySplitStreams feature gate in kubelet'],
    ['?previous=true', 400, 'previous terminated container "c" in pod "a-n1" not found'],
  ];
  for (const [query, status, body] of rows) t.strictSame(await logs(query), { status, body }, query);
  t.equal(await contentTypeOf(daemon, '/containerLogs/default/a-n1/c?limitBytes=0'), 'text/plain; charset=utf-8');
  t.equal(await contentTypeOf(daemon, '/containerLogs/default/a-n1/c?previous=true'), null, 'none from the log itself, as the Go kubelet over HTTP/1.1');
  t.strictSame(await logs('', 'default/none/c'), { status: 404, body: 'pod "none" does not exist' });
  t.strictSame(await logs('', 'default/a-n1/none'), { status: 404, body: 'container "none" not found in pod "a-n1"' });

  const followed = await new Promise<string>((resolve, reject) => {
    const sent = request(
      {
        host: '127.0.0.1',
        port: daemon.apiPort,
        path: '/containerLogs/default/a-n1/c?follow=true&tailLines=0',
        rejectUnauthorized: false,
        agent: false,
        cert: client.cert,
        key: client.key,
      },
      (response) => {
        let text = '';
        response.on('data', (chunk: Buffer) => {
          text += chunk.toString();
          if (text.split('\n').length > 5) response.destroy();
        });
        response.once('close', () => resolve(text));
      },
    );
    sent.once('error', reject);
    sent.end();
  });
  t.ok(followed.split('\n').length > 5, 'what is written later comes');
});

t.test('sessions that can’t be had', async (t) => {
  const stage = await serving(t);
  stage.manifest('a.yaml', stage.pod('a'));
  const daemon = await stage.start();
  await until('a runs', () => phaseOf(daemon, 'a-n1') === 'Running');
  const rows: readonly (readonly [path: string, status: number, body: string | RegExp])[] = [
    ['/exec/default/a-n1/c?command=id', 400, 'you must specify at least 1 of stdin, stdout, stderr'],
    ['/exec/default/none/c?command=id&output=1', 404, 'pod does not exist'],
    ['/exec/default/a-n1/none?command=id&output=1', 500, 'container not found ("none")'],
    ['/exec/default/a-n1/another-uid/c?command=id&output=1', 500, 'Upgrade request required\n'],
    ['/attach/default/a-n1/none?output=1', 500, 'container none not found in pod a-n1_default'],
    ['/portForward/default/none', 404, 'pod does not exist'],
    ['/portForward/default/a-n1/another-uid', 404, 'pod not found'],
    ['/run/default/none/c?cmd=id', 404, 'pod does not exist'],
  ];
  for (const [path, status, body] of rows) t.match(await ask(daemon, path, { method: 'POST' }), { status, body }, path);
  t.match(await ask(daemon, '/run/default/a-n1/c?cmd=echo%20hi', { method: 'POST' }), { status: 200 });
});

t.test('the certificate of its own is made once and is its owner’s', async (t) => {
  const stage = await serving(t);
  const daemon = await stage.start();
  const files = ['kubelet.crt', 'kubelet.key'].map((name) => join(stage.root, 'pki', name));
  t.strictSame(
    files.map((file) => (statSync(file).mode & 0o777).toString(8)),
    ['644', '600'],
  );
  const [certificate] = files.map((file) => readFileSync(file, 'utf8'));
  await daemon.stop();
  await stage.start();
  t.equal(readFileSync(files[0] ?? '', 'utf8'), certificate);
});

t.test('a pair of its own of which one file is gone', async (t) => {
  const stage = await serving(t);
  const pair = ['kubelet.crt', 'kubelet.key'].map((name) => join(stage.root, 'pki', name)) as [string, string];
  await (await stage.start()).stop();
  rmSync(pair[0]);
  await (await stage.start()).stop();
  t.ok(existsSync(pair[0]), 'a key alone is what a killed agent leaves: both are made anew');
  rmSync(pair[1]);
  const message = `failed to run Kubelet: error reading ${pair[1]}, certificate and key must be supplied as a pair`;
  await t.rejects(stage.start(), { message }, 'a certificate alone is somebody’s doing');
  t.notOk(existsSync(pair[1]));
});

t.test('starts that are refused', async (t) => {
  const rows: readonly (readonly [what: string, more: string, expected: RegExp])[] = [
    [
      'no authorities in the file',
      'authentication: {x509: {clientCAFile: /dev/null}, anonymous: {enabled: false}, webhook: {enabled: false}}\n',
      /unable to load client CA file \/dev\/null/,
    ],
    [
      'no such file',
      'authentication: {x509: {clientCAFile: /none/ca.crt}, anonymous: {enabled: false}, webhook: {enabled: false}}\n',
      /unable to load client CA file \/none\/ca\.crt: open \/none\/ca\.crt: no such file or directory$/,
    ],
    ['nobody could get in', 'authentication: {anonymous: {enabled: false}, webhook: {enabled: false}}\n', /no authentication method configured/],
    ['no address', 'address: 300.1.1.1\n', /^failed to run Kubelet: address "300\.1\.1\.1" is not an IP address$/],
    ['no pair', 'tlsCertFile: /none/a\ntlsPrivateKeyFile: /none/b\n', /unable to load the serving certificate or its key: open \/none\/a: no such file or directory$/],
    ['a pair that is none', 'tlsCertFile: /dev/null\ntlsPrivateKeyFile: /dev/null\n', /tlsCertFile \/dev\/null/],
  ];
  for (const [what, more, expected] of rows) {
    const stage = await Stage.open();
    t.teardown(() => stage.close());
    stage.configurationMore = `enableServer: true\n${more}`;
    await t.rejects(stage.start(), { message: expected }, what);
  }
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
  t.teardown(() => taken.close());
  const stage = await serving(t);
  await t.rejects(stage.start({ apiPort: (taken.address() as { port: number }).port }), { message: /failed to listen and serve: .*EADDRINUSE/ }, 'a port that is taken');
});

t.test('a node that is open says so in one line', async (t) => {
  const stage = await serving(t);
  await stage.start();
  const lines = stage.log.lines.filter((line) => line.startsWith('warn THIS NODE IS OPEN: '));
  t.match(lines, [/any client that can authenticate on 127\.0\.0\.1:\d+ may do everything/]);
  t.equal(lines.length, 1);
});

function contentTypeOf(daemon: Daemon, path: string): Promise<string | null> {
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port: daemon.apiPort, path, rejectUnauthorized: false, agent: false, cert: client.cert, key: client.key };
    const sent = request(options, (response) => {
      response.resume();
      resolve(response.headers['content-type'] ?? null);
    });
    sent.once('error', reject);
    sent.end();
  });
}
