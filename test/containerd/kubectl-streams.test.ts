// kubectl against a node of a cluster on a real containerd: logs, commands, terminals, copies and ports, through the mock apiserver and the
// kubelet's own port, which lets in whom the apiserver vouches for.
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { skipWithoutKubectl } from './kubectl.js';
import { freePort, nodeName } from './kubelet-process.js';
import { skipWithoutContainerd } from './private-containerd.js';
import { type Cluster, running, testCluster } from './stream-cluster.js';

t.setTimeout(300_000);
const skip = skipWithoutContainerd() || skipWithoutKubectl();

async function logs(t: Test, cluster: Cluster): Promise<void> {
  await running(cluster, 'talks', 'i=0; while :; do i=$((i+1)); echo line $i; sleep 0.2; done');
  await cluster.kubelet.until('there are lines', async () => (await cluster.run(['logs', 'talks'])).text.split('\n').length > 4);
  t.match(await cluster.run(['logs', 'talks', '--tail=1']), { code: 0, text: /^line \d+\n$/ });
  t.match(await cluster.run(['logs', 'talks', '--limit-bytes=6']), { text: /^line 1$/ });
  t.match(await cluster.run(['logs', 'talks', '-c', 'other']), { text: /container other is not valid for pod talks/ });
  t.match(await cluster.run(['logs', 'talks', '--previous']), { text: /previous terminated container "main" in pod "talks" not found/ });
  const child = spawn('kubectl', ['--kubeconfig', cluster.kubeconfig, 'logs', '-f', '--tail=0', 'talks'], { stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  child.stdout.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  await cluster.kubelet.until('what is written later comes', async () => text.split('\n').length > 4);
  child.kill();
}

async function exec(t: Test, cluster: Cluster): Promise<void> {
  const { run } = cluster;
  await running(cluster, 'works', 'while :; do sleep 0.2; done');
  t.match(await run(['exec', 'works', '--', 'sh', '-c', 'echo out; echo err >&2; exit 7']), { code: 7, text: /out[\s\S]*err|err[\s\S]*out/ });
  t.match(await run(['exec', '-i', 'works', '--', 'cat'], 'hello'), { code: 0, text: /^hello$/ });
  const large = randomBytes(6_000_000).toString('base64');
  const counted = await run(['exec', '-i', 'works', '--', 'sh', '-c', 'md5sum | cut -c1-8; echo done'], large);
  t.match(counted, { code: 0, text: /^[0-9a-f]{8}\ndone\n$/ }, 'eight megabytes of input arrive');
  t.match(await run(['exec', 'works', '--', '/none']), { text: /no such file or directory/ });
  const written = join(cluster.containerd.directory, 'copied');
  writeFileSync(`${written}.in`, large);
  t.match(await run(['cp', `${written}.in`, 'works:/tmp/copied']), { code: 0 });
  t.match(await run(['cp', 'works:/tmp/copied', `${written}.out`]), { code: 0 });
  t.ok(readFileSync(`${written}.out`).equals(readFileSync(`${written}.in`)), 'a file goes there and comes back as it was');
}

async function attach(t: Test, cluster: Cluster): Promise<void> {
  await running(cluster, 'listens', 'read word; echo "heard $word"; while :; do sleep 0.2; done', { stdin: true });
  const child = spawn('kubectl', ['--kubeconfig', cluster.kubeconfig, 'attach', '-i', 'listens'], { stdio: ['pipe', 'pipe', 'inherit'] });
  let text = '';
  child.stdout.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  child.stdin.write('hello\n');
  await cluster.kubelet.until('the container answers', async () => text.includes('heard hello'));
  child.kill();
  t.pass('what is typed arrives, what it says comes back');
}

async function portForward(t: Test, cluster: Cluster): Promise<void> {
  await running(cluster, 'serves', 'while :; do echo "GET heard" | nc -l -p 8080 >/dev/null; done');
  const local = await freePort();
  const child = spawn('kubectl', ['--kubeconfig', cluster.kubeconfig, 'port-forward', 'pod/serves', `${local}:8080`], { stdio: ['ignore', 'pipe', 'inherit'] });
  let said = '';
  child.stdout.on('data', (chunk: Buffer) => {
    said += chunk.toString();
  });
  await cluster.kubelet.until('the port is there', async () => said.includes('Forwarding from'));
  for (let i = 0; i < 5; i++) {
    const answer = await new Promise<string>((resolve) => {
      let text = '';
      const socket = connect(local, '127.0.0.1', () => socket.end('ask\n'));
      socket.on('data', (chunk: Buffer) => {
        text += chunk.toString();
      });
      socket.once('close', () => resolve(text));
      socket.once('error', () => resolve(text));
    });
    if (answer.includes('GET heard')) {
      t.pass('a connection reaches the container');
      break;
    }
    if (i === 4) t.fail(`no answer: ${answer}`);
  }
  child.kill();
}

async function nodeProxy(t: Test, { run, apiPort }: Cluster): Promise<void> {
  t.match(await run(['get', '--raw', `/api/v1/nodes/${nodeName}/proxy/healthz`]), { code: 0, text: /^ok$/ });
  t.match(await run(['get', '--raw', `/api/v1/nodes/${nodeName}/proxy/configz`]), { text: /"kubeletconfig":/ });
  t.match(await run(['get', '--raw', `/api/v1/nodes/${nodeName}/proxy/pods`]), { text: /"kind":"PodList"/ });
  const direct = await fetch(`http://127.0.0.1:${apiPort}/pods`).catch((error: unknown) => error);
  t.ok(direct instanceof Error || !(direct as Response).ok, 'nobody gets in without TLS');
}

t.test('kubectl and the kubelet’s own port', { skip, timeout: 240_000 }, async (t) => {
  const cluster = await testCluster(t);
  await cluster.run(['wait', `node/${nodeName}`, '--for=condition=Ready', '--timeout=60s']);
  for (const [name, test] of Object.entries({ logs, exec, attach, 'port-forward': portForward, 'nodes by proxy': nodeProxy })) await t.test(name, (t) => test(t, cluster));
});
