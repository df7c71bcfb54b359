// kubectl against a node of a cluster on a real containerd: logs, exec, terminals, cp and port-forward, through the mock apiserver and the
// kubelet's own port, which admits users that the apiserver authenticates.
import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { skipWithoutKubectl } from './kubectl.js';
import { freePort, manifest, nodeName, scripted } from './kubelet-process.js';
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
  t.match(counted, { code: 0, text: `${createHash('md5').update(large).digest('hex').slice(0, 8)}\ndone\n` }, 'eight megabytes of input arrive, each byte');
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

/** The body at a path of a forwarded port, or the error. */
function fetched(port: number, path: string): Promise<string> {
  return new Promise((resolve) => {
    const asked = get({ host: '127.0.0.1', port, path, agent: false }, (response) => {
      let body = '';
      response.setEncoding('latin1');
      response.on('data', (chunk: string) => {
        body += chunk;
      });
      response.once('error', (error) => resolve(String(error)));
      response.once('end', () => resolve(body));
    });
    asked.once('error', (error) => resolve(String(error)));
  });
}

/** In a network of its own, so that its port is its own. */
async function portForward(t: Test, cluster: Cluster): Promise<void> {
  const { run, containerd, kubeconfig, kubelet } = cluster;
  const connections = 40;
  const script = `mkdir /www; for i in $(seq ${connections}); do seq $i 60000 > /www/$i; done; exec httpd -f -p 8080 -h /www`;
  const containers = [scripted(containerd, 'main', script)];
  await run(['apply', '-f', '-'], JSON.stringify(manifest('serves', { hostNetwork: false, automountServiceAccountToken: false, containers })));
  await run(['wait', 'pod/serves', '--for=condition=Ready', '--timeout=60s']);
  // Before the port is forwarded: kubectl gives up with the first connection that is refused.
  await kubelet.until('it serves', async () => (await run(['exec', 'serves', '--', 'wget', '-q', '-O', '-', `http://127.0.0.1:8080/${connections}`])).text.endsWith('\n60000\n'));
  const [local, shut] = [await freePort(), await freePort()];
  const child = spawn('kubectl', ['--kubeconfig', kubeconfig, 'port-forward', 'pod/serves', `${local}:8080`, `${shut}:9`], { stdio: ['ignore', 'pipe', 'pipe'] });
  t.teardown(() => child.kill('SIGKILL'));
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      said += chunk.toString();
    });
  await kubelet.until('the ports are there', async () => said.split('Forwarding from').length > 2);
  const wanted = (from: number) => Array.from({ length: 60_001 - from }, (_, i) => `${from + i}\n`).join('');
  const bodies = await Promise.all(Array.from({ length: connections }, (_, i) => fetched(local, `/${i + 1}`)));
  t.strictSame(
    bodies.flatMap((body, i) => (body === wanted(i + 1) ? [] : [`connection ${i + 1}: ${body.length} bytes, ${body.slice(0, 80)}`])),
    [],
    'many at once, each with its own bytes',
  );
  t.match(await fetched(shut, '/'), /Error/, 'a port that nobody listens on');
  const byProxy = await run(['get', '--raw', `/api/v1/namespaces/default/pods/serves:8080/proxy/${connections}`]);
  t.equal(byProxy.text, wanted(connections), 'the same by proxy, at the pod’s own address');
  await kubelet.until('it is told why', async () => /error forwarding port 9 to pod .*connection refused/.test(said));
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
