// Certificates that are renewed while a kubelet runs, as a process of its own: the serving and the client certificate.
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { TLSSocket } from 'node:tls';
import t from 'tap';
import { until } from '../support/until.js';
import { ClusterStage } from './cluster-stage.js';
import { Program } from './programs.js';

t.setTimeout(180_000);

interface Seen {
  readonly code: number;
  readonly subject: string;
  readonly serialNumber: string;
  /** The connection was there before. */
  readonly reused: boolean;
}

/** null: no answer. */
function look(port: number, agent: Agent | false): Promise<Seen | null> {
  return new Promise((resolve) => {
    const sent = request({ host: '127.0.0.1', port, path: '/healthz', agent, rejectUnauthorized: false }, (response) => {
      const { subject, serialNumber } = (response.socket as TLSSocket).getPeerX509Certificate() ?? { subject: '', serialNumber: '' };
      response.resume().on('end', () => resolve({ code: response.statusCode ?? 0, subject, serialNumber, reused: sent.reusedSocket }));
    });
    sent.on('error', () => resolve(null));
    sent.end();
  });
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

t.test('certificates are renewed: new connections are shown the new one, those that are open stay, the node goes on', async (t) => {
  // Signers date back by five minutes, so what is signed for one is due in 24 s at the latest; a keeper waits 32 s between two.
  const place = await ClusterStage.open(t, { settings: { maxCertificateSeconds: 60, auditLimit: 10_000 } });
  const { stage, server } = place;
  const port = await freePort();
  const pki = join(stage.root, 'pki');
  const more = `enableServer: true\naddress: 127.0.0.1\nport: ${port}\nserverTLSBootstrap: true\nrotateCertificates: true\nnodeLeaseDurationSeconds: 4\n`;
  const program = new Program('kubelet-ts', stage.words(stage.root, more), {}, 150_000);
  const open = new Agent({ keepAlive: true, maxSockets: 1 });
  t.teardown(() => open.destroy());
  let first: Seen | null;
  const startBound = Date.now() + 60_000;
  for (first = await look(port, open); first === null && Date.now() < startBound; first = await look(port, open)) await delay(100);
  t.match(first, { code: 200, subject: /CN=system:node:n1/, reused: false });
  const serial = first?.serialNumber;
  const client = (): string => readFileSync(join(pki, 'kubelet-client-current.pem'), 'utf8');
  const orders = (signer: string): number =>
    [...server.api.store.all('certificatesigningrequests.certificates.k8s.io')].filter(({ spec }) => (spec as { signerName: string }).signerName === `kubernetes.io/${signer}`)
      .length;
  await until('the client has a certificate of its own', () => orders('kube-apiserver-client-kubelet') >= 1);
  let after: Seen | null;
  const bound = Date.now() + 100_000;
  for (after = await look(port, false); after?.serialNumber === serial && Date.now() < bound; after = await look(port, false)) {
    t.match(await look(port, open), { code: 200, reused: true });
    await delay(1_000);
  }
  t.match(after, { code: 200, subject: /CN=system:node:n1/ }, 'a new connection is served');
  t.not(after?.serialNumber, serial, 'with another certificate');
  t.match(await look(port, open), { code: 200, reused: true }, 'the one that was open goes on');
  t.equal(orders('kubelet-serving'), 2, 'it was asked for once');
  const held = client();
  t.match(held, /BEGIN CERTIFICATE[\s\S]*BEGIN EC PRIVATE KEY/);
  await place.untilRenewed();
  t.notMatch(program.err, /PRIVATE KEY/);
  program.kill('SIGTERM');
  t.equal(await program.end(), 0);
});
