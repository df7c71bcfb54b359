// The CRI adapter against a real containerd: the contract of all runtimes.
import { join } from 'node:path';
import { containerRuntimeContract } from '../ports/container-runtime.contract.js';
import { criClient, untilHolds } from '../ports/cri-harness.js';
import { PrivateContainerd, skipWithoutContainerd } from './private-containerd.js';

containerRuntimeContract('CRI adapter, containerd', skipWithoutContainerd(), async () => {
  const containerd = await PrivateContainerd.start();
  const { connection, ports } = criClient(containerd.endpoint);
  const close = async () => {
    connection.close();
    await containerd.stop();
  };
  const cgroupParent = join(containerd.cgroupRoot, 'contract');
  return { ports, image: containerd.images.busybox, unreachableImage: 'no.invalid/image:1', cgroupParent, until: untilHolds, close };
});
