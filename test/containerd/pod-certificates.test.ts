// A pod's own certificate on a real containerd: asked for by the node, signed by the cluster, read from within the container by the user it is for.
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import t from 'tap';
import type { Pod } from '../../src/ports/model/pod.js';
import { idOf, manifest, nodeName, scripted } from './kubelet-process.js';
import { skipWithoutContainerd } from './private-containerd.js';
import { clusterNode } from './test-node.js';

t.setTimeout(400_000);

t.test('a certificate of the pod’s own', { skip: skipWithoutContainerd() }, async (t) => {
  const { kubelet, containerd, runtime, admin } = await clusterNode(t);
  kubelet.flags.push('--feature-gates', 'PodCertificateRequest=true');
  await kubelet.start();
  await kubelet.until('the node is there', async () => (await admin.get('nodes', null, nodeName)) !== null);
  const podCertificate = {
    signerName: 'kubernetes.io/kube-apiserver-client-pod',
    keyType: 'ECDSAP384',
    maxExpirationSeconds: 3600,
    credentialBundlePath: 'all.pem',
    keyPath: 'own/key.pem',
    certificateChainPath: 'own/chain.pem',
  };
  const volumes = [
    { name: 'own', projected: { defaultMode: 0o644, sources: [{ podCertificate }] } },
    { name: 'out', emptyDir: {} },
  ];
  const script = 'cat /own/all.pem > /dev/null && touch /out/read; trap "exit 0" TERM; while :; do sleep 0.1; done';
  const containers = [scripted(containerd, 'main', script, { volumeMounts: volumes.map(({ name }) => ({ name, mountPath: `/${name}` })), securityContext: { runAsUser: 1234 } })];
  await admin.create('pods', 'default', manifest('a', { nodeName, automountServiceAccountToken: false, containers, volumes }) as Pod);
  const pod = async () => (await admin.get('pods', 'default', 'a')) as Pod;
  await kubelet.until('it runs', async () => (await pod()).status?.containerStatuses?.[0]?.state?.running != null);
  const root = `/proc/${runtime.processes().get(idOf(await pod()))}/root`;
  await kubelet.until('its user has read it', () => statSync(`${root}/out/read`, { throwIfNoEntry: false }) !== undefined);
  const key = readFileSync(`${root}/own/own/key.pem`, 'utf8');
  const chain = readFileSync(`${root}/own/own/chain.pem`, 'utf8');
  t.equal(readFileSync(`${root}/own/all.pem`, 'utf8'), key + chain);
  const leaf = new X509Certificate(chain);
  t.ok(leaf.checkPrivateKey(createPrivateKey(key)), 'the certificate is the key’s');
  t.equal(leaf.subject, 'CN=system:serviceaccount:default:default');
  t.match(createPrivateKey(key).asymmetricKeyDetails, { namedCurve: 'secp384r1' });
  t.match(statSync(`${root}/own/own/key.pem`), { uid: 1234, mode: 0o100600 }, 'its user alone may read it');
  t.notMatch(
    kubelet
      .logLines()
      .map((line) => JSON.stringify(line))
      .join('\n'),
    /PRIVATE KEY/,
    'no key in the log',
  );
});
