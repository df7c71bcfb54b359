// The mock apiserver is asked what kube-apiserver was asked when its answers were recorded (test/peer/api), and must answer the same: status,
// media type, body, and the events of watches in their order.
import t from 'tap';
import { parse } from 'yaml';
import { startMockApiserver } from '../../src/adapters/mock-apiserver/index.js';
import { comparable, recordedAnswers } from '../peer/api/recording.js';
import { answersOf, type Identity } from '../peer/api/run-script.js';
import { differences, flattened, shown } from '../peer/compare/flatten.js';

function identityOf(kubeconfig: string): Identity {
  const { user } = parse(kubeconfig).users[0];
  const decoded = (text: string): string => Buffer.from(text, 'base64').toString();
  return { cert: decoded(user['client-certificate-data']), key: decoded(user['client-key-data']) };
}

t.test('the mock apiserver answers as kube-apiserver does', async (t) => {
  const server = await startMockApiserver({ settings: { fieldValidation: 'Warn' } });
  t.teardown(() => server.stop());
  const url = new URL(server.url);
  const answers = comparable(
    await answersOf({
      host: url.hostname,
      port: Number(url.port),
      ca: server.caCertificate,
      admin: identityOf(server.kubeconfig()),
      node: identityOf(server.kubeconfig({ commonName: 'system:node:lab-node', organizations: ['system:nodes'] })),
    }),
  );
  const found = differences(flattened(recordedAnswers()), flattened(answers));
  t.strictSame(found.map(shown), []);
});
