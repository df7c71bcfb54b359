// A node that joins with a bootstrap token, and whose certificates are replaced while it runs.
import { X509Certificate } from 'node:crypto';
import { readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from 'node:tls';
import type { Test } from 'tap';
import { parse } from 'yaml';
import type { Json } from './admin-client.js';
import type { Flow } from './flow.js';
import type { PeerStand } from './peer-stand.js';

const requestsPath = '/apis/certificates.k8s.io/v1/certificatesigningrequests';
const leasePath = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/lab-node';
const token = { id: 'abcdef', secret: '0123456789abcdef' };

/** For the controller manager: certificates that are replaced within the flow. */
export const shortCertificates = '--cluster-signing-duration=60s';

function binding(name: string, role: string, group: string): object {
  const subjects = [{ kind: 'Group', apiGroup: 'rbac.authorization.k8s.io', name: group }];
  return {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
    subjects,
  };
}

const forBootstrap = [
  {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'bootstrap.kubernetes.io/token',
    metadata: { name: `bootstrap-token-${token.id}`, namespace: 'kube-system' },
    stringData: { 'token-id': token.id, 'token-secret': token.secret, 'usage-bootstrap-authentication': 'true', 'auth-extra-groups': 'system:bootstrappers:lab' },
  },
  binding('bootstrap', 'system:node-bootstrapper', 'system:bootstrappers:lab'),
  binding('approve', 'system:certificates.k8s.io:certificatesigningrequests:nodeclient', 'system:bootstrappers:lab'),
  binding('renew', 'system:certificates.k8s.io:certificatesigningrequests:selfnodeclient', 'system:nodes'),
];

/** Serving certificates are approved by people. */
async function approved(stand: PeerStand): Promise<void> {
  const { items } = await stand.client.get(requestsPath);
  const pending = items.filter((one: Json) => one.spec.signerName === 'kubernetes.io/kubelet-serving' && one.status.conditions === undefined);
  for (const { metadata } of pending) await stand.ok(['certificate', 'approve', metadata.name]);
}

/** Serial number of the certificate that the kubelet's port shows; null where the cluster's authority did not issue it. */
function served(stand: PeerStand): Promise<string | null> {
  const ca = readFileSync(join(stand.directory, 'cluster/pki/ca.crt'));
  return new Promise((settle) => {
    const socket = connect({ host: '10.90.0.1', port: 10250, ca, servername: '', checkServerIdentity: () => undefined, rejectUnauthorized: false }, () => {
      settle(socket.authorized ? socket.getPeerCertificate().serialNumber : null);
      socket.destroy();
    });
    socket.on('error', () => settle(null));
  });
}

/** Where a kubelet that joined has its certificates. */
function certificateDirectory(stand: PeerStand): string {
  return join(stand.directory, 'kubelet-pki');
}

function currentClient(stand: PeerStand): string {
  return join(certificateDirectory(stand), 'kubelet-client-current.pem');
}

/** Starts the stand's kubelet with a bootstrap token alone, and waits until it serves with a certificate of the cluster. */
export async function joinCluster(t: Test, stand: PeerStand): Promise<void> {
  await stand.create(...forBootstrap);
  const bootstrap = join(stand.directory, 'bootstrap.conf');
  const kubeconfig = join(stand.directory, 'bootstrapped.conf');
  const admin = parse(readFileSync(stand.kubeconfig, 'utf8'));
  writeFileSync(bootstrap, JSON.stringify({ ...admin, users: [{ name: 'u', user: { token: `${token.id}.${token.secret}` } }] }));
  stand.configure({ rotateCertificates: true, serverTLSBootstrap: true });
  stand.spawn(undefined, [`--bootstrap-kubeconfig=${bootstrap}`, `--kubeconfig=${kubeconfig}`, `--cert-dir=${certificateDirectory(stand)}`]);
  await stand.until('it serves with a certificate of the cluster', async () => {
    await approved(stand);
    return (await served(stand)) !== null;
  });
  await stand.untilReady();
  const requests: Json[] = (await stand.client.get(requestsPath)).items;
  // The first ones: on a slow host a renewal may follow already, and names are random.
  requests.sort((a, b) => Date.parse(a.metadata.creationTimestamp) - Date.parse(b.metadata.creationTimestamp));
  const ofSigner = (name: string): Json => requests.find(({ spec }) => spec.signerName === `kubernetes.io/${name}`)?.spec;
  t.match(ofSigner('kube-apiserver-client-kubelet'), { username: 'system:bootstrap:abcdef', usages: ['digital signature', 'client auth'] });
  t.match(ofSigner('kubelet-serving'), { username: 'system:node:lab-node', usages: ['digital signature', 'server auth'] });
  const current = currentClient(stand);
  t.match(parse(readFileSync(kubeconfig, 'utf8')).users[0].user, { 'client-certificate': current, 'client-key': current });
}

/** The kubelet with the certificates that the stand made for it. */
export async function useLastingCertificates(stand: PeerStand): Promise<void> {
  await stand.stop();
  stand.configure({ serverTLSBootstrap: false });
  await stand.start();
}

async function renewed(t: Test, stand: PeerStand): Promise<void> {
  const current = currentClient(stand);
  const client = readlinkSync(current);
  const expiry = Date.parse(new X509Certificate(readFileSync(current)).validTo);
  const first = await served(stand);
  await stand.until('both certificates are replaced', async () => {
    await approved(stand);
    const serial = await served(stand);
    return readlinkSync(current) !== client && serial !== null && serial !== first;
  });
  await stand.until('it works after the end of the first ones', async () => {
    await approved(stand);
    return Date.parse((await stand.client.get(leasePath)).spec.renewTime) > expiry;
  });
  t.notMatch(stand.log('last'), /certificate has expired/);
}

export const certificateFlow: Flow = { name: 'certificates are replaced before they expire', run: renewed };
