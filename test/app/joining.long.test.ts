// The daemon as a process of its own with an unusable apiserver: the messages for users, and that the node continues with its own pods.
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { type MockApiserver, startMockApiserver } from '../../src/adapters/mock-apiserver/index.js';
import { ApiPeer, answer, base64, TestAuthority } from '../adapters/api-peer.js';
import { until } from '../support/until.js';
import { Program } from './programs.js';
import { Stage } from './stage.js';

t.setTimeout(300_000);

interface Kubeconfig {
  readonly clusters: readonly [{ readonly cluster: Record<string, string> }];
  readonly users: readonly [{ user: Record<string, unknown> }];
}

interface Row {
  readonly sentence: string;
  /** Makes the kubeconfig from a good one, and anything else it needs. */
  make(config: Kubeconfig, server: MockApiserver, other: MockApiserver, t: { readonly teardown: (run: () => unknown) => unknown }): void | Promise<void>;
  readonly says: RegExp;
}

const rows: readonly Row[] = [
  {
    sentence: 'an authority that signed another server',
    make: ({ clusters: [{ cluster }] }, _server, other) => {
      cluster['certificate-authority-data'] = Buffer.from(other.caCertificate).toString('base64');
    },
    says: /tls: failed to verify certificate: x509: certificate signed by unknown authority/,
  },
  {
    sentence: 'no authority at all',
    make: ({ clusters: [{ cluster }] }) => {
      delete cluster['certificate-authority-data'];
    },
    says: /x509: certificate signed by unknown authority/,
  },
  {
    sentence: 'plain HTTP to a server that speaks TLS',
    make: ({ clusters: [{ cluster }] }) => {
      cluster.server = (cluster.server ?? '').replace('https:', 'http:');
    },
    says: /malformed HTTP response|EOF|connection reset|socket hang up/,
  },
  {
    sentence: 'nobody listens',
    make: ({ clusters: [{ cluster }] }) => {
      cluster.server = 'https://127.0.0.1:1';
    },
    says: /dial tcp 127\.0\.0\.1:1: connect: connection refused/,
  },
  {
    sentence: 'a name that nobody knows',
    make: ({ clusters: [{ cluster }] }) => {
      cluster.server = 'https://nosuch.invalid:6443';
    },
    says: /lookup nosuch\.invalid.*(no such host|server misbehaving|Temporary failure)/,
  },
  {
    sentence: 'the certificate of another node',
    make: (config, server) => Object.assign(config, JSON.parse(server.kubeconfig({ commonName: 'system:node:other', organizations: ['system:nodes'] }))),
    says: /Unable to register node with API server, error getting existing node.*node 'other' cannot read 'n1', only its own Node object/,
  },
  {
    sentence: 'a token that nobody knows',
    make: ({ users: [entry] }) => {
      entry.user = { token: 'secret-token' };
    },
    says: /Unauthorized/,
  },
  {
    sentence: 'a program for credentials that is not there',
    make: ({ users: [entry] }) => {
      entry.user = { exec: { apiVersion: 'client.authentication.k8s.io/v1', command: '/nosuch/program', interactiveMode: 'Never' } };
    },
    says: /exec: .*\/nosuch\/program.*(not found|no such file)/,
  },
  {
    sentence: 'a certificate of the server that has expired',
    make: async ({ clusters: [{ cluster }] }, _server, _other, t) => {
      const authority = new TestAuthority();
      const peer = await ApiPeer.open(t, (_request, response) => answer(response, 200, {}), { tls: authority.server(-3, -1) });
      cluster.server = peer.url;
      cluster['certificate-authority-data'] = base64(authority.certificate);
    },
    says: /x509: certificate has expired or is not yet valid: the current time is after its end/,
  },
  {
    sentence: 'a client certificate that has expired, and nobody renews it',
    make: (config, server) => Object.assign(config, JSON.parse(server.kubeconfig({ commonName: 'system:node:n1', organizations: ['system:nodes'], seconds: -60 }))),
    says: /the client certificate has expired at \S+Z, it is not shown to the server/,
  },
];

t.test('whatever is wrong with the way to the server, a line says it, static pods run, and the end is orderly', async (t) => {
  const other = await startMockApiserver();
  t.teardown(() => other.stop());
  for (const { sentence, make, says } of rows) {
    const stage = await Stage.open();
    const server = await startMockApiserver();
    const config = JSON.parse(server.kubeconfig({ commonName: 'system:node:n1', organizations: ['system:nodes'] })) as Kubeconfig;
    await make(config, server, other, t);
    const path = join(stage.directory, 'kubelet.conf');
    writeFileSync(path, JSON.stringify(config));
    stage.flags.push(`--kubeconfig=${path}`);
    stage.manifest('a.yaml', stage.pod('a'));
    const program = new Program('kubelet-ts', stage.words());
    try {
      await until(`${sentence}: the static pod runs`, () => stage.running.length === 1);
      await until(`${sentence}: a line says it`, () => says.test(program.err));
    } catch (error) {
      t.fail(`${sentence}: ${error instanceof Error ? error.message : String(error)}`, { said: program.err.split('\n').slice(-8) });
    }
    program.kill('SIGTERM');
    t.equal(await program.end(), 0, `${sentence}: the end`);
    t.notMatch(program.err, /secret-token|PRIVATE KEY/, sentence);
    await stage.close();
    await server.stop();
  }
});

/** Kubeconfigs that no client can be made of: text, or null where there is no file. */
const refused: readonly (readonly [sentence: string, text: string | null, says: RegExp])[] = [
  ['there is none', null, /invalid kubeconfig: stat \S+: no such file or directory/],
  ['it is empty', '', /invalid kubeconfig: invalid configuration: no configuration has been provided/],
  [
    'it has no context',
    '{"apiVersion":"v1","kind":"Config","clusters":[{"name":"c","cluster":{"server":"https://127.0.0.1:1"}}]}',
    /invalid kubeconfig: .*current-context is not set/,
  ],
  ['its context is not there', '{"apiVersion":"v1","kind":"Config","current-context":"x"}', /invalid kubeconfig: .*context.*"?x"?.*does not exist/],
  ['it is no YAML', '{', /invalid kubeconfig: \S+/],
];

t.test('a kubeconfig that is of no use ends the process, in one line', async (t) => {
  const stage = await Stage.open();
  t.teardown(() => stage.close());
  const path = join(stage.directory, 'kubelet.conf');
  stage.flags.push(`--kubeconfig=${path}`);
  for (const [sentence, text, says] of refused) {
    if (text === null) rmSync(path, { force: true });
    else writeFileSync(path, text);
    const program = new Program('kubelet-ts', stage.words());
    t.equal(await program.end(), 1, `${sentence}: the code`);
    const lines = program.err
      .trim()
      .split('\n')
      .filter((line) => line.includes('kubeconfig'));
    t.equal(lines.length, 1, `${sentence}: ${program.err}`);
    t.match(lines[0], says, sentence);
  }
});
