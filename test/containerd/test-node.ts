// A private containerd with a kubelet on it and a look past the kubelet, as one thing for tests: all of it goes when the test ends.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import { type MockApiserver, startMockApiserver } from '../../src/adapters/mock-apiserver/index.js';
import { AdminClient } from '../app/admin-client.js';
import { KubeletProcess, manifest, nodeName } from './kubelet-process.js';
import { PrivateContainerd } from './private-containerd.js';
import { RuntimeView } from './runtime-view.js';

export interface TestNode {
  readonly containerd: PrivateContainerd;
  readonly kubelet: KubeletProcess;
  readonly runtime: RuntimeView;
  /** Puts a pod into the manifest directory, in a file of its own name. */
  apply(name: string, spec: object, metadata?: object): void;
}

/** @param running whether the kubelet is started, too  @param settings further fields of its configuration */
export async function testNode(t: Test, running = true, settings: (containerd: PrivateContainerd) => object = () => ({})): Promise<TestNode> {
  const containerd = await PrivateContainerd.start();
  t.teardown(() => containerd.stop());
  const kubelet = await KubeletProcess.prepare(containerd, 'node', settings(containerd));
  t.teardown(() => kubelet.kill());
  const runtime = new RuntimeView(containerd);
  t.teardown(() => runtime.close());
  if (running) await kubelet.start();
  return { containerd, kubelet, runtime, apply: (name, spec, metadata = {}) => kubelet.apply(`${name}.json`, manifest(name, spec, metadata)) };
}

export interface ClusterNode extends TestNode {
  readonly server: MockApiserver;
  readonly admin: AdminClient;
  /** Path of the administrator's. */
  readonly kubeconfig: string;
}

/** A node of a mock apiserver of its own, not started yet. */
export async function clusterNode(t: Test): Promise<ClusterNode> {
  const node = await testNode(t, false);
  const { kubelet, containerd } = node;
  const server = await startMockApiserver();
  joinCluster(node, server);
  const kubeconfig = join(containerd.directory, 'admin.conf');
  const admin = new AdminClient(kubeconfig, server.kubeconfig());
  t.teardown(async () => {
    await kubelet.kill();
    admin.close();
    await server.stop();
  });
  return { ...node, server, admin, kubeconfig };
}

/** The kubelet is to be a node of the server. */
export function joinCluster({ kubelet, containerd }: TestNode, server: MockApiserver): void {
  const own = join(containerd.directory, 'kubelet.conf');
  writeFileSync(own, server.kubeconfig({ commonName: `system:node:${nodeName}`, organizations: ['system:nodes'] }));
  kubelet.flags.push('--kubeconfig', own);
}
