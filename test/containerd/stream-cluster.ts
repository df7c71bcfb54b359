// A node of a cluster on a real containerd, with its own port open to the mock apiserver, and kubectl on it: the base of tests of streams.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import { startMockApiserver } from '../../src/adapters/mock-apiserver/index.js';
import { kubectl, type Said } from './kubectl.js';
import { freePort, manifest, scripted } from './kubelet-process.js';
import { joinCluster, type TestNode, testNode } from './test-node.js';

export interface Cluster extends TestNode {
  readonly kubeconfig: string;
  readonly apiPort: number;
  run(words: readonly string[], input?: string): Promise<Said>;
}

/** @param settings further fields of the kubelet's configuration */
export async function testCluster(t: Test, settings: object = {}): Promise<Cluster> {
  const server = await startMockApiserver({ kubeletHost: '127.0.0.1' });
  const port = await freePort();
  const node = await testNode(t, false, ({ directory }) => {
    const clientCAFile = join(directory, 'client-ca.crt');
    writeFileSync(clientCAFile, server.caCertificate);
    const authentication = { x509: { clientCAFile }, anonymous: { enabled: false }, webhook: { enabled: true } };
    return { enableServer: true, address: '127.0.0.1', port, authentication, authorization: { mode: 'Webhook' }, ...settings };
  });
  const { kubelet, containerd } = node;
  const kubeconfig = join(containerd.directory, 'admin.conf');
  writeFileSync(kubeconfig, server.kubeconfig());
  joinCluster(node, server);
  t.teardown(async () => {
    await kubelet.kill();
    await server.stop();
  });
  await kubelet.start();
  return { ...node, kubeconfig, apiPort: port, run: (words, input = '') => kubectl(kubeconfig, words, input) };
}

/** A pod of one container that runs a script, once it is ready. */
export async function running({ run, containerd }: Cluster, name: string, script: string, more: object = {}): Promise<void> {
  const containers = [{ ...scripted(containerd, 'main', script), ...more }];
  const pod = manifest(name, { automountServiceAccountToken: false, terminationGracePeriodSeconds: 1, containers });
  await run(['apply', '-f', '-'], JSON.stringify(pod));
  await run(['wait', `pod/${name}`, '--for=condition=Ready', '--timeout=60s']);
}
