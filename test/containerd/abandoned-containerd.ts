// Run as a process of its own by private-containerd.test.ts, which kills it: a test run that never gets to its teardown.
import { PrivateContainerd } from './private-containerd.js';

const containerd = await PrivateContainerd.start();
containerd.runUnmanaged(containerd.images.busybox, 'abandoned', 'sleep', '1000');
console.log(JSON.stringify({ path: containerd.directory, network: containerd.network, cgroupRoot: containerd.cgroupRoot }));
setInterval(() => {}, 1000);
