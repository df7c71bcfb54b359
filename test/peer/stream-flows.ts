// kubectl on running containers: through a real apiserver and the kubelet's own port.
import { createHash, randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { join } from 'node:path';
import type { Test } from 'tap';
import type { Json } from './admin-client.js';
import { type Flow, flowPod, shell, waiting } from './flow.js';
import type { PeerStand } from './peer-stand.js';

/** A pod of one container that is ready. */
async function running(stand: PeerStand, name: string, script: string, more: object = {}): Promise<void> {
  await stand.create(flowPod(name, [shell(script, more)]));
  await stand.ok(['wait', `pod/${name}`, '--for=condition=Ready', '--timeout=240s']);
}

function sum(bytes: Buffer | string): string {
  return createHash('md5').update(bytes).digest('hex');
}

async function exec(t: Test, stand: PeerStand): Promise<void> {
  await running(stand, 'works', waiting);
  t.match(await stand.kubectl(['exec', 'works', '--', 'sh', '-c', 'echo out; echo err >&2; exit 7']), { code: 7, out: 'out\n', err: /^err\n/ });
  t.match(await stand.kubectl(['exec', '-i', 'works', '--', 'cat'], 'hello'), { code: 0, out: 'hello' });
  const large = randomBytes(3_000_000).toString('base64');
  t.match(await stand.kubectl(['exec', '-i', 'works', '--', 'md5sum'], large), { code: 0, out: `${sum(large)}  -\n` }, 'four megabytes of input arrive');
  const { code, out } = await stand.kubectl(['exec', 'works', '--', 'sh', '-c', 'head -c 8000000 /dev/zero | tr "\\0" a']);
  t.strictSame([code, out.length], [0, 8_000_000], 'eight megabytes of output arrive');
  t.match(await stand.kubectl(['exec', 'works', '--', '/none']), { code: 1, err: /no such file or directory/ });
  t.match(await stand.kubectl(['exec', 'works', '-c', 'other', '--', 'true']), { code: 1, err: /container other is not valid for pod works|container not found \("other"\)/ });
}

async function attach(t: Test, stand: PeerStand): Promise<void> {
  await running(stand, 'listens', `read word; echo "heard $word"; ${waiting}`, { stdin: true });
  const child = stand.kubectlProcess(['attach', '-i', 'listens']);
  let text = '';
  child.stdout?.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  child.stdin?.write('hello\n');
  await stand.until('the container answers', () => text.includes('heard hello'));
  child.kill();
  t.pass('what is typed arrives, what it says comes back');
}

async function copy(t: Test, stand: PeerStand): Promise<void> {
  await running(stand, 'stores', waiting);
  const file = join(stand.directory, 'copied');
  const content = randomBytes(4_000_000);
  writeFileSync(`${file}.in`, content);
  await stand.ok(['cp', `${file}.in`, 'stores:/tmp/copied']);
  await stand.ok(['cp', 'stores:/tmp/copied', `${file}.out`]);
  t.ok(readFileSync(`${file}.out`).equals(content), 'a file comes back as it was');
}

async function logs(t: Test, stand: PeerStand): Promise<void> {
  await running(stand, 'talks', 'i=0; while :; do i=$((i+1)); echo line $i; sleep 0.1; done');
  const child = stand.kubectlProcess(['logs', '-f', 'talks']);
  let text = '';
  let ended = false;
  child.stdout?.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  child.once('close', () => {
    ended = true;
  });
  await stand.until('twenty lines have come', () => text.split('\n').length > 20);
  t.match(await stand.kubectl(['logs', 'talks', '--tail=1']), { code: 0, out: /^line \d+\n$/ });
  t.match(await stand.kubectl(['logs', 'talks', '--timestamps', '--limit-bytes=40']), { code: 0, out: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z line/ });
  t.match(await stand.kubectl(['logs', 'talks', '--previous']), { code: 1, err: /previous terminated container "main" in pod "talks" not found/ });
  await stand.ok(['delete', 'pod', 'talks']);
  await stand.until('following ends with the container', () => ended);
  const lines = text.trimEnd().split('\n');
  t.strictSame(
    lines,
    lines.map((_, i) => `line ${i + 1}`),
    'no line is missing',
  );
}

async function portForward(t: Test, stand: PeerStand): Promise<void> {
  await running(stand, 'serves', 'mkdir /tmp/www; head -c 2000000 /dev/zero > /tmp/www/zeros; httpd -f -p 8080 -h /tmp/www');
  const child = stand.kubectlProcess(['port-forward', 'pod/serves', '18080:8080']);
  let text = '';
  child.stdout?.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  await stand.until('it listens', () => text.includes('Forwarding from 127.0.0.1:18080'));
  const sizes = await Promise.all(Array.from({ length: 4 }, () => fetched('http://127.0.0.1:18080/zeros')));
  t.strictSame(sizes, [2_000_000, 2_000_000, 2_000_000, 2_000_000], 'four connections at once');
  child.kill();
}

function fetched(url: string): Promise<number> {
  return new Promise((settle, reject) => {
    get(url, { agent: false }, (answer) => {
      let size = 0;
      answer.on('data', (chunk: Buffer) => {
        size += chunk.length;
      });
      answer.on('end', () => settle(size));
      answer.on('error', reject);
    }).on('error', (error) => reject(new Error(`${url}: ${error.message}`)));
  });
}

async function debug(t: Test, stand: PeerStand): Promise<void> {
  await running(stand, 'sick', `echo secret > /tmp/clue; ${waiting}`);
  const image = 'docker.io/library/busybox:latest';
  await stand.ok([
    'debug',
    'sick',
    `--image=${image}`,
    '--image-pull-policy=IfNotPresent',
    '--target=main',
    '-c',
    'doctor',
    '--',
    'sh',
    '-c',
    'cat /proc/1/root/tmp/clue; sleep 1000',
  ]);
  await stand.untilPod('sick', 'has its ephemeral container', (pod) => pod.status.ephemeralContainerStatuses?.[0]?.state.running !== undefined);
  await stand.until('it has seen the processes of its target', async () => (await stand.ok(['logs', 'sick', '-c', 'doctor'])) === 'secret\n');
  await stand.ok(['debug', 'node/lab-node', `--image=${image}`, '--image-pull-policy=IfNotPresent', '--profile=general', '--', 'sh', '-c', 'cat /host/etc/hosts']);
  await stand.until('a pod on the node has read the host', async () => {
    const shown = (await stand.pods('')).find((pod: Json) => pod.metadata.name.startsWith('node-debugger-lab-node-'));
    return shown?.status.phase === 'Succeeded' && (await stand.ok(['logs', shown.metadata.name])).includes('10.90.0.1 lab-node');
  });
  t.pass('both kinds');
}

export const streamFlows: readonly Flow[] = [
  { name: 'exec: output, input, exit codes, errors', run: exec },
  { name: 'attach: both ways', run: attach },
  { name: 'cp: there and back', run: copy },
  { name: 'logs -f: every line until the container ends', run: logs },
  { name: 'port-forward: several connections at once', run: portForward },
  { name: 'debug: of a pod and of the node', run: debug },
];
