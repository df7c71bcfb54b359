// Mounts that a container makes in a volume: seen by those whose mounts say so, gone from the others, and never followed when the pod goes.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { idOf, scripted } from './kubelet-process.js';
import { skipWithoutContainerd } from './private-containerd.js';
import { testNode } from './test-node.js';

t.setTimeout(240_000);
const skip = skipWithoutContainerd();

t.test('propagation of mounts', { skip, timeout: 240_000 }, async (t) => {
  const node = await testNode(t, false);
  const { kubelet, containerd, runtime, apply } = node;
  // As a node has it: what is shared is the agent's own directory here, and nothing else of the machine.
  execFileSync('mount', ['--bind', kubelet.root, kubelet.root]);
  execFileSync('mount', ['--make-rshared', kubelet.root]);
  await kubelet.start();
  const mount = (mountPropagation?: string) => ({ volumeMounts: [{ name: 'v', mountPath: '/v', ...(mountPropagation === undefined ? {} : { mountPropagation }) }] });
  const waits = 'trap "exit 0" TERM; while :; do sleep 0.1; done';
  const makes = `while [ ! -e /v/go ]; do sleep 0.1; done; mkdir /v/in; mount -t tmpfs made /v/in && echo made > /v/in/f; ${waits}`;
  apply('shares', {
    volumes: [{ name: 'v', emptyDir: {} }],
    containers: [
      scripted(containerd, 'maker', makes, { ...mount('Bidirectional'), securityContext: { privileged: true } }),
      scripted(containerd, 'follower', waits, mount('HostToContainer')),
      scripted(containerd, 'apart', waits, mount()),
    ],
  });
  const pod = await kubelet.untilRunning('shares');
  const inside = (container: string, path: string) => `/proc/${runtime.processes().get(idOf(pod, container))}/root${path}`;
  const directory = join(kubelet.root, 'pods', pod.metadata.uid ?? '');
  const volume = join(directory, 'volumes/kubernetes.io~empty-dir/v');
  writeFileSync(join(volume, 'go'), '');
  await kubelet.until('the mount has come to the host', () => existsSync(join(volume, 'in/f')));
  await kubelet.until('the one that follows the host sees it', () => existsSync(inside('follower', '/v/in/f')));
  t.ok(existsSync(inside('apart', '/v/in')), 'the others have the directory');
  t.notOk(existsSync(inside('apart', '/v/in/f')), 'and not the mount');
  execFileSync('mount', ['-t', 'tmpfs', 'host', join(volume, 'in')]);
  writeFileSync(join(volume, 'in/of-the-host'), '');
  t.ok(existsSync(inside('maker', '/v/in/of-the-host')), 'what the host mounts is seen by who shares, too');
  t.ok(existsSync(inside('follower', '/v/in/of-the-host')));
  execFileSync('umount', [join(volume, 'in')]);

  kubelet.withdraw('shares.json');
  await kubelet.until('the containers are gone', () => runtime.processes().get(idOf(pod, 'maker')) === undefined);
  const failure = 'UnmountVolume.TearDown failed for volume "v"';
  const reason = `${join(volume, 'in')} is still mounted`;
  await kubelet.until('it is said what is in the way', () => kubelet.logLines().some(({ msg, err }) => msg === failure && String(err).includes(reason)));
  t.equal(readFileSync(join(volume, 'in/f'), 'utf8'), 'made\n', 'what a container left mounted is not reached into');
  execFileSync('umount', [join(volume, 'in')]);
  await kubelet.until('nothing is left once it is unmounted', () => !existsSync(directory), 180_000);
});
