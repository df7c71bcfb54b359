// Warnings about an open or weak server, and that without a configuration file it is as open as the Go kubelet's.
import t from 'tap';
import { opennessWarning, tlsWarnings } from '../../src/domain/configuration/server-warnings.js';
import { load, type Situation } from './configuration-situations.js';

const closed = 'authentication: {anonymous: {enabled: false}}\nauthorization: {mode: Webhook}\n';
const commands = 'any client that reaches it on 0.0.0.0:10250 may run commands in every container (authentication.anonymous.enabled with authorization.mode AlwaysAllow)';
const reading = 'any client that reaches 0.0.0.0:10255 may read all pods and numbers, without TLS (readOnlyPort)';

const rows: readonly (readonly [what: string, situation: Situation, warning: string | null])[] = [
  ['no configuration file: the defaults of old', {}, `THIS NODE IS OPEN: ${commands}; ${reading}`],
  ['no configuration file, and flags that shut it', { flags: ['--anonymous-auth=false', '--authorization-mode=Webhook', '--read-only-port=0'] }, null],
  [
    'no configuration file, and who is anonymous shut out',
    { flags: ['--anonymous-auth=false'] },
    `THIS NODE IS OPEN: any client that can authenticate on 0.0.0.0:10250 may do everything (authorization.mode AlwaysAllow); ${reading}`,
  ],
  ['a configuration file: the defaults of now', { file: '' }, null],
  ['a configuration file that says so', { file: closed }, null],
  ['a configuration file with the read-only port', { file: `${closed}readOnlyPort: 10255\n` }, `THIS NODE IS OPEN: ${reading}`],
  ['anonymous requests that the apiserver decides about', { file: 'authentication: {anonymous: {enabled: true}}\n' }, null],
  ['anonymous requests that may everything', { file: 'authentication: {anonymous: {enabled: true}}\nauthorization: {mode: AlwaysAllow}\n' }, `THIS NODE IS OPEN: ${commands}`],
  [
    'another address and port',
    { file: 'address: 127.0.0.1\nport: 1234\nauthorization: {mode: AlwaysAllow}\n' },
    'THIS NODE IS OPEN: any client that can authenticate on 127.0.0.1:1234 may do everything (authorization.mode AlwaysAllow)',
  ],
  ['no server', { flags: ['--enable-server=false'] }, null],
];

t.test('how open a node is, in one line', async (t) => {
  for (const [what, situation, warning] of rows) {
    const loaded = load(situation);
    if (loaded.kind !== 'loaded') throw new Error(JSON.stringify(loaded));
    t.equal(opennessWarning(loaded.configuration), warning, what);
  }
});

t.test('the defaults without a file are those of the reference', async (t) => {
  const loaded = load({});
  if (loaded.kind !== 'loaded') throw new Error(loaded.kind);
  t.match(loaded.configuration, { authentication: { anonymous: { enabled: true }, webhook: { enabled: false } }, authorization: { mode: 'AlwaysAllow' }, readOnlyPort: 10255 });
});

t.test('suites that are weak, and such as can not be chosen', async (t) => {
  t.strictSame(
    tlsWarnings({ tlsMinVersion: '', tlsCipherSuites: ['TLS_RSA_WITH_RC4_128_SHA', 'TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256', 'TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256'] }),
    ["Use of insecure cipher 'TLS_RSA_WITH_RC4_128_SHA' detected.", "Use of insecure cipher 'TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256' detected."],
  );
  t.strictSame(tlsWarnings({ tlsMinVersion: 'VersionTLS13', tlsCipherSuites: ['TLS_AES_128_GCM_SHA256'] }), ['Warning: TLS 1.3 cipher suites are not configurable.']);
  t.strictSame(tlsWarnings({ tlsMinVersion: 'VersionTLS12', tlsCipherSuites: [] }), []);
});
