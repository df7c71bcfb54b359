// A daemon with a kubeconfig: which ones it doesn't start with, and what it does while the server is away or says no.
import { join } from 'node:path';
import t from 'tap';
import { ApiPeer, answer, base64, TestAuthority } from '../adapters/api-peer.js';
import { until } from '../support/until.js';
import { phaseOf, Stage } from './stage.js';

t.test('kubeconfigs that can not be used are refused, each in one line', async (t) => {
  const stage = await Stage.open();
  t.teardown(() => stage.close());
  const peer = await ApiPeer.open(t, (_request, response) => answer(response, 404, 'not found'));
  const pair = peer.authority.client();
  const other = new TestAuthority().client();
  const withPair = (certificate: string, key: string) => ({ 'client-certificate-data': base64(certificate), 'client-key-data': base64(key) });
  const rows: readonly (readonly [string, string, RegExp])[] = [
    ['absent', join(stage.directory, 'absent'), /^failed to run Kubelet: invalid kubeconfig: stat .*\/absent: no such file or directory$/],
    [
      'without a context',
      peer.write('none', 'apiVersion: v1\nkind: Config\n'),
      /^failed to run Kubelet: invalid kubeconfig: invalid configuration: no configuration has been provided, .*current-context is not set\)$/,
    ],
    [
      'with a key of another pair',
      peer.kubeconfig(withPair(pair.certificate, other.key), {}, 'pair'),
      /^failed to run Kubelet: failed to initialize kubelet client: tls: private key does not match public key \(.*client-certificate-data\)$/,
    ],
    [
      'with an authority that is none',
      peer.kubeconfig({}, { 'certificate-authority-data': base64('nothing') }),
      /unable to load root certificates: unable to parse bytes as PEM block \(.*certificate-authority-data\)$/,
    ],
  ];
  for (const [sentence, path, message] of rows) {
    stage.flags.splice(0, stage.flags.length, `--kubeconfig=${path}`);
    await t.rejects(stage.start(), { name: 'StartRefusal', message }, sentence);
    t.notMatch(stage.log.lines.join(), /PRIVATE KEY/);
  }
});

t.test('the server is away, refuses, or is very old: static pods run, and it is asked again', async (t) => {
  const answers: readonly (readonly [string, number, { readonly message: string; readonly reason: string; readonly code: number }])[] = [
    ['refuses', 403, { message: 'pods is forbidden: User "system:node:n2" cannot list resource "pods"', reason: 'Forbidden', code: 403 }],
    ['knows nobody by these credentials', 401, { message: 'Unauthorized', reason: 'Unauthorized', code: 401 }],
    ['is very old', 404, { message: 'the server could not find the requested resource', reason: 'NotFound', code: 404 }],
  ];
  for (const [sentence, code, body] of answers) {
    const stage = await Stage.open();
    const peer = await ApiPeer.open(t, (_request, response) => answer(response, code, { kind: 'Status', ...body }));
    stage.flags.push(`--kubeconfig=${peer.kubeconfig({ token: 'secret-token' })}`);
    stage.manifest('a.yaml', stage.pod('a'));
    const daemon = await stage.start();
    await until('the static pod runs', () => phaseOf(daemon, 'a-n1') === 'Running');
    await until('its Node is asked for again', () => peer.requests.filter(({ url }) => url.startsWith('/api/v1/nodes?')).length > 1);
    t.match(peer.requests[0]?.headers['user-agent'], /^kubelet\/v1\.36\.\S+ \(linux\/\S+\) kubernetes\//);
    t.notMatch(stage.log.lines.join(), /secret-token/, sentence);
    t.ok(stage.log.find(JSON.stringify(body.message).slice(1, -1)), 'and a line says why');
    await stage.close();
  }
});
