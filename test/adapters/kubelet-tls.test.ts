// TLS of the kubelet's port: versions, suites by Go's names, and certificates and authorities that are replaced under open connections.
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { Agent, type RequestOptions, request } from 'node:https';
import { type ConnectionOptions, connect } from 'node:tls';
import t from 'tap';
import { issueCertificate } from '../../src/adapters/certificates/index.js';
import { type ServerTls, supportedTls } from '../../src/adapters/http-server/index.js';
import { tlsOptions } from '../../src/domain/configuration/tls-options.js';
import { authority, backend, bearer, type Checks, ca, execTo, hour, serve, serving, stranger, upgrade } from './kubelet-server-peer.js';

const rsaKeys = generateKeyPairSync('rsa', { modulusLength: 2048 });
const rsaSubject = { commonName: 'rsa', organizations: [] };
const rsaPair = {
  certificatePem: issueCertificate(
    {
      ...rsaSubject,
      dnsNames: ['localhost'],
      ipAddresses: ['127.0.0.1'],
      notBeforeMillis: Date.now() - hour,
      notAfterMillis: Date.now() + hour,
      publicKey: rsaKeys.publicKey,
      isAuthority: false,
      purposes: ['server'],
    },
    { ...rsaSubject, privateKey: rsaKeys.privateKey },
  ),
  keyPem: rsaKeys.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
};
const ecPair = { certificatePem: serving.cert, keyPem: serving.key };

/** The negotiated protocol and suite, or the reason of a failure. */
async function negotiated(port: number, options: ConnectionOptions): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ...options });
  try {
    await once(socket, 'secureConnect');
    return `${socket.getProtocol()} ${socket.getCipher().standardName}`;
  } catch (error) {
    return `none: ${(error as NodeJS.ErrnoException).code}`;
  } finally {
    socket.destroy();
  }
}

const weakly = (version: 'TLSv1' | 'TLSv1.1' | 'TLSv1.2' | 'TLSv1.3') => ({ minVersion: version, maxVersion: version, ciphers: 'ALL:@SECLEVEL=0' });

function configured(
  tlsMinVersion: string,
  tlsCipherSuites: readonly string[] = [],
  tlsCurvePreferences: readonly number[] = [],
): Pick<ServerTls, 'minVersion' | 'ciphers' | 'groups'> {
  const options = tlsOptions({ tlsMinVersion, tlsCipherSuites: [...tlsCipherSuites], tlsCurvePreferences: [...tlsCurvePreferences] });
  if (!options.ok) throw new Error(options.error);
  return { minVersion: options.value.minVersion, ...supportedTls(options.value) };
}

async function tlsServer(t: Checks, tls: Partial<ServerTls>) {
  const { server } = await serve(t, { tls: { pair: ecPair, clientCertificates: null, minVersion: 'TLSv1.2', ciphers: [], groups: [], ...tls } });
  return server;
}

t.test('versions', async (t) => {
  const rows: readonly (readonly [least: string, offered: readonly ('TLSv1' | 'TLSv1.1' | 'TLSv1.2' | 'TLSv1.3')[]])[] = [
    ['', ['TLSv1.2', 'TLSv1.3']],
    ['VersionTLS10', ['TLSv1', 'TLSv1.1', 'TLSv1.2', 'TLSv1.3']],
    ['VersionTLS11', ['TLSv1.1', 'TLSv1.2', 'TLSv1.3']],
    ['VersionTLS12', ['TLSv1.2', 'TLSv1.3']],
    ['VersionTLS13', ['TLSv1.3']],
  ];
  for (const [least, taken] of rows) {
    const { port } = await tlsServer(t, configured(least));
    for (const version of ['TLSv1', 'TLSv1.1', 'TLSv1.2', 'TLSv1.3'] as const) {
      const outcome = await negotiated(port, weakly(version));
      t.match(outcome, taken.includes(version) ? new RegExp(`^${version} `) : /^none: /, `${least || 'as it is by itself'}, a client that speaks ${version}: ${outcome}`);
    }
  }
});

/** Go's suites that this OpenSSL has; the others are omitted and reported. */
const suites: readonly (readonly [name: string, pair: typeof ecPair])[] = [
  ...['AES_128_CBC_SHA', 'AES_128_CBC_SHA256', 'AES_128_GCM_SHA256', 'AES_256_CBC_SHA', 'AES_256_GCM_SHA384', 'CHACHA20_POLY1305_SHA256'].flatMap((rest) => [
    [`TLS_ECDHE_ECDSA_WITH_${rest}`, ecPair] as const,
    [`TLS_ECDHE_RSA_WITH_${rest}`, rsaPair] as const,
  ]),
  ...['AES_128_CBC_SHA', 'AES_128_CBC_SHA256', 'AES_128_GCM_SHA256', 'AES_256_CBC_SHA', 'AES_256_GCM_SHA384'].map((rest) => [`TLS_RSA_WITH_${rest}`, rsaPair] as const),
];

t.test('each suite by its name, and no other', async (t) => {
  for (const [name, pair] of suites) {
    const { port } = await tlsServer(t, { ...configured('', [name]), pair });
    t.equal(await negotiated(port, weakly('TLSv1.2')), `TLSv1.2 ${name}`, name);
    t.match(await negotiated(port, weakly('TLSv1.3')), /^TLSv1\.3 /, `${name} leaves TLS 1.3 as it is`);
  }
  const two = await tlsServer(t, configured('', ['TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305', 'TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256']));
  t.equal(await negotiated(two.port, { maxVersion: 'TLSv1.2' }), 'TLSv1.2 TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256', 'the server’s order counts; a name of old');
  t.match(await negotiated(two.port, { maxVersion: 'TLSv1.2', ciphers: 'ECDHE-ECDSA-AES256-GCM-SHA384' }), /^none: /);
});

t.test('what this OpenSSL does not have is left out and named', async (t) => {
  const wanted = { ciphers: ['ECDHE-RSA-RC4-SHA', 'ECDHE-ECDSA-AES128-GCM-SHA256'], groups: ['NoSuchGroup', 'P-256'] };
  t.strictSame(supportedTls(wanted), { ciphers: ['ECDHE-ECDSA-AES128-GCM-SHA256'], groups: ['P-256'], missing: ['ECDHE-RSA-RC4-SHA', 'NoSuchGroup'] });
  const only = await tlsServer(t, configured('', ['TLS_RSA_WITH_RC4_128_SHA'], [4588, 29]));
  t.match(await negotiated(only.port, {}), /^TLSv1\.[23] /, 'and the server is up');
  const group = await tlsServer(t, configured('', [], [24]));
  t.match(await negotiated(group.port, { ecdhCurve: 'P-256' }), /^none: /);
  t.match(await negotiated(group.port, { ecdhCurve: 'P-384' }), /^TLSv1\.3 /);
});

/** Over one connection that is kept. */
function ask(agent: Agent, port: number, options: RequestOptions): Promise<{ readonly status: number; readonly connection: string; readonly reused: boolean }> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, path: '/pods', agent, ...options }, (response) => {
      response.resume();
      response.once('end', () => resolve({ status: response.statusCode ?? 0, connection: response.headers.connection ?? '', reused: sent.reusedSocket }));
    });
    sent.once('error', reject);
    sent.end();
  });
}

t.test('a new certificate cuts neither connections nor streams', async (t) => {
  const { url } = await backend(t);
  const { server, certificates } = await serve(t, { routes: execTo(url), owners: { secret: 'jane' } });
  const agent = new Agent({ keepAlive: true, maxSockets: 1, ca: ca.certificate });
  t.teardown(() => agent.destroy());
  t.match(await ask(agent, server.port, bearer('secret')), { status: 200, reused: false });
  const { socket } = await upgrade(server.port, '/exec/ns/p/c', bearer('secret'));
  if (socket === null) throw new Error('no upgrade');
  const renewed = ca.sign('renewed', [], 'server');
  server.replaceTls({ pair: { certificatePem: renewed.cert, keyPem: renewed.key }, clientCertificates: certificates, minVersion: 'TLSv1.2', ciphers: [], groups: [] });
  t.match(await ask(agent, server.port, bearer('secret')), { status: 200, reused: true }, 'the connection goes on');
  const echoed = new Promise<void>((resolve) => {
    let got = '';
    socket.on('data', (chunk: Buffer) => {
      got += chunk.toString();
      if (got.endsWith('still here')) resolve();
    });
  });
  socket.write('still here');
  await echoed;
  t.pass('the stream goes on');
  const fresh = connect({ port: server.port, host: '127.0.0.1', ca: ca.certificate });
  await once(fresh, 'secureConnect');
  t.equal(fresh.getPeerX509Certificate()?.subject, 'CN=renewed', 'new connections are shown the new one');
  fresh.destroy();
});

t.test('new authorities count at once: idle connections are closed, and one that is stale says so', async (t) => {
  const { server, certificates } = await serve(t);
  const admin = ca.sign('admin', [], 'client');
  const agent = new Agent({ keepAlive: true, maxSockets: 1, ca: ca.certificate, ...admin });
  t.teardown(() => agent.destroy());
  t.match(await ask(agent, server.port, {}), { status: 200 });
  const tls: ServerTls = { pair: ecPair, clientCertificates: certificates, minVersion: 'TLSv1.2', ciphers: [], groups: [] };
  certificates.replace(ca.certificate + stranger.certificate);
  t.match(await ask(agent, server.port, {}), { status: 401, connection: 'close', reused: true }, 'what was verified before is not believed, and its connection ends');
  server.replaceTls(tls);
  t.match(await ask(agent, server.port, {}), { status: 200, reused: false }, 'on a new one it is good');
  certificates.replace(authority('third').certificate);
  server.replaceTls(tls);
  await new Promise((resolve) => setImmediate(resolve));
  for (let i = 0; i < 100 && (await server.connections()) > 0; i++) await new Promise((resolve) => setTimeout(resolve, 10));
  t.equal(await server.connections(), 0, 'idle connections are closed');
  t.match(await ask(new Agent({ ca: ca.certificate, ...admin }), server.port, {}), { status: 401 }, 'who was of the old ones');
});
