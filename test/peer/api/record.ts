// The script asked of kube-apiserver, in namespaces of its own: its answers must be those of the recording, which the mock is held against.
// KUBE_PEER_RECORD=1 writes the recording.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { differences, flattened, shown } from '../compare/flatten.js';
import { PeerStand } from '../peer-stand.js';
import { comparable, record, recordedAnswers } from './recording.js';
import { answersOf } from './run-script.js';

t.setTimeout(300_000);

t.test('kube-apiserver answers as it was recorded', async (t) => {
  const stand = PeerStand.up();
  t.teardown(() => stand.down());
  await stand.until('there is a service account', async () => (await stand.client.api('GET', '/api/v1/namespaces/default/serviceaccounts/default')).status === 200);
  const pki = (name: string): Buffer => readFileSync(join(stand.directory, 'cluster/pki', name));
  const identity = (name: string) => ({ cert: pki(`${name}.crt`), key: pki(`${name}.key`) });
  const server = { host: '127.0.0.1', port: 6443, ca: pki('ca.crt'), admin: identity('admin'), node: identity('node-lab-node') };
  const answers = comparable(await answersOf(server));
  if (process.env.KUBE_PEER_RECORD === '1') record(answers);
  t.strictSame(differences(flattened(recordedAnswers()), flattened(answers)).map(shown), []);
});
