// A private containerd with a kubelet on it and a look past the kubelet, as one thing for tests: all of it goes when the test ends.
import type { Test } from 'tap';
import { KubeletProcess, manifest } from './kubelet-process.js';
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
