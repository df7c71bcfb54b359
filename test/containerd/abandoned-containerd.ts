// Run as a process of its own by private-containerd.test.ts, which kills it: a test run that never gets to its teardown.
import { execFileSync } from 'node:child_process';
import { existsSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { KubeletProcess } from './kubelet-process.js';
import { PrivateContainerd } from './private-containerd.js';

const containerd = await PrivateContainerd.start();
containerd.runUnmanaged(containerd.images.busybox, 'abandoned', 'sleep', '1000');
if (existsSync('/dev/loop-control')) {
  const image = join(containerd.directory, 'image');
  writeFileSync(image, '');
  truncateSync(image, 1024 * 1024);
  execFileSync('losetup', ['--find', image]);
}
const kubelet = await KubeletProcess.prepare(containerd);
kubelet.spawn();
console.log(JSON.stringify({ path: containerd.directory, network: containerd.network, cgroupRoot: containerd.cgroupRoot }));
setInterval(() => {}, 1000);
