// Kubeconfig files: reading good ones, and refusing bad ones, with file, field and expectation.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { KubeconfigError, kubeconfigOf, loadKubeconfig, unusableCredentials } from '../../src/adapters/apiserver/index.js';
import { encodings, unreadableEncodings, utf16 } from './encodings.js';

const directory = mkdtempSync(join(tmpdir(), 'kubelet-ts-test-'));
t.teardown(() => rmSync(directory, { recursive: true }));
const path = join(directory, 'kubelet.conf');
writeFileSync(join(directory, 'here.pem'), 'pem');

interface Parts {
  readonly cluster?: unknown;
  readonly user?: unknown;
  readonly context?: unknown;
  readonly rest?: object;
}

function config({ cluster = { server: 'https://h:6443' }, user = {}, context = { cluster: 'c', user: 'u' }, rest = {} }: Parts): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'x',
    clusters: [
      { name: 'other', cluster: {} },
      { name: 'c', cluster },
    ],
    users: [{ name: 'u', user }],
    contexts: [{ name: 'x', context }],
    ...rest,
  });
}

const nobody = { certificate: null, token: null, basic: null, exec: null };
const plain = { path, server: 'https://h:6443', serverName: null, insecure: false, authority: null, proxyUrl: null, user: nobody };

t.test('good ones', async (t) => {
  const rows: readonly (readonly [string, string, object])[] = [
    ['the least', config({}), plain],
    ['a path of the server, without its last slash', config({ cluster: { server: 'https://h/k8s/clusters/c-1/' } }), { ...plain, server: 'https://h/k8s/clusters/c-1' }],
    ['a context without a user is nobody', config({ context: { cluster: 'c' } }), plain],
    ['unknown fields', config({ rest: { preferences: {}, extensions: [] }, cluster: { server: 'https://h:6443', 'disable-compression': true } }), plain],
    [
      'everything of a cluster',
      config({ cluster: { server: 'http://h', 'certificate-authority': 'here.pem', 'tls-server-name': 'n', 'proxy-url': 'http://p:1' } }),
      { ...plain, server: 'http://h', serverName: 'n', authority: { kind: 'file', path: join(directory, 'here.pem') }, proxyUrl: 'http://p:1' },
    ],
    [
      'data before file',
      config({ cluster: { server: 'https://h:6443', 'certificate-authority': 'absent', 'certificate-authority-data': 'YWJj' } }),
      { ...plain, authority: { kind: 'data', pem: 'abc' } },
    ],
    [
      'a certificate',
      config({ user: { 'client-certificate': 'here.pem', 'client-key-data': 'YWJj' } }),
      { ...plain, user: { ...nobody, certificate: { certificate: { kind: 'file', path: join(directory, 'here.pem') }, key: { kind: 'data', pem: 'abc' } } } },
    ],
    ['a token and its file', config({ user: { token: 'v', tokenFile: 'f' } }), { ...plain, user: { ...nobody, token: { value: 'v', file: join(directory, 'f') } } }],
    [
      'YAML, with a program',
      `apiVersion: v1
kind: Config
current-context: x
contexts: [{name: x, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "https://h:6443"}}]
users:
- name: u
  user:
    exec: {command: ../bin/plugin, args: [a], env: [{name: A, value: b}], apiVersion: client.authentication.k8s.io/v1beta1}
`,
      {
        ...plain,
        user: {
          ...nobody,
          exec: {
            command: join(directory, '../bin/plugin'),
            args: ['a'],
            env: { A: 'b' },
            apiVersion: 'client.authentication.k8s.io/v1beta1',
            installHint: '',
            provideClusterInfo: false,
          },
        },
      },
    ],
  ];
  for (const [sentence, text, expected] of rows) t.same(kubeconfigOf(text, path), expected, sentence);
});

const v1 = { command: 'c', apiVersion: 'client.authentication.k8s.io/v1', interactiveMode: 'Never' };
const versions = 'expected one of client.authentication.k8s.io/v1, client.authentication.k8s.io/v1beta1';
const unreadable = (what: string, file: string): string => `unable to read ${what} ${file} for u due to open ${file}: no such file or directory`;
type Row = readonly [sentence: string, text: string, message: string];

const badClusters: readonly Row[] = [
  ['an empty file', '', `invalid configuration: no configuration has been provided, try setting KUBERNETES_MASTER environment variable (${path}: current-context is not set)`],
  [
    'no current context',
    config({ rest: { 'current-context': '' } }),
    `invalid configuration: no configuration has been provided, try setting KUBERNETES_MASTER environment variable (${path}: current-context is not set)`,
  ],
  ['another context', config({ rest: { 'current-context': 'y' } }), `invalid configuration: context "y" does not exist (${path}: current-context names none of its contexts)`],
  [
    'another cluster',
    config({ context: { cluster: 'd', user: 'u' } }),
    `invalid configuration: no server found for cluster "d" (${path}: contexts[0].context.cluster names none of its clusters)`,
  ],
  ['no server', config({ cluster: {} }), `invalid configuration: no server found for cluster "c" (${path})`],
  [
    'a server that is no URL',
    config({ cluster: { server: 'h:6443' } }),
    `invalid configuration: clusters[1].cluster.server: expected an http or https URL, found "h:6443" (${path})`,
  ],
  [
    'secrets in a server',
    config({ cluster: { server: 'ftp://me:secret@h' } }),
    `invalid configuration: clusters[1].cluster.server: expected an http or https URL, found "ftp://h" (${path})`,
  ],
  [
    'an authority and none',
    config({ cluster: { server: 'https://h', 'insecure-skip-tls-verify': true, 'certificate-authority-data': 'YWJj' } }),
    `invalid configuration: specifying a root certificates file with the insecure flag is not allowed (${path})`,
  ],
  [
    'an authority that is away',
    config({ cluster: { server: 'https://h', 'certificate-authority': '/absent/ca' } }),
    `invalid configuration: unable to read certificate-authority /absent/ca for c due to open /absent/ca: no such file or directory (${path})`,
  ],
  [
    'a proxy of another kind',
    config({ cluster: { server: 'https://h', 'proxy-url': 'socks5://me:secret@p' } }),
    `invalid configuration: clusters[1].cluster.proxy-url: expected an http or https URL, found "socks5://p" (${path})`,
  ],
];

const badUsers: readonly Row[] = [
  ['a context whose user is not there', config({ context: { cluster: 'c', user: 'nobody' } }), `invalid configuration: user "nobody" was not found for context "x" (${path})`],
  [
    'a context whose user and cluster are not there',
    config({ context: { cluster: 'd', user: 'nobody' } }),
    `invalid configuration: [user "nobody" was not found for context "x", no server found for cluster "d"] (${path}: contexts[0].context.cluster names none of its clusters)`,
  ],
  ['bytes that are no base64', config({ user: { 'client-key-data': 'not base64!' } }), `error loading config file "${path}": users[0].user.client-key-data: illegal base64 data`],
  [
    'a certificate without a key',
    config({ user: { 'client-certificate-data': 'YWJj' } }),
    `invalid configuration: client-key-data or client-key must be specified for u to use the clientCert authentication method. (${path})`,
  ],
  [
    'files that are away',
    config({ user: { 'client-certificate': '/absent/c', 'client-key': '/absent/k' } }),
    `invalid configuration: [${unreadable('client-cert', '/absent/c')}, ${unreadable('client-key', '/absent/k')}] (${path})`,
  ],
  [
    'two ways at once',
    config({ user: { token: 'secret', username: 'a', password: 'secret' } }),
    `invalid configuration: more than one authentication method found for u; found [token basicAuth], only one is allowed (${path})`,
  ],
  [
    'a provider that is gone',
    config({ user: { 'auth-provider': { name: 'gcp' } } }),
    `invalid configuration: no Auth Provider found for name "gcp": expected exec, a token or a certificate (${path})`,
  ],
  [
    'a program without a name',
    config({ user: { exec: { apiVersion: v1.apiVersion, interactiveMode: 'Never' } } }),
    `invalid configuration: command must be specified for u to use exec authentication plugin (${path})`,
  ],
  [
    'a program of another version',
    config({ user: { exec: { ...v1, apiVersion: 'client.authentication.k8s.io/v1alpha1' } } }),
    `invalid configuration: users[0].user.exec.apiVersion: exec plugin: invalid apiVersion "client.authentication.k8s.io/v1alpha1", ${versions} (${path})`,
  ],
  [
    'a program that wants a person',
    config({ user: { exec: { ...v1, interactiveMode: 'Always' } } }),
    `invalid configuration: users[0].user.exec.interactiveMode: an agent has no terminal: expected Never or IfAvailable (${path})`,
  ],
  [
    'a program and a token',
    config({ user: { exec: v1, token: 'secret' } }),
    `invalid configuration: execProvider and token are both specified for u, only one is allowed (${path})`,
  ],
  ['a list where a map is expected', config({ rest: { users: {} } }), `error loading config file "${path}": users: expected a list`],
  ['a number as a text', config({ cluster: { server: 1 } }), `error loading config file "${path}": clusters[1].cluster.server: expected a text`],
  ['no map', '[]', `error loading config file "${path}": expected a Config, found no map`],
  ['another kind', '{"kind":"Pod","apiVersion":"v1"}', `error loading config file "${path}": no kind "Pod" is registered for version "v1": expected kind Config of apiVersion v1`],
];

t.test('bad ones', async (t) => {
  for (const [sentence, text, message] of [...badClusters, ...badUsers]) t.throws(() => kubeconfigOf(text, path), new KubeconfigError(message), sentence);
  t.throws(
    () => kubeconfigOf('users: [{name: u, user: {token: secret-token]\n', path),
    { message: new RegExp(`^error loading config file "${path}": line 1: (?!.*secret-token)`) },
    'broken syntax: where, not what',
  );
});

t.test('files', async (t) => {
  t.throws(() => loadKubeconfig(join(directory, 'absent')), { message: `stat ${join(directory, 'absent')}: no such file or directory`, isAbsent: true });
  t.throws(() => loadKubeconfig(directory), { message: `error loading config file "${directory}": read ${directory}: is a directory`, isAbsent: false });
  writeFileSync(path, config({}));
  t.same(loadKubeconfig(path), plain);
});

t.test('a file in any encoding', async (t) => {
  const text = config({ user: { token: 'v' } });
  for (const [name, bytes] of encodings(text)) t.same(kubeconfigOf(bytes, path), kubeconfigOf(text, path), name);
  for (const [name, bytes, problem] of unreadableEncodings(text))
    t.throws(() => kubeconfigOf(bytes, path), new KubeconfigError(`error loading config file "${path}": yaml: ${problem}`), name);
});

t.test('files that a kubeconfig refers to and that say nothing', async (t) => {
  const file = join(directory, 'token');
  const of = (user: object) => unusableCredentials(kubeconfigOf(config({ user }), path));
  const byContent: readonly (readonly [string, string | Uint8Array, string | null])[] = [
    ['a token', 'secret-token\n', null],
    ['with a byte order mark', '\ufeffsecret-token\r\n', null],
    ['in UTF-16', utf16('secret-token\n', 'le', true), null],
    ['empty', '', `token file ${file} is empty (${path}: tokenFile)`],
    ['a line end alone', '\r\n', `token file ${file} is empty (${path}: tokenFile)`],
    ['two tokens', 'secret-token secret-token', `token file ${file} holds what is no token: expected one line of ASCII characters without spaces (${path}: tokenFile)`],
    ['in UTF-16 without a mark', utf16('secret-token\n', 'le', false), `read ${file}: the text looks like UTF-16LE without a byte order mark: expected UTF-8 (${path})`],
  ];
  for (const [sentence, content, problem] of byContent) {
    writeFileSync(file, content);
    t.equal(of({ tokenFile: 'token' }), problem, sentence);
    t.equal(of({ tokenFile: 'token', token: 'other' }), problem, `${sentence}, beside a value`);
  }
  t.equal(of({ tokenFile: '/absent/token' }), `open /absent/token: no such file or directory (${path})`);
  t.equal(of({ tokenFile: directory }), `read ${directory}: is a directory (${path})`);
});
