// Certificates on this machine: requests that openssl accepts, the files that a kubelet keeps them in, and every step of a switch cut off.
import { execFileSync, spawnSync } from 'node:child_process';
import { createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto';
import { existsSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import {
  certificateRequest,
  certificatesOf,
  FileCertificateStore,
  FileCertificates,
  factsOf,
  issueCertificate,
  NodePodCertificateKeys,
  pairProblem,
  readCertificateRequest,
} from '../../src/adapters/certificates/index.js';
import { failureOf } from '../support/port-failures.js';
import { TestAuthority } from './api-peer.js';

const root = mkdtempSync(join(tmpdir(), 'kubelet-ts-test-'));
t.teardown(() => rmSync(root, { recursive: true }));
let directories = 0;
const newDirectory = (): string => join(root, `d${directories++}`);
const authority = new TestAuthority();
const template = { commonName: 'system:node:n1', organizations: ['system:nodes'], dnsNames: [], ipAddresses: [] };
const hasOpenssl = existsSync('/usr/bin/openssl');

t.test('requests', async (t) => {
  const wanted = { commonName: 'system:node:n1', organizations: ['system:nodes', 'ä'], dnsNames: ['n1.local'], ipAddresses: ['10.0.0.1', 'fd00::1'] };
  for (const { privateKey, publicKey } of [generateKeyPairSync('ec', { namedCurve: 'P-256' }), generateKeyPairSync('rsa', { modulusLength: 2048 })]) {
    const pem = certificateRequest(wanted, privateKey);
    const read = readCertificateRequest(pem);
    t.match({ ...read, organizations: read.organizations.toSorted() }, wanted);
    t.ok(read.publicKey.equals(publicKey));
    if (hasOpenssl)
      t.match(
        execFileSync('openssl', ['req', '-verify', '-noout', '-subject'], { input: pem, stdio: ['pipe', 'pipe', 'ignore'] }).toString(),
        /system:node:n1/,
        'openssl reads it, too',
      );
    const tampered = Buffer.from(pem.split('\n').slice(1, -2).join(''), 'base64');
    tampered[40] = (tampered[40] as number) ^ 1;
    t.throws(() => readCertificateRequest(`-----BEGIN CERTIFICATE REQUEST-----\n${tampered.toString('base64')}\n-----END CERTIFICATE REQUEST-----\n`));
  }
  t.throws(() => readCertificateRequest('nothing'), /there is no CERTIFICATE REQUEST/);
  for (let length = 0; length < 60; length++) {
    const bytes = Buffer.from(
      certificateRequest(template, generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey)
        .split('\n')
        .slice(1, -2)
        .join(''),
      'base64',
    ).subarray(0, length);
    t.throws(() => readCertificateRequest(`-----BEGIN CERTIFICATE REQUEST-----\n${bytes.toString('base64')}\n-----END CERTIFICATE REQUEST-----\n`), `cut after ${length} bytes`);
  }
});

const podKeys: readonly (readonly [keyType: string, kind: string, detail: object])[] = [
  ['RSA3072', 'rsa', { modulusLength: 3072 }],
  ['RSA4096', 'rsa', { modulusLength: 4096 }],
  ['ECDSAP256', 'ec', { namedCurve: 'prime256v1' }],
  ['ECDSAP384', 'ec', { namedCurve: 'secp384r1' }],
  ['ECDSAP521', 'ec', { namedCurve: 'secp521r1' }],
  ['ED25519', 'ed25519', {}],
];
t.test('keys of pods’ certificates', async (t) => {
  const keys = new NodePodCertificateKeys();
  for (const [keyType, kind, detail] of podKeys) {
    const { privateKey, request } = await keys.generate({ keyType });
    t.match(privateKey, /^-----BEGIN PRIVATE KEY-----\n[^-]+-----END PRIVATE KEY-----\n$/, `${keyType}: PKCS #8`);
    const key = createPrivateKey(privateKey);
    t.equal(key.asymmetricKeyType, kind);
    t.match(key.asymmetricKeyDetails, detail);
    const pem = `-----BEGIN CERTIFICATE REQUEST-----\n${Buffer.from(request).toString('base64')}\n-----END CERTIFICATE REQUEST-----\n`;
    const read = readCertificateRequest(pem);
    t.match(read, { commonName: '', organizations: [], dnsNames: [], ipAddresses: [] }, `${keyType}: it asks for nobody`);
    t.ok(read.publicKey.equals(createPublicKey(key)), `${keyType}: its own key has signed it`);
    if (hasOpenssl) {
      const said = spawnSync('openssl', ['req', '-inform', 'DER', '-verify', '-noout', '-subject'], { input: request });
      t.equal(said.status, 0, `${keyType}: openssl finds it signed, too: ${said.stderr}`);
    }
    t.not((await keys.generate({ keyType })).privateKey, privateKey, 'no key twice');
  }
  await t.rejects(keys.generate({ keyType: 'RSA1024' }), { kind: 'invalid-argument', message: /unsupported key type "RSA1024": RSA3072, RSA4096/ });
});

t.test('certificates', async (t) => {
  const { certificate, key } = authority.client('system:node:n1', -1, 1);
  const [leaf] = certificatesOf(`text before\n${certificate}${authority.certificate}`);
  t.match(factsOf(leaf as NonNullable<typeof leaf>), template);
  t.equal(pairProblem(certificate, key), null);
  t.equal(pairProblem(certificate, authority.client().key), 'tls: private key does not match public key');
  t.equal(pairProblem('', key), 'tls: failed to find any PEM data in certificate input');
  t.equal(pairProblem(certificate, 'x'), 'tls: failed to find any PEM data in key input');
  t.match(pairProblem('-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----', key), /failed to parse/);
  const keys = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const far = { ...template, publicKey: keys.publicKey, notBeforeMillis: 0, notAfterMillis: Date.UTC(2099, 0, 1), isAuthority: false, purposes: ['server'] as const };
  const [late] = certificatesOf(issueCertificate(far, { ...template, privateKey: keys.privateKey }));
  t.equal(factsOf(late as NonNullable<typeof late>).notAfter, Date.UTC(2099, 0, 1) * 1000, 'a time beyond 2050');
});

t.test('the store', async (t) => {
  const directory = newDirectory();
  let date = new Date(2026, 0, 2, 3, 4, 5);
  const open = (): FileCertificateStore => new FileCertificateStore(directory, 'kubelet-client', null, () => date);
  const store = open();
  t.same(store.current(), { kind: 'absent' });
  const [first, second] = [authority.client(), authority.client()];
  store.update(first);
  const dated = join(directory, 'kubelet-client-2026-01-02-03-04-05.pem');
  t.equal(readlinkSync(store.currentPath), dated, 'an absolute link, named by local time');
  t.equal(statSync(dated).mode & 0o777, 0o600);
  t.equal(statSync(directory).mode & 0o777, 0o755);
  t.equal(readFileSync(dated, 'utf8'), first.certificate + first.key, 'certificate and key in one file');
  date = new Date(2026, 11, 31, 23, 59, 59);
  store.update({ certificate: second.certificate + authority.certificate, key: second.key });
  t.match(open().current(), { kind: 'found', pair: { certificate: second.certificate + authority.certificate + second.key }, path: store.currentPath });
  t.same(
    readdirSync(directory).sort(),
    ['kubelet-client-2026-01-02-03-04-05.pem', 'kubelet-client-2026-12-31-23-59-59.pem', 'kubelet-client-current.pem'],
    'nothing is deleted, nothing is left over',
  );

  t.throws(() => store.update({ certificate: first.certificate, key: second.key }), /does not match/, 'no pair');
  t.match(open().current(), { pair: { certificate: second.certificate + authority.certificate + second.key } }, 'what was in use still is');
  rmSync(store.currentPath);
  writeFileSync(store.currentPath, 'a file');
  t.match(open().current(), { kind: 'broken' });
  t.throws(() => store.update(first), `expected ${JSON.stringify(store.currentPath)} to be a symlink but it is a file`);
});

t.test('a switch that was cut off', async (t) => {
  const pair = authority.client();
  const make = (): { readonly directory: string; readonly current: string; readonly updated: string } => {
    const directory = newDirectory();
    const store = new FileCertificateStore(directory, 'kubelet-client');
    store.update(pair);
    return { directory, current: store.currentPath, updated: join(directory, 'kubelet-client-updated.pem') };
  };
  const afterUnlink = make();
  renameSync(afterUnlink.current, afterUnlink.updated);
  t.equal(new FileCertificateStore(afterUnlink.directory, 'kubelet-client').current().kind, 'found', 'between taking the old link away and naming the new one');
  t.notOk(existsSync(afterUnlink.updated));
  const beforeUnlink = make();
  symlinkSync('/nowhere', beforeUnlink.updated);
  const store = new FileCertificateStore(beforeUnlink.directory, 'kubelet-client');
  t.equal(store.current().kind, 'found', 'after making the new link');
  store.update(authority.client());
  t.equal(store.current().kind, 'found', "and it is in nobody's way");
  const dangling = make();
  rmSync(readlinkSync(dangling.current));
  t.equal(new FileCertificateStore(dangling.directory, 'kubelet-client').current().kind, 'absent', 'a link that leads nowhere');
});

t.test('a draft that was left half written', (t) => {
  const directory = t.testdir({
    'kubelet-client-2026-01-01-00-00-00.pem.new': 'half a key',
    'kubelet-server-2026-01-01-00-00-00.pem.new': 'of another store',
    'notes.pem.new': '',
    'kubelet-client-directory.pem.new': {},
  });
  new FileCertificateStore(directory, 'kubelet-client');
  t.strictSame(
    readdirSync(directory).sort(),
    ['kubelet-client-directory.pem.new', 'kubelet-server-2026-01-01-00-00-00.pem.new', 'notes.pem.new'],
    'is removed, as it holds a key; what is of others stays',
  );
  t.end();
});

t.test('where it looks', async (t) => {
  const directory = newDirectory();
  mkdirSync(directory);
  const [one, two, three] = [authority.client('one'), authority.client('two'), authority.client('three')];
  const who = (store: FileCertificateStore): string => {
    const stored = store.current();
    return stored.kind === 'found' ? factsOf(certificatesOf(stored.pair.certificate)[0] as never).commonName : stored.kind;
  };
  writeFileSync(join(directory, 'kubelet-client.crt'), three.certificate);
  writeFileSync(join(directory, 'kubelet-client.key'), three.key);
  const files = { certificate: join(directory, 'c.crt'), key: join(directory, 'c.key') };
  const store = new FileCertificateStore(directory, 'kubelet-client', files);
  t.equal(who(store), 'three');
  writeFileSync(files.certificate, two.certificate);
  t.equal(who(store), 'three', 'one of two files is none');
  writeFileSync(files.key, two.key);
  t.equal(who(store), 'two');
  store.update(one);
  t.equal(who(store), 'one');
  t.ok(lstatSync(store.currentPath).isSymbolicLink());
});

t.test('the port', async (t) => {
  const directory = newDirectory();
  const problems: string[] = [];
  const changes: string[] = [];
  const store = new FileCertificateStore(directory, 'kubelet-client');
  const keptKeyPath = join(directory, 'kubelet-client.key.tmp');
  const open = () =>
    new FileCertificates({ stores: { client: store }, keptKeyPath, problem: (text) => problems.push(text), changed: (purpose) => changes.push(purpose), giveUp: () => {} });
  const certificates = open();
  const asking = { purpose: 'client', template, usages: ['digital signature', 'client auth'] } as const;
  t.equal(await certificates.current({ purpose: 'client' }), null);
  const made = await certificates.request({ ...asking, keepsKey: false });
  t.notMatch(JSON.stringify(made), /PRIVATE KEY/);
  const issued = authority.sign(readCertificateRequest(made.csr).publicKey, template);
  const other = authority.client().certificate;
  t.match(await failureOf(certificates.store({ purpose: 'client', request: made.request, certificate: other })), { kind: 'failed-precondition', message: /does not match/ });
  const facts = await certificates.store({ purpose: 'client', request: made.request, certificate: issued });
  t.match(facts, template);
  t.same(await certificates.current({ purpose: 'client' }), facts);
  t.same(changes, ['client']);
  t.match(await failureOf(certificates.store({ purpose: 'client', request: made.request, certificate: issued })), { kind: 'failed-precondition' }, 'once');

  const kept = await certificates.request({ ...asking, keepsKey: true });
  t.equal(statSync(keptKeyPath).mode & 0o777, 0o600);
  const again = await open().request({ ...asking, keepsKey: true });
  t.match(again.name, /^node-csr-[\w-]{43}$/);
  t.equal(again.name, kept.name, 'after a restart it is the same request');
  t.not((await certificates.request({ ...asking, usages: ['server auth'], keepsKey: true })).name, kept.name);
  const encoded = (pem: string): string => Buffer.from(pem).toString('base64');
  const last = await certificates.request({ ...asking, keepsKey: true });
  const compare = async (csr: string, certificate: string | null = null) => (await certificates.compare({ request: last.request, csr: encoded(csr), certificate })).problem;
  t.equal(await compare(kept.csr), null);
  t.equal(await compare(certificateRequest(template, generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey)), 'csr signature is not by the key of this node');
  t.equal(await compare(certificateRequest({ ...template, commonName: 'x' }, createPrivateKey(readFileSync(keptKeyPath)))), 'csr subjects differ');
  t.match(await compare('nothing'), /unable to parse csr/);
  t.equal(await compare(kept.csr, encoded(authority.client('system:node:n1', -3, -1).certificate)), 'one of the certificates for the CSR has expired');
  await certificates.store({ purpose: 'client', request: last.request, certificate: authority.sign(readCertificateRequest(last.csr).publicKey, template) });
  t.notOk(existsSync(keptKeyPath), 'the key is in the store now');
  writeFileSync(keptKeyPath, 'no key');
  await certificates.request({ ...asking, keepsKey: true });
  t.match(problems, [/holds no key, another one is made$/]);
  rmSync(readlinkSync(store.currentPath));
  writeFileSync(join(directory, 'broken'), 'broken');
  rmSync(store.currentPath);
  symlinkSync(join(directory, 'broken'), store.currentPath);
  t.equal(await certificates.current({ purpose: 'client' }), null);
  t.match(problems[1], /^could not load .*kubelet-client-current\.pem: tls: failed to find any PEM data/);
  t.match(await failureOf(certificates.current({ purpose: 'server' })), { kind: 'failed-precondition' });
});
