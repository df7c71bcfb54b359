// The two flags of credential provider plugins: refusals of the start, naming the file and the field; and the result of valid files.
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { credentialProvidersOf } from '../../src/app/daemon/credential-providers.js';
import { StartRefusal } from '../../src/ports/start-refusal.js';

const group = 'kubelet.config.k8s.io/v1';
const good = {
  name: 'plugin',
  matchImages: ['*.r.io'],
  defaultCacheDuration: '10m',
  apiVersion: 'credentialprovider.kubelet.k8s.io/v1',
};
const withProviders = (...providers: readonly object[]) => ({ apiVersion: group, kind: 'CredentialProviderConfig', providers });
const withToken = (change: object) => ({
  ...good,
  tokenAttributes: { serviceAccountTokenAudience: 'r.io', cacheType: 'Token', requireServiceAccount: true, ...change },
});

interface Place {
  readonly base: string;
  readonly directory: string;
  refusal(config: string, directory?: string): string;
}

function placeFor(t: Test): Place {
  const base = mkdtempSync(join(tmpdir(), 'credential-providers-'));
  t.teardown(() => rmSync(base, { recursive: true }));
  const directory = join(base, 'bin');
  mkdirSync(directory);
  writeFileSync(join(directory, 'plugin'), '#!/bin/sh\n');
  chmodSync(join(directory, 'plugin'), 0o755);
  return { base, directory, refusal: (config, bin = directory) => refusalOf(config, bin) };
}

function optionsOf(config: string, directory: string) {
  return { imageCredentialProviderConfig: config, imageCredentialProviderBinDir: directory } as Parameters<typeof credentialProvidersOf>[0];
}

function refusalOf(config: string, directory: string): string {
  try {
    credentialProvidersOf(optionsOf(config, directory));
  } catch (error) {
    if (error instanceof StartRefusal) return error.message;
    throw error;
  }
  return 'not refused';
}

const secret = 'hunter2-of-the-environment';

/** The sentence, the document, and what follows the file's path. */
const rows: readonly (readonly [string, unknown, string | RegExp])[] = [
  ['another kind', { apiVersion: group, kind: 'KubeletConfiguration', providers: [good] }, ': kind: must be CredentialProviderConfig'],
  ['another version', { ...withProviders(good), apiVersion: 'kubelet.config.k8s.io/v2' }, /: apiVersion: must be one of kubelet\.config\.k8s\.io\/v1, /],
  ['a field that is none', { ...withProviders(good), extra: 1 }, ': unknown field "extra"'],
  ['a field of a provider that is none', withProviders({ ...good, matchImage: [] }), ': unknown field "providers[0].matchImage"'],
  ['no providers', withProviders(), ': providers: at least 1 item in plugins is required'],
  ['providers that are no list', { apiVersion: group, kind: 'CredentialProviderConfig', providers: {} }, ': providers: must be a list'],
  ['a provider that is no object', { apiVersion: group, kind: 'CredentialProviderConfig', providers: ['plugin'] }, ': providers[0]: must be an object'],
  ['no name', withProviders({ ...good, name: '' }), ': providers[0].name: name is required'],
  ['a name that leads elsewhere', withProviders(good, { ...good, name: '../sh' }), /: providers\[1\]\.name: name cannot be "\.", "\.\.", or contain "\/" or spaces/],
  ['a name that is a number', withProviders({ ...good, name: 7 }), ': providers[0].name: must be a string'],
  ['no images', withProviders({ ...good, matchImages: [] }), ': providers[0].matchImages: at least 1 item in matchImages is required'],
  ['an image with a scheme', withProviders({ ...good, matchImages: ['r.io', 'https://r.io'] }), /: providers\[0\]\.matchImages: "https:\/\/r\.io" is no pattern of images/],
  ['no duration', withProviders({ ...good, defaultCacheDuration: undefined }), ': providers[0].defaultCacheDuration: defaultCacheDuration is required'],
  ['a negative duration', withProviders({ ...good, defaultCacheDuration: '-1s' }), ': providers[0].defaultCacheDuration: defaultCacheDuration must be greater than or equal to 0'],
  ['a duration that is none', withProviders({ ...good, defaultCacheDuration: 'soon' }), /: providers\[0\]\.defaultCacheDuration: .*"soon"/],
  ['a protocol that is none', withProviders({ ...good, apiVersion: 'v1' }), /: providers\[0\]\.apiVersion: unsupported apiVersion "v1", must be one of/],
  ['an argument that is no text', withProviders({ ...good, args: [1] }), ': providers[0].args[0]: must be a string'],
  ['a variable without a name', withProviders({ ...good, env: [{ name: 'A=B', value: secret }] }), ': providers[0].env[0].name: must be the name of an environment variable'],
  ['a variable that can’t be', withProviders({ ...good, env: [{ name: 'A', value: `${secret}\0` }] }), ': providers[0].env[0].value: cannot contain NUL'],
  [
    'tokens with an older protocol',
    withProviders({ ...withToken({}), apiVersion: 'credentialprovider.kubelet.k8s.io/v1beta1' }),
    /: providers\[0\]\.tokenAttributes: is only supported for/,
  ],
  ['tokens for nobody', withProviders(withToken({ serviceAccountTokenAudience: '' })), /: providers\[0\]\.tokenAttributes\.serviceAccountTokenAudience: .* is required/],
  ['a cache of another type', withProviders(withToken({ cacheType: 'Pod' })), ': providers[0].tokenAttributes.cacheType: must be Token or ServiceAccount'],
  [
    'required keys without an account',
    withProviders(withToken({ requireServiceAccount: false, requiredServiceAccountAnnotationKeys: ['a/b'] })),
    /: providers\[0\]\.tokenAttributes\.requiredServiceAccountAnnotationKeys: requireServiceAccount cannot be false/,
  ],
  [
    'a key that is both',
    withProviders(withToken({ requiredServiceAccountAnnotationKeys: ['a/b'], optionalServiceAccountAnnotationKeys: ['a/b'] })),
    ': providers[0].tokenAttributes.optionalServiceAccountAnnotationKeys: "a/b" is among the required keys, too',
  ],
];

for (const [sentence, document, wanted] of rows) {
  t.test(`refused: ${sentence}`, async (t) => {
    const { base, refusal } = placeFor(t);
    const file = join(base, 'providers.json');
    writeFileSync(file, JSON.stringify(document));
    const said = refusal(file);
    const start = `Failed to register CRI auth plugins: ${file}`;
    t.ok(said.startsWith(start), said);
    if (typeof wanted === 'string') t.equal(said.slice(start.length), wanted);
    else t.match(said.slice(start.length), wanted);
    t.notMatch(said, secret, 'no value of the environment');
  });
}

t.test('refused: files, directories and programs', async (t) => {
  const { base, directory, refusal } = placeFor(t);
  const file = join(base, 'providers.yaml');
  const start = 'Failed to register CRI auth plugins: ';
  t.match(refusal(file), new RegExp(`^${start}.*providers\\.yaml`), 'a file that is not there');
  writeFileSync(file, 'kind: [\n');
  t.match(refusal(file), new RegExp(`^${start}${file}:\\d+:\\d+: `), 'with line and column');
  writeFileSync(file, `apiVersion: ${group}\nkind: CredentialProviderConfig\nkind: CredentialProviderConfig\nproviders: []\n`);
  t.equal(refusal(file), `${start}${file}: line 3: key "kind" already set in map`);
  writeFileSync(file, JSON.stringify(withProviders(good)));
  t.equal(refusal(file, ''), `${start}--image-credential-provider-config needs --image-credential-provider-bin-dir beside it`);
  t.equal(refusal('', directory), `${start}--image-credential-provider-bin-dir needs --image-credential-provider-config beside it`);
  t.equal(refusal(file, join(base, 'none')), `${start}plugin binary directory ${join(base, 'none')} did not exist`);
  chmodSync(join(directory, 'plugin'), 0o644);
  t.equal(refusal(file), `${start}plugin binary executable ${join(directory, 'plugin')} is not executable`);
  rmSync(join(directory, 'plugin'));
  t.equal(refusal(file), `${start}plugin binary executable ${join(directory, 'plugin')} did not exist`);
  mkdirSync(join(base, 'empty'));
  t.equal(refusal(join(base, 'empty')), `${start}no configuration files found in directory ${JSON.stringify(join(base, 'empty'))}`);
});

t.test('a directory of files is read in the order of names; a name that is there twice is refused', async (t) => {
  const { base, directory, refusal } = placeFor(t);
  const config = join(base, 'conf');
  mkdirSync(config);
  for (const name of ['one', 'two']) {
    writeFileSync(join(directory, name), '#!/bin/sh\n');
    chmodSync(join(directory, name), 0o755);
  }
  writeFileSync(join(config, 'b.json'), JSON.stringify(withProviders({ ...good, name: 'two' })));
  writeFileSync(join(config, 'a.yaml'), JSON.stringify(withProviders({ ...good, name: 'one', env: [{ name: 'A', value: 'b' }], args: ['x'] })));
  writeFileSync(join(config, 'c.txt'), 'is not read');
  const read = credentialProvidersOf(optionsOf(config, directory));
  t.strictSame(
    read.map(({ name }) => name),
    ['one', 'two'],
  );
  t.match(read[0], { matchImages: ['*.r.io'], env: [{ name: 'A', value: 'b' }], args: ['x'], tokenAttributes: null });
  writeFileSync(join(config, 'd.yml'), JSON.stringify(withProviders({ ...good, name: 'two' })));
  t.equal(refusal(config), 'Failed to register CRI auth plugins: duplicate provider name "two" found in configuration file(s)');
  t.strictSame(credentialProvidersOf(optionsOf('', '')), [], 'without flags there are none');
});
