// Secrets in a flight record: none is in the file, from any input or output, and the record still replays.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { FlightRecorder } from '../../src/adapters/flight-record/flight-recorder.js';
import { SecretMasks } from '../../src/adapters/flight-record/secret-masks.js';
import { replayFile } from '../../src/app/daemon/replay-file.js';
import { type KubeletEvent, type KubeletOperations, type KubeletState, kubeletMachine } from '../../src/domain/agent/kubelet.js';
import { defaultImageSettings } from '../../src/domain/images/image-manager-state.js';
import { canonicalJson } from '../../src/domain/kernel/canonical.js';
import { Kernel } from '../../src/domain/kernel/kernel.js';
import { credentialHash } from '../../src/domain/values/credential-hash.js';
import type { Secret } from '../../src/ports/model/config-objects.js';
import { SimCluster } from '../../src/sim/index.js';
import { minute, podOf, second } from '../sim/sim-pods.js';

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const login = { username: 'robot-account', password: 'p4ss-w0rd-of-robot' };
const pluginLogin = { username: 'plugin-account', password: 'p4ss-of-the-plugin' };
const nodeLogin = { username: 'node-account', password: 'p4ss-of-the-node' };
const variable = 'v4lue-of-the-variable';
const auths = { 'r.io/private': { auth: base64(`${login.username}:${login.password}`) } };
const pullSecret: Secret = {
  metadata: {
    name: 's',
    namespace: 'default',
    uid: 'secret-uid',
    annotations: { 'kubectl.kubernetes.io/last-applied-configuration': JSON.stringify({ auths, password: login.password }) },
  },
  type: 'kubernetes.io/dockerconfigjson',
  data: { '.dockerconfigjson': base64(JSON.stringify({ auths })) },
};

t.test('credentials of pulls, from secrets, the node and plugins', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'secret-masks-'));
  t.teardown(() => rmSync(directory, { recursive: true }));
  const path = join(directory, 'flight.ndjson');
  const provider = {
    name: 'plugin',
    matchImages: ['r.io/plugged'],
    defaultCacheDuration: 0,
    apiVersion: 'credentialprovider.kubelet.k8s.io/v1',
    args: [],
    env: [{ name: 'A', value: variable }],
    tokenAttributes: null,
  };
  const text = recordedRun(path, provider);
  for (const secret of [login, pluginLogin, nodeLogin].flatMap(({ username, password }) => [password, base64(`${username}:${password}`)]))
    for (const form of [secret, base64(secret)]) t.notOk(text.includes(form), `no ${form}`);
  t.notOk(text.includes(variable), 'no variable of a plugin');
  t.match(text, /masked-[0-9a-f]{24}/);
  t.match(text, /images\.pull/);
  t.match(replayFile(path), { kind: 'same' }, 'and the same decisions');
});

/** Three pulls in a world; the inputs of its agent once more, recorded as the daemon does. */
function recordedRun(path: string, provider: (typeof defaultImageSettings.credentialProviders)[number]): string {
  const cluster = new SimCluster({
    seed: 3,
    record: true,
    settings: { images: { ...defaultImageSettings, credentialProviders: [provider] } },
    manifestUrl: 'http://127.0.0.1:1/never',
    runtime: {
      images: [
        { reference: 'r.io/private:1', sizeBytes: 1, accepts: [login] },
        { reference: 'r.io/plugged:1', sizeBytes: 1, accepts: [pluginLogin] },
        { reference: 'r.io/noded:1', sizeBytes: 1, accepts: [nodeLogin] },
      ],
    },
  });
  const node = cluster.node();
  node.host.state.dockerConfig = { format: 'config.json', path: '/config.json', text: JSON.stringify({ auths: { 'r.io/noded': nodeLogin } }) };
  const stdout = JSON.stringify({ kind: 'CredentialProviderResponse', apiVersion: provider.apiVersion, cacheKeyType: 'Image', auth: { 'r.io/plugged': pluginLogin } });
  node.host.state.credentialPlugins.set('plugin', { stdout, failure: null, takes: second });
  node.send({ type: 'pullSecrets', secrets: [pullSecret] });
  const pods = ['private', 'plugged', 'noded'].map((name) => {
    const { metadata, spec } = podOf(name, { uid: name, image: `r.io/${name}:1` });
    return { metadata, spec: { ...spec, enableServiceLinks: true, imagePullSecrets: [{ name: 's' }] } };
  });
  node.send({ type: 'podSet', source: 'http', pods });
  cluster.run(minute);

  const fresh = node.freshState();
  const { fileSource, urlSource } = fresh.agent;
  const settings = { agent: fresh.agent.settings, node: null, fileSource: fileSource?.settings ?? null, urlSource: urlSource?.settings ?? null };
  const { seed, steps } = node.recorded;
  const kernel = new Kernel<KubeletState, KubeletEvent, KubeletOperations>(kubeletMachine(fresh), fresh, seed);
  const recorder = FlightRecorder.begin({ path, bytesMax: 100_000_000 }, { seed, settings, facts: fresh.agent.nodeFacts }, (why) => {
    throw new Error(why);
  });
  for (const { now, wall, input } of steps) {
    const output = input === null ? kernel.wake(now, wall) : kernel.deliver(input, now, wall);
    if (output !== null) recorder.record({ now, wall }, input, output);
  }
  recorder.close();
  for (const name of ['private', 'plugged', 'noded']) if (node.status(name)?.phase !== 'Running') throw new Error(`${name} does not run`);
  return readFileSync(path, 'utf8');
}

const values: readonly (readonly [string, string])[] = [
  ['long', 'l0ng-value-of-the-secret'],
  ['short', 'abc'],
  ['lines', 'first line\nsecond "line"\\'],
  ['no ASCII', 'geheim-ß-値-😀'],
];

t.test('values of secrets: where they come in, and wherever they go', (t) => {
  for (const [sentence, value] of values) {
    const masks = new SecretMasks();
    const secret = { metadata: { name: 's', resourceVersion: '7' }, type: 'Opaque', data: { key: base64(value) } };
    const said = (recorded: unknown) => canonicalJson(recorded);
    const input = masks.input({ type: 'reply', op: 'apiReader.list', outcome: { ok: true, value: { items: [secret, { metadata: { name: 'c' }, data: { key: 'plain' } }] } } });
    const list = said(input);
    t.notOk(list.includes(base64(value)) || list.includes(said(value)), `${sentence}: the list`);
    t.ok(list.includes('"plain"') && list.includes('"resourceVersion":"7"'), 'config maps, names and versions stay');
    const bytes = Uint8Array.from(Buffer.from(value));
    const commands = [
      { op: 'containers.create', request: { config: { envs: [{ key: 'A', value }] } } },
      { op: 'podVolumes.write', request: { files: new Map([['key', bytes]]) } },
    ];
    const out = masks.commands(commands);
    t.notOk(said(out).includes(said(value)) || said(out).includes(said(bytes)), `${sentence}: what goes out`);
    const mask = Buffer.from((input as { outcome: { value: { items: { data: { key: string } }[] } } }).outcome.value.items[0]?.data.key ?? '', 'base64').toString();
    t.match(mask, /^masked-/);
    t.strictSame(out[0]?.request, { config: { envs: [{ key: 'A', value: mask }] } }, 'the replay sees the same');
    t.same(out[1]?.request.files?.get('key'), Buffer.from(mask));
    t.not(said(masks.commands([value])), said(new SecretMasks().commands([value])));
  }
  t.end();
});

t.test('tokens, hashes of logins, and texts that hold a secret', (t) => {
  const masks = new SecretMasks();
  const reply = masks.input({
    type: 'reply',
    op: 'apiWriter.create',
    outcome: { ok: true, value: { kind: 'TokenRequest', spec: {}, status: { token: 'eyJ.token.sig', expirationTimestamp: 'T' } } },
  });
  t.notMatch(canonicalJson(reply), 'eyJ.token.sig');
  t.match(canonicalJson(reply), '"expirationTimestamp":"T"');
  t.notMatch(
    canonicalJson(masks.commands([{ op: 'registryCredentials.runPlugin', request: { name: 'p', env: [], stdin: '{"serviceAccountToken":"eyJ.token.sig"}' } }])),
    'eyJ.token',
  );
  masks.input({ type: 'pullSecrets', secrets: [pullSecret] });
  const hash = credentialHash({ ...login, serverAddress: '', identityToken: '', registryToken: '' });
  t.notMatch(canonicalJson(masks.commands([{ op: 'pullRecords.write', request: { text: `{"credentialHash":"${hash}"}` } }])), hash);
  t.end();
});

t.test('more secrets than can be masked end the record', (t) => {
  const masks = new SecretMasks();
  const data = (from: number) => Object.fromEntries(Array.from({ length: 6_000 }, (_, i) => [`k${i}`, base64(`secret-number-${from + i}`)]));
  const secret = (from: number) => ({ kind: 'Secret', metadata: { name: 's' }, data: data(from) });
  masks.input(secret(0));
  masks.input(secret(0));
  t.throws(() => masks.input(secret(10_000)), /more secrets than can be masked/);
  t.end();
});
