// The daemon as a process of its own, and an apiserver whose clock says another time: certificates that are not valid yet by the node's clock, or
// are to be renewed as soon as they come. It joins, its pods run on, and the server isn't asked without end.

import { X509Certificate } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { factsOf } from '../../src/adapters/certificates/index.js';
import { epochMicros } from '../../src/domain/values/instant.js';
import { until } from '../support/until.js';
import { ClusterStage } from './cluster-stage.js';
import { Program } from './programs.js';

t.setTimeout(240_000);

const minute = 60_000_000;
const collection = 'certificatesigningrequests.certificates.k8s.io';

interface Row {
  readonly sentence: string;
  readonly serverAhead: number;
  readonly certificateSeconds: number;
  /** Of the certificate that the node has, in microseconds by its own clock. */
  holds(notBefore: number, notAfter: number, now: number): boolean;
  /** Certificates that are asked for meanwhile, at least. */
  readonly asked: number;
}

/** Signers date back by five minutes. */
const rows: readonly Row[] = [
  { sentence: 'an hour ahead: not valid yet', serverAhead: 60 * minute, certificateSeconds: 86_400, holds: (notBefore, _notAfter, now) => notBefore > now, asked: 1 },
  {
    sentence: 'an hour behind',
    serverAhead: -60 * minute,
    certificateSeconds: 86_400,
    holds: (notBefore, notAfter, now) => notBefore < now - 60 * minute && notAfter > now,
    asked: 1,
  },
  {
    sentence: 'half an hour behind: each certificate is to be renewed as it comes',
    serverAhead: -30 * minute,
    certificateSeconds: 2000,
    holds: (notBefore, notAfter, now) => now > notBefore + 0.9 * (notAfter - notBefore) && now < notAfter,
    asked: 2,
  },
];

for (const { sentence, serverAhead, certificateSeconds, holds, asked } of rows) {
  t.test(`the server is ${sentence}`, async (t) => {
    const tokens = new Map([['bootstrap-secret', { name: 'system:bootstrap:a', groups: ['system:bootstrappers', 'system:authenticated'] }]]);
    const place = await ClusterStage.open(t, { tokens, settings: { clockOffsetMicros: serverAhead, maxCertificateSeconds: certificateSeconds, auditLimit: 10_000 } });
    const { stage, server } = place;
    const [kubeconfig, bootstrap] = [join(stage.directory, 'joined.conf'), join(stage.directory, 'bootstrap.conf')];
    const config = JSON.parse(server.kubeconfig()) as { users: [{ user: unknown }] };
    config.users[0].user = { token: 'bootstrap-secret' };
    writeFileSync(bootstrap, JSON.stringify(config), { mode: 0o600 });
    stage.flags.splice(0, stage.flags.length, `--kubeconfig=${kubeconfig}`, `--bootstrap-kubeconfig=${bootstrap}`);
    const program = new Program('kubelet-ts', stage.words(stage.root, 'rotateCertificates: true\nnodeLeaseDurationSeconds: 4\n'), {}, 200_000);
    const pem = join(stage.root, 'pki', 'kubelet-client-current.pem');
    try {
      await until('it is let in', async () => (await place.condition('Ready'))?.status === 'True');
      t.ok(existsSync(pem));
      const { notBefore, notAfter, commonName } = factsOf(new X509Certificate(readFileSync(pem)));
      t.equal(commonName, 'system:node:n1');
      t.ok(
        holds(epochMicros(notBefore), epochMicros(notAfter), Date.now() * 1000),
        `from ${new Date(epochMicros(notBefore) / 1000).toISOString()} to ${new Date(epochMicros(notAfter) / 1000).toISOString()}`,
      );
      await place.createPod('a');
      await place.untilReady('a');
      const running = stage.running;
      const count = (): number => [...server.api.store.all(collection)].length;
      const bound = Date.now() + 60_000;
      while (count() < asked && Date.now() < bound) await place.untilRenewed(1);
      t.ok(count() >= asked, `${count()} certificates were asked for`);
      const times = server.api.audit.entries.flatMap(({ verb, resource, at }) => (verb === 'create' && resource === collection ? [at] : []));
      for (const [i, at] of times.entries()) t.ok(i === 0 || at - (times[i - 1] ?? 0) > 1_500_000, 'with a pause between two');
      await place.untilRenewed(3);
      await place.createPod('b');
      await place.untilReady('b');
      t.ok(
        running.every((id) => stage.running.includes(id)),
        'nothing restarted',
      );
    } catch (error) {
      t.fail(error instanceof Error ? error.message : String(error), { said: program.err.split('\n').slice(-20) });
    }
    program.kill('SIGTERM');
    t.equal(await program.end(), 0);
    t.notMatch(program.err, /bootstrap-secret|PRIVATE KEY/);
  });
}
