// Runs a suite against the real control plane in namespaces of its own: mounts, network, processes, host name. It may use the fixed ports, the
// kubelet's default directories and the node's address while other tests do the same on the host.
// Invariant: everything that the suite starts ends with its first process, and that one ends with this process, also after SIGKILL. What is
// left is a directory and cgroups, which this process removes, or else the next run that claims a directory.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { removeEverythingOf } from '../containerd/leftovers.js';
import { claimRunDirectory } from '../containerd/run-directory.js';

const programs = ['containerd', 'runc', 'etcd', 'openssl', 'xz', 'python3', 'gcc', 'kubectl', 'unshare', 'setpriv', 'ip', 'iptables'];
const scripts = ['peer.sh', 'cluster.sh', 'containerd.sh', 'unpack.sh'];

/** `/run` and `/var/lib` are where the kubelet, CNI and containerd keep what the host's own would also use. */
const prepare = `set -eu
mount --make-rshared /
mkdir -p "$PEER/var-lib/kubelet" "$PEER/var-lib/cni" "$PEER/var-log"
mount --bind "$PEER/var-lib" /var/lib
mount --bind "$PEER/var-log" /var/log
mount -t tmpfs tmpfs /run
cp /etc/hosts "$PEER/hosts"
mount --bind "$PEER/hosts" /etc/hosts
ip link set lo up
# Not exec: the shell is process 1 and collects the processes that daemons leave behind.
"$@"
exit $?`;

/** Null, or why these tests can't run here. Where KUBE_PEER is set, anything else that is missing is an error. */
export function skipWithoutPeer(): string | null {
  const directory = process.env.KUBE_PEER;
  if (directory === undefined || directory === '') return 'KUBE_PEER does not name the directory of a control plane';
  const path = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/sbin'];
  const missing = [
    ...programs.filter((name) => !path.some((one) => existsSync(join(one, name)))),
    ...scripts.map((name) => join(directory, name)).filter((file) => !existsSync(file)),
  ];
  if (missing.length > 0) throw new Error(`KUBE_PEER=${directory}, but there is no ${missing.join(', ')}`);
  if (process.getuid?.() !== 0) throw new Error(`KUBE_PEER=${directory}, but only root can make namespaces`);
  return null;
}

/** Runs a compiled suite inside and returns its exit status; its output is this process's. */
export function runInside(suite: URL): number {
  const run = claimRunDirectory();
  try {
    mkdirSync(join(tmpdir(), 'kubelet-ts-peer-programs'), { recursive: true });
    // 220 MB that take 10 s to unpack: kept between runs, and the same for all.
    symlinkSync(join(tmpdir(), 'kubelet-ts-peer-programs'), join(run.path, 'bin'));
    const namespaces = ['--mount', '--net', '--pid', '--ipc', '--uts', '--fork', '--kill-child', '--mount-proc', '--propagation', 'private'];
    const command = ['bash', '-c', prepare, 'bash', process.execPath, '--enable-source-maps', fileURLToPath(suite)];
    // tap has noted in this process that it reports in the runner's format; the suite's process does so instead.
    const context = process.env.NODE_TEST_CONTEXT === undefined ? {} : { NODE_TEST_CONTEXT: 'child-v8' };
    const path = `${process.env.PATH ?? ''}${delimiter}/usr/sbin${delimiter}/sbin`;
    const { status, error } = spawnSync('setpriv', ['--pdeathsig', 'KILL', 'unshare', ...namespaces, ...command], {
      stdio: ['ignore', 'inherit', 'inherit'],
      env: { ...process.env, ...context, PATH: path, PEER: run.path, PEER_CGROUP_ROOT: run.cgroupRoot },
    });
    if (error !== undefined) throw error;
    return status ?? 1;
  } finally {
    removeEverythingOf(run);
  }
}
