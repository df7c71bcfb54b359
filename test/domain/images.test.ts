// Images: who may use one that is there, which credentials are tried, and what a broken pull secret is answered.

import fc from 'fast-check';
import t from 'tap';
import { newImagePullBackoff } from '../../src/domain/backoff/image-pull-backoff.js';
import { type CredentialProvider, cachedAnswer, newCredentialPluginCache, takeAnswer } from '../../src/domain/images/credential-plugins.js';
import { readDockerConfigJson } from '../../src/domain/images/docker-config.js';
import { advanceEnsureImage, beginEnsureImage, type EnsureImageReply } from '../../src/domain/images/ensure-image.js';
import { type CredentialSource, credentialsFor, keyringOfConfig, type TrackedCredentials } from '../../src/domain/images/keyring.js';
import { newPullIntents, pullConcluded, pullIntended } from '../../src/domain/images/pull-intents.js';
import {
  type ImagePulledRecord,
  isPullRecordGarbage,
  mustPullToVerify,
  type PresentImage,
  pullRecordFileName,
  recordOfInterruptedPull,
  recordOfPull,
  type VerificationPolicy,
} from '../../src/domain/images/pull-records.js';
import { keyMatchesRepository, registryKey } from '../../src/domain/images/registry-location.js';
import { readBase64 } from '../../src/domain/values/base64.js';
import { credentialHash } from '../../src/domain/values/credential-hash.js';
import { globMatches } from '../../src/domain/values/glob.js';
import { goJsonProblem } from '../../src/domain/values/go-json.js';
import { instantOf } from '../../src/domain/values/instant.js';

const now = 1_700_000_000_000_000;
const always: VerificationPolicy = { kind: 'AlwaysVerify' };

function credentials(source: CredentialSource, password = 'p'): TrackedCredentials {
  return { credentials: { username: 'u', password, serverAddress: '', identityToken: '', registryToken: '' }, source };
}
function secret(name: string, password = 'p', uid = `uid-${name}`): TrackedCredentials {
  return credentials({ kind: 'secret', namespace: 'ns', name, uid }, password);
}
function account(name: string): TrackedCredentials {
  return credentials({ kind: 'service-account', namespace: 'ns', name, uid: `uid-${name}` });
}
function present(record: ImagePulledRecord | null, image = 'r.io/app:1', hasIntent = false): PresentImage {
  return { image, imageRef: 'sha256:i', record, hasIntent };
}
function pulledWith(...used: readonly (TrackedCredentials | null)[]): ImagePulledRecord | null {
  return used.reduce<ImagePulledRecord | null>((record, one) => recordOfPull(record, 'r.io/app:1', 'sha256:i', one, instantOf(now)), null);
}

t.test('a pod has to prove its right to an image that is there', async (t) => {
  const rows: readonly (readonly [string, PresentImage, readonly TrackedCredentials[], VerificationPolicy, boolean])[] = [
    ['no record', present(null), [secret('a')], always, true],
    ['anonymous pull', present(pulledWith(null)), [], always, false],
    ['the node own credentials', present(pulledWith(credentials({ kind: 'node' }))), [], always, false],
    ['the same secret', present(pulledWith(secret('a'))), [secret('a')], always, false],
    ['no credentials', present(pulledWith(secret('a'))), [], always, true],
    ['another secret with the same content', present(pulledWith(secret('a'))), [secret('b')], always, false],
    ['the same secret, renewed', present(pulledWith(secret('a'))), [secret('a', 'new')], always, false],
    ['a secret of the same name made anew', present(pulledWith(secret('a'))), [secret('a', 'new', 'other')], always, true],
    ['another secret', present(pulledWith(secret('a'))), [secret('b', 'other')], always, true],
    ['its service account', present(pulledWith(account('a'))), [account('a')], always, false],
    ['another service account', present(pulledWith(account('a'))), [account('b')], always, true],
    ['an anonymous pull after one with a secret', present(pulledWith(secret('a'), null)), [], always, false],
    ['a secret after an anonymous pull closes nothing', present(pulledWith(null, secret('a'))), [], always, false],
    ['the record of another image name', present(pulledWith(secret('a')), 'r.io/other:1'), [secret('a')], always, true],
    ['another tag of the name', present(pulledWith(secret('a')), 'r.io/app:2'), [secret('a')], always, false],
    ['an interrupted pull', present(recordOfInterruptedPull(null, 'sha256:i', instantOf(now))), [secret('a')], always, true],
    ['never', present(pulledWith(secret('a'))), [], { kind: 'NeverVerify' }, false],
    ['preloaded', present(null), [], { kind: 'NeverVerifyPreloadedImages' }, false],
    ['not preloaded: a pull was begun', present(null, 'r.io/app', true), [], { kind: 'NeverVerifyPreloadedImages' }, true],
    ['not preloaded: there is a record', present(pulledWith(secret('a'))), [], { kind: 'NeverVerifyPreloadedImages' }, true],
    ['listed', present(null), [], { kind: 'NeverVerifyAllowlistedImages', allowlist: ['r.io/app'] }, false],
    ['listed by prefix', present(null, 'r.io/x/y'), [], { kind: 'NeverVerifyAllowlistedImages', allowlist: ['r.io/x/*'] }, false],
    ['a prefix ends at a slash', present(null, 'r.io/xy'), [], { kind: 'NeverVerifyAllowlistedImages', allowlist: ['r.io/x/*'] }, true],
    ['listed by full name', present(null, 'busybox'), [], { kind: 'NeverVerifyAllowlistedImages', allowlist: ['docker.io/library/busybox'] }, false],
  ];
  for (const [sentence, image, given, policy, mustPull] of rows) t.equal(mustPullToVerify(image, given, policy, instantOf(now)).mustPull, mustPull, sentence);
});

t.test('records follow the secrets of pods', async (t) => {
  const record = pulledWith(secret('a'))!;
  const renewed = mustPullToVerify(present(record), [secret('a', 'new')], always, instantOf(now));
  t.equal(renewed.mustPull, false);
  const updated = renewed.mustPull ? null : renewed.update;
  t.strictSame(updated?.credentialMapping?.['r.io/app']?.kubernetesSecrets, [
    { uid: 'uid-a', namespace: 'ns', name: 'a', credentialHash: credentialHash(secret('a', 'new').credentials) },
  ]);
  const moved = mustPullToVerify(present(record), [secret('b')], always, instantOf(now));
  t.equal(moved.mustPull === false && moved.update?.credentialMapping?.['r.io/app']?.kubernetesSecrets?.length, 2);
  t.strictSame(mustPullToVerify(present(record), [secret('a')], always, instantOf(now)), { mustPull: false, why: 'credentialRecordFound', update: null });
  const many = Array.from({ length: 100 }, (_, i) => secret(`s${i}`, `p${i}`));
  const full = pulledWith(...many);
  t.equal(mustPullToVerify(present(full), [secret('s5', 'new')], always, instantOf(now)).mustPull, true, 'a full record is not updated');
  t.strictSame(mustPullToVerify(present(full), [secret('x', 'p5')], always, instantOf(now)), { mustPull: false, why: 'credentialRecordFound', update: null });
  t.equal(recordOfPull(null, 'not an image', 'i', null, instantOf(now)), null);
});

t.test('files and garbage', async (t) => {
  t.equal(pullRecordFileName(''), 'sha256-e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
  const record = pulledWith(null)!;
  t.equal(isPullRecordGarbage(record, new Set(), instantOf(now)), false, 'of the second in which the collection began');
  t.equal(isPullRecordGarbage(record, new Set(), instantOf(now + 1_000_000)), true);
  t.equal(isPullRecordGarbage(record, new Set(['sha256:i']), instantOf(now + 1_000_000)), false);
  const intents = newPullIntents();
  pullIntended(intents, 'x');
  pullIntended(intents, 'x');
  t.equal(pullConcluded(intents, 'x', true), false, 'another pull of the image goes on');
  t.equal(pullConcluded(intents, 'x', true), true);
  pullIntended(intents, 'x');
  t.equal(pullConcluded(intents, 'x', false), false, 'an image without its record keeps its intent');
  t.throws(() => pullConcluded(intents, 'x', true));
});

t.test('every recorded intent is concluded, whatever is answered', async (t) => {
  const failing = fc.boolean();
  const world = fc.record({
    policy: fc.constantFrom('Always', 'IfNotPresent', 'Never', ''),
    isPresent: failing,
    mustPull: failing,
    fails: fc.array(failing, { minLength: 8, maxLength: 8 }),
    seconds: fc.nat(400),
  });
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(fc.array(world, { maxLength: 6 }), (steps) => {
        const backoff = newImagePullBackoff();
        let time = 0;
        let open = 0;
        for (const { policy, isPresent, mustPull, fails, seconds } of steps) {
          time += seconds * 1_000_000;
          let turn = beginEnsureImage({ podUid: 'u', image: 'x', pullPolicy: policy });
          for (let i = 0; turn.run.step.kind !== 'done'; i++) {
            const { kind } = turn.run.step;
            const failed = fails[i] === true;
            if (kind === 'record-intent' && !failed) open++;
            if (kind === 'record-pulled' || kind === 'record-failed') open--;
            if (kind === 'pull' && (policy === 'Never' || open !== 1)) return false;
            const good: Readonly<Record<string, EnsureImageReply>> = {
              inspect: isPresent ? { kind: 'present', imageId: 'i' } : { kind: 'absent' },
              'check-records': { kind: 'records', mustPull },
              'look-up-credentials': { kind: 'credentials', credentials: [] },
              pull: { kind: 'pulled', imageRef: 'i', sizeBytes: 1, used: null, took: 1, waited: 1 },
            };
            turn = advanceEnsureImage(turn.run, failed ? { kind: 'failed', message: 'no' } : (good[kind] ?? { kind: 'recorded' }), backoff, time);
          }
          if (open !== 0) return false;
        }
        return true;
      }),
      { numRuns: 300 },
    ),
  );
});

t.test('locations of credentials', async (t) => {
  const keys: readonly (readonly [string, string | null])[] = [
    ['https://index.docker.io/v1/', 'index.docker.io'],
    ['quay.io', 'quay.io'],
    ['http://reg.io:5000/v2/team', 'reg.io:5000/team'],
    ['reg.io/v2', 'reg.io/v2'],
    ['user@reg.io', 'reg.io'],
    ['reg.io?x=1#y', 'reg.io'],
    ['[fd00::1]:5000/x', '[fd00::1]:5000/x'],
    ['[a-z]*.io', null],
    ['reg.io:port', null],
    ['reg io', null],
    ['reg.io/%zz', null],
    ['reg.io/%4', null],
    ['reg.io/%41', 'reg.io/A'],
    ['reg.io/%E9', 'reg.io/%E9'],
    ['reg.io/http://x', 'reg.io/http://x'],
    ['reg.io/a/v1/b', 'reg.io/a/v1/b'],
    ['reg.io/', 'reg.io'],
    ['reg.io/a\u0001', null],
    ['reg.io/\u007f', null],
    ['/x', '/x'],
    ['us er@reg.io', null],
    ['us er@[fd00::1]', null],
    ['u@[fd00::1]', '[fd00::1]'],
    ['@reg.io', 'reg.io'],
    ['[fd00::1', null],
    ['[fd00::1]', '[fd00::1]'],
    ['[fd00::1]:', '[fd00::1]:'],
    ['[fd00::1]:x', null],
    ['[fd00::1]x:1', null],
    ['[x]', null],
    ['[]', null],
    [':5000', ':5000'],
    [':x', null],
  ];
  for (const [location, key] of keys) t.equal(registryKey(location), key, location);
  const matches: readonly (readonly [string, string, boolean])[] = [
    ['*.example.io', 'a.example.io/x', true],
    ['*.example.io', 'a.b.example.io/x', false],
    ['*.*.example.io', 'a.b.example.io/x', true],
    ['re[fg].io', 'reg.io/x', true],
    ['reg.io:5000', 'reg.io/x', false],
    ['reg.io/foo', 'reg.io/foobar', true],
    ['[fd00::1]:5000', '[fd00::1]:5000/x', true],
    // Without a port the brackets are read as a class of characters, which only one character matches: the reference's reading.
    ['[fd00::1]', '[fd00::1]/x', false],
    ['[fd00::1]', '[fd00::1]:5000/x', false],
    ['[fd00::1]:50', '[fd00::1]:5000', false],
    ['reg.io:5000', 'reg.io:5000/x', true],
    ['reg.io:500', 'reg.io:5000/x', false],
    ['*:5000', 'localhost:5000/x', true],
    ['*:5000', 'localhost:x/x', false],
    ['reg.io:', 'reg.io', true],
    ['reg.io/a', 'reg.io/b', false],
    ['*.io', 'reg.com', false],
    ['reg.*', 'other.io', false],
    ['reg io', 'reg.io', false],
    ['reg.io', 'reg io', false],
    ['reg io', 'reg io', false],
  ];
  for (const [key, repository, want] of matches) t.equal(keyMatchesRepository(key, repository), want, `${key} ${repository}`);
  const read = readDockerConfigJson('{"auths":{"reg.io":{"username":"host"},"reg.io/a":{"username":"path"}}}');
  const keyring = keyringOfConfig(read.ok ? read.config : new Map(), { kind: 'node' });
  t.strictSame(
    credentialsFor([keyring, keyring], 'reg.io/a/b').map((found) => found.credentials.username),
    ['path', 'host', 'path', 'host'],
    'keyrings one after the other',
  );
});

t.test('documents that are none, in the words of Go', async (t) => {
  const rows: readonly (readonly [string, string | null])[] = [
    ['{"a":[1,-2.5e+3,true,null,"\\u00e9"]}', null],
    ['', 'unexpected end of JSON input'],
    ['{"a":1,}', "invalid character '}' looking for beginning of object key string"],
    ['{a:1}', "invalid character 'a' looking for beginning of object key string"],
    ['{"a" 1}', "invalid character '1' after object key"],
    ['{"a":1 "b"}', `invalid character '"' after object key:value pair`],
    ['[1 2]', "invalid character '2' after array element"],
    ['[1,]', "invalid character ']' looking for beginning of value"],
    ['{} x', "invalid character 'x' after top-level value"],
    ['nul', 'unexpected end of JSON input'],
    ['nulx', "invalid character 'x' in literal null (expecting 'l')"],
    ['-x', "invalid character 'x' in numeric literal"],
    ['1.x', "invalid character 'x' after decimal point in numeric literal"],
    ['1ex', "invalid character 'x' in exponent of numeric literal"],
    ['01', "invalid character '1' after top-level value"],
    ['"\\x"', "invalid character 'x' in string escape code"],
    ['"\\u00g0"', "invalid character 'g' in \\u hexadecimal character escape"],
    ['"a\nb"', "invalid character '\\n' in string literal"],
    [`${'['.repeat(10_001)}`, 'exceeded max depth'],
  ];
  for (const [text, problem] of rows) t.equal(goJsonProblem(text), problem, text.slice(0, 30));
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(
        fc.oneof(
          fc.json(),
          fc.string(),
          fc.json().chain((text) => fc.nat(text.length).map((end) => text.slice(0, end))),
        ),
        (text) => {
          let isJson = true;
          try {
            JSON.parse(text);
          } catch {
            isJson = false;
          }
          return (goJsonProblem(text) === null) === isJson;
        },
      ),
      { numRuns: 1000 },
    ),
  );
  const configs: readonly (readonly [string, string])[] = [
    ['[]', 'json: cannot unmarshal array into Go value of type credentialprovider.DockerConfigJSON'],
    ['{"auths":1}', 'json: cannot unmarshal number into Go struct field DockerConfigJSON.auths of type credentialprovider.DockerConfig'],
    ['{"auths":{"r.io":"x"}}', 'json: cannot unmarshal string into Go value of type credentialprovider.dockerConfigEntryWithAuth'],
    ['{"auths":{"r.io":{"auth":true}}}', 'json: cannot unmarshal bool into Go struct field dockerConfigEntryWithAuth.auth of type string'],
  ];
  for (const [text, message] of configs) t.strictSame(readDockerConfigJson(text), { ok: false, message }, text);
});

t.test('base64 with the place of the mistake', async (t) => {
  const rows: readonly (readonly [string, boolean, number | string])[] = [
    ['dTpw', true, 'u:p'],
    ['dTpwdw==', true, 'u:pw'],
    ['dTpwdw', false, 'u:pw'],
    ['dT\npw', true, 'u:p'],
    ['dTpwdw', true, 4],
    ['dTpwdw=', true, 7],
    ['dTpwdw==x', true, 8],
    ['dTpwdw=x', true, 6],
    ['dTpw=', true, 4],
    ['dTpwdw==', false, 6],
    ['d!pw', true, 1],
    ['dTpwd', false, 4],
  ];
  for (const [text, padded, want] of rows) {
    const read = readBase64(text, padded);
    if (typeof want === 'string') t.equal(read.ok && Buffer.from(read.bytes).toString(), want, text);
    else t.strictSame(read, { ok: false, message: `illegal base64 data at input byte ${want}` }, text);
  }
});

t.test('patterns', async (t) => {
  const rows: readonly (readonly [string, string, boolean | null])[] = [
    ['a*c', 'abbc', true],
    ['a*c', 'abbd', false],
    ['*', 'a/b', false],
    ['**a', 'bba', true],
    ['?', '', false],
    ['[a-c]x', 'bx', true],
    ['[^a-c]x', 'bx', false],
    ['[]a]', 'a', null],
    ['[a', 'a', null],
    ['[a-]', 'a', null],
    ['\\*', '*', true],
    ['\\', 'x', null],
    ['a*b*c*d*e*f', 'a'.repeat(40), false],
  ];
  for (const [pattern, text, want] of rows) t.equal(globMatches(pattern, text), want, `${pattern} ${text.slice(0, 8)}`);
});

t.test('answers of a plugin are their account’s, and a token is a password only where it may be one', async (t) => {
  const apiVersion = 'credentialprovider.kubelet.k8s.io/v1';
  const keys = { requiredServiceAccountAnnotationKeys: [], optionalServiceAccountAnnotationKeys: [] };
  const provider = (cacheType: 'Token' | 'ServiceAccount'): CredentialProvider => ({
    ...{ name: 'p', matchImages: ['r.io'], defaultCacheDuration: 0, apiVersion, args: [], env: [] },
    tokenAttributes: { serviceAccountTokenAudience: 'a', cacheType, requireServiceAccount: true, ...keys },
  });
  const identity = { namespace: 'ns', name: 'a', uid: '1', annotations: { x: '1' }, token: 'secret-token' };
  const answer = (password: string) =>
    JSON.stringify({ kind: 'CredentialProviderResponse', apiVersion, cacheKeyType: 'Global', cacheDuration: '1h', auth: { 'r.io': { username: 'u', password } } });
  const question = (cacheType: 'Token' | 'ServiceAccount') => ({ provider: provider(cacheType), repository: 'r.io/app', identity });
  const refused = takeAnswer(newCredentialPluginCache(), question('ServiceAccount'), answer(identity.token), now);
  t.equal(refused.ok, false);
  t.notMatch(JSON.stringify(refused), identity.token);
  t.equal(takeAnswer(newCredentialPluginCache(), question('Token'), answer(identity.token), now).ok, true);
  const others = [
    ['the same', identity, true, true],
    ['another token of it', { ...identity, token: 'other' }, true, false],
    ['the account made anew', { ...identity, uid: '2' }, false, false],
    ['another account', { ...identity, name: 'b' }, false, false],
    ['other annotations', { ...identity, annotations: { x: '2' } }, false, false],
    ['the node', null, false, false],
  ] as const;
  for (const [who, other, ofAccount, ofToken] of others) {
    for (const [cacheType, expected] of [
      ['ServiceAccount', ofAccount],
      ['Token', ofToken],
    ] as const) {
      const cache = newCredentialPluginCache();
      t.equal(takeAnswer(cache, question(cacheType), answer('p'), now).ok, true);
      t.equal(cachedAnswer(cache, provider(cacheType), 'r.io/other', other, now + 1) !== null, expected, `${cacheType}: ${who}`);
      t.notMatch(JSON.stringify([...cache.answers.keys()]), identity.token, 'no key has the token');
    }
  }
});
