// A bootstrap whose process is killed at each of its steps, against an apiserver that approves and signs as a cluster does.
import { existsSync, lstatSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { pairProblem } from '../../src/adapters/certificates/index.js';
import { startMockApiserver } from '../../src/adapters/mock-apiserver/index.js';
import type { ApiObject } from '../../src/ports/model/api-object.js';
import type { Node } from '../../src/ports/model/node.js';
import { until } from '../support/until.js';
import { AdminClient } from './admin-client.js';
import { Program } from './programs.js';
import { Stage } from './stage.js';

for (const rotates of [true, false]) {
  t.test(`kill -9 at each step of a bootstrap ${rotates ? 'beside' : 'before'} the agent: the next process joins`, async (t) => {
    const stage = await Stage.open();
    const server = await startMockApiserver();
    const admin = new AdminClient(join(stage.directory, 'admin.conf'), server.kubeconfig());
    t.teardown(async () => {
      await stage.close();
      admin.close();
      await server.stop();
    });
    const data = { 'token-id': 'abcdef', 'token-secret': '0123456789abcdef', 'usage-bootstrap-authentication': 'true' };
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'bootstrap-token-abcdef' }, type: 'bootstrap.kubernetes.io/token', stringData: data };
    await admin.create('secrets', 'kube-system', secret as ApiObject);
    const [bootstrap, kubeconfig, pki] = [join(stage.directory, 'bootstrap.conf'), join(stage.directory, 'kubelet.conf'), join(stage.root, 'pki')];
    writeFileSync(bootstrap, server.kubeconfig({ kind: 'token', token: 'abcdef.0123456789abcdef' }));
    stage.flags.push(`--kubeconfig=${kubeconfig}`, `--bootstrap-kubeconfig=${bootstrap}`);
    stage.configurationMore = `rotateCertificates: ${rotates}\n`;
    const current = join(pki, 'kubelet-client-current.pem');
    const asked = (): boolean => server.api.audit.entries.some(({ verb, resource }) => verb === 'create' && resource.startsWith('certificatesigningrequests'));
    const moments: readonly (readonly [sentence: string, holds: () => boolean])[] = [
      ['the directory is there', () => existsSync(pki)],
      ['it has asked', asked],
      ['a certificate is on disk', () => existsSync(pki) && readdirSync(pki).some((name) => name.startsWith('kubelet-client-2'))],
      ['it is in use', () => existsSync(current)],
      ['the kubeconfig is written', () => existsSync(kubeconfig)],
      ['the node asks as itself', () => server.api.audit.entries.some(({ user }) => user === 'system:node:n1')],
    ];
    for (const [sentence, holds] of moments) {
      const program = new Program('kubelet-ts', stage.words());
      await until(sentence, holds).catch((error: Error) => t.fail(error.message, { said: program.err.split('\n').slice(-8) }));
      program.kill('SIGKILL');
      t.equal(await program.end(), 'SIGKILL', sentence);
    }
    const askedBefore = server.api.audit.entries.length;
    const last = new Program('kubelet-ts', stage.words());
    // What was killed may have left the node ready: its own requests show that this one is there.
    await until('it asks', () => server.api.audit.entries.slice(askedBefore).some(({ user }) => user === 'system:node:n1'));
    await until('the node is ready', async () =>
      ((await admin.get('nodes', null, 'n1')) as Node | null)?.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True'),
    );
    t.ok(lstatSync(current).isSymbolicLink());
    const pem = readFileSync(current, 'utf8');
    t.equal(pairProblem(pem, pem), null);
    t.match(readFileSync(kubeconfig, 'utf8'), `client-certificate: ${current}`);
    last.kill('SIGTERM');
    t.equal(await last.end(), 0);
    t.same(
      readdirSync(pki).filter((name) => /tmp|new$|updated/.test(name)),
      [],
      'nothing unfinished is left',
    );
    t.notMatch(last.err, /abcdef\.0123456789abcdef|PRIVATE KEY/);
  });
}
