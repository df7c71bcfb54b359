// kubectl with a terminal, with clients that are killed, with many connections and with logs that rotate, on a node on a real containerd.
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { skipWithoutKubectl } from './kubectl.js';
import { freePort } from './kubelet-process.js';
import { skipWithoutContainerd } from './private-containerd.js';
import { type Cluster, running, testCluster } from './stream-cluster.js';

t.setTimeout(400_000);
const skip = skipWithoutContainerd() || skipWithoutKubectl();

/** Gives a command a terminal of its own: sizes and keys come as lines of JSON on standard input, what it shows goes to standard output. */
const terminal = `
import fcntl, json, os, pty, select, struct, sys, termios
pid, fd = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
lines = b''
open_input = True
while True:
    ready, _, _ = select.select([fd] + ([0] if open_input else []), [], [])
    if fd in ready:
        try:
            shown = os.read(fd, 65536)
        except OSError:
            shown = b''
        if not shown:
            break
        os.write(1, shown)
    if 0 in ready:
        got = os.read(0, 65536)
        open_input = got != b''
        lines += got
        while b'\\n' in lines:
            line, lines = lines.split(b'\\n', 1)
            order = json.loads(line)
            if 'size' in order:
                fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack('HHHH', order['size'][0], order['size'][1], 0, 0))
            else:
                os.write(fd, order['keys'].encode())
_, status = os.waitpid(pid, 0)
sys.exit(os.waitstatus_to_exitcode(status) & 255)
`;

function inTerminal(t: Test, { kubeconfig }: Cluster, words: readonly string[]) {
  const child = spawn('python3', ['-c', terminal, 'kubectl', '--kubeconfig', kubeconfig, ...words], { stdio: ['pipe', 'pipe', 'inherit'] });
  let shown = '';
  child.stdout.on('data', (chunk: Buffer) => {
    shown += chunk.toString();
  });
  const ended = new Promise<number | null>((resolve) => child.once('exit', (code) => resolve(code)));
  t.teardown(() => child.kill('SIGKILL'));
  const order = (what: object) => child.stdin.write(`${JSON.stringify(what)}\n`);
  return { child, ended, shown: () => shown, keys: (keys: string) => order({ keys }), size: (rows: number, columns: number) => order({ size: [rows, columns] }) };
}

async function execInTerminal(t: Test, cluster: Cluster): Promise<void> {
  await running(cluster, 'screen', 'while :; do sleep 0.2; done');
  const { keys, size, shown, ended } = inTerminal(t, cluster, ['exec', '-it', 'screen', '--', 'sh']);
  const { kubelet } = cluster;
  size(33, 101);
  await kubelet.until('there is a prompt', async () => /[#$] $/.test(shown()));
  await kubelet.until('the size is that of the terminal', async () => {
    keys('stty size\n');
    await new Promise((resolve) => setTimeout(resolve, 300));
    return shown().includes('33 101');
  });
  size(50, 140);
  await kubelet.until('the size follows', async () => {
    keys('stty size\n');
    await new Promise((resolve) => setTimeout(resolve, 300));
    return shown().includes('50 140');
  });
  keys('test -t 0 && test -t 1 && test -t 2 && echo all "are terminals"\n');
  await kubelet.until('input and outputs are terminals', async () => shown().includes('all are terminals'));
  keys('exit 7\n');
  t.equal(await ended, 7, 'the exit code comes back');
}

async function attachInTerminal(t: Test, cluster: Cluster): Promise<void> {
  await running(cluster, 'shell', 'exec sh', { stdin: true, tty: true });
  const { keys, shown, child } = inTerminal(t, cluster, ['attach', '-it', 'shell']);
  await cluster.kubelet.until('it answers', async () => {
    keys('echo at"tached"\n');
    await new Promise((resolve) => setTimeout(resolve, 300));
    return shown().includes('attached');
  });
  child.kill('SIGKILL');
  t.match(
    (await cluster.run(['get', 'pod', 'shell', '-o', 'jsonpath={.status.phase} {.status.containerStatuses[0].restartCount}'])).text,
    /^Running 0$/,
    'whoever detaches leaves it running',
  );
}

async function clientsThatAreKilled(t: Test, cluster: Cluster): Promise<void> {
  const { kubelet, run } = cluster;
  await running(cluster, 'lives', 'while :; do sleep 0.2; done');
  const processes = async (name: string) =>
    (await run(['exec', 'lives', '--', 'sh', '-c', 'cat /proc/[0-9]*/comm 2>/dev/null'])).text.split('\n').filter((line) => line === name).length;
  const { child, keys, shown } = inTerminal(t, cluster, ['exec', '-it', 'lives', '--', 'sh']);
  await kubelet.until('there is a prompt', async () => /[#$] $/.test(shown()));
  keys('exec top -b -d 100 >/dev/null\n');
  await kubelet.until('it runs', async () => (await processes('top')) === 1);
  child.kill('SIGKILL');
  await kubelet.until('the process of a terminal that is gone ends', async () => (await processes('top')) === 0);
  const piped = spawn('kubectl', ['--kubeconfig', cluster.kubeconfig, 'exec', '-i', 'lives', '--', 'wc', '-c'], { stdio: ['pipe', 'ignore', 'inherit'] });
  piped.stdin.write('some');
  await kubelet.until('it runs', async () => (await processes('wc')) === 1);
  piped.kill('SIGKILL');
  await kubelet.until('a process whose input is gone ends', async () => (await processes('wc')) === 0);
  t.pass('nothing stays behind');
}

async function inputThatNobodyReads(t: Test, { run }: Cluster): Promise<void> {
  const began = Date.now();
  const said = await run(['exec', '-i', 'lives', '--', 'sh', '-c', 'sleep 1; echo done; exit 3'], randomBytes(3_000_000).toString('hex'));
  t.match(said, { code: 3, text: /done/ });
  t.ok(Date.now() - began < 30_000, 'and its end is not waited for');
}

/** What came back over a connection that was half closed after the sending. */
function echoed(port: number, bytes: Buffer): Promise<Buffer | string> {
  return new Promise((resolve) => {
    const got: Buffer[] = [];
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true }, () => socket.end(bytes));
    socket.on('data', (chunk: Buffer) => got.push(chunk));
    socket.once('error', (error) => resolve(String(error)));
    socket.once('end', () => {
      socket.destroy();
      resolve(Buffer.concat(got));
    });
  });
}

async function manyForwards(t: Test, cluster: Cluster): Promise<void> {
  await running(cluster, 'echoes', 'tcpsvd -c 100 0 8080 cat');
  const [open, shut] = [await freePort(), await freePort()];
  const child = spawn('kubectl', ['--kubeconfig', cluster.kubeconfig, 'port-forward', 'pod/echoes', `${open}:8080`, `${shut}:9`], { stdio: ['ignore', 'pipe', 'pipe'] });
  t.teardown(() => child.kill('SIGKILL'));
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      said += chunk.toString();
    });
  }
  await cluster.kubelet.until('the ports are there', async () => said.split('Forwarding from').length > 2);
  const blocks = Array.from({ length: 40 }, (_, i) => randomBytes(1 + i * 20_000));
  const answers = await Promise.all(blocks.map((block) => echoed(open, block)));
  for (const [i, answer] of answers.entries())
    t.ok(Buffer.isBuffer(answer) && answer.equals(blocks[i] as Buffer), `connection ${i}: each byte came back after the half was closed`);
  t.match(child.exitCode, null);
  const [refused, ...others] = await Promise.all([echoed(shut, Buffer.from('anybody?')), ...blocks.slice(0, 5).map((block) => echoed(open, block))]);
  t.equal(refused.length, 0, 'a port that nobody listens on gives nothing');
  for (const [i, answer] of others.entries()) t.ok(Buffer.isBuffer(answer) && answer.equals(blocks[i] as Buffer), 'which the others don’t feel');
  await cluster.kubelet.until('it is told why', async () => /connection refused/i.test(said));
}

async function largeCopies(t: Test, { run, containerd }: Cluster): Promise<void> {
  const file = join(containerd.directory, 'large');
  writeFileSync(`${file}.in`, randomBytes(32 * 1024 * 1024));
  t.match(await run(['cp', `${file}.in`, 'lives:/tmp/large']), { code: 0 });
  t.match(await run(['cp', 'lives:/tmp/large', `${file}.out`]), { code: 0 });
  t.ok(readFileSync(`${file}.out`).equals(readFileSync(`${file}.in`)), '32 MiB go there and come back as they were');
}

async function logsThatRotate(t: Test, cluster: Cluster): Promise<void> {
  const { kubelet, kubeconfig } = cluster;
  await running(cluster, 'chatty', 'i=0; while :; do i=$((i+1)); echo "line $i of a log that is rotated while it is followed"; sleep 0.01; done');
  const child = spawn('kubectl', ['--kubeconfig', kubeconfig, 'logs', '-f', 'chatty'], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.teardown(() => child.kill('SIGKILL'));
  let text = '';
  child.stdout.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  await kubelet.until('the log was rotated a few times', async () => text.split('\n').length > 1_500);
  child.kill('SIGKILL');
  const numbers = text
    .split('\n')
    .slice(0, -1)
    .map((line) => Number(/^line (\d+) of a log that is rotated while it is followed$/.exec(line)?.[1] ?? Number.NaN));
  const first = numbers[0] ?? 0;
  t.strictSame(
    numbers,
    numbers.map((_, i) => first + i),
    `${numbers.length} lines, none missing, none twice`,
  );
}

t.test('kubectl with terminals, floods and clients that go away', { skip, timeout: 380_000 }, async (t) => {
  const cluster = await testCluster(t, { containerLogMaxSize: '20Ki', containerLogMaxFiles: 3, containerLogMonitorInterval: '3s' });
  const tests = {
    'exec in a terminal that changes its size': execInTerminal,
    'attach in a terminal': attachInTerminal,
    'clients that are killed': clientsThatAreKilled,
    'input that nobody reads': inputThatNobodyReads,
    'many connections to ports': manyForwards,
    'large copies': largeCopies,
    'logs that rotate while they are followed': logsThatRotate,
  };
  for (const [name, test] of Object.entries(tests)) await t.test(name, (t) => test(t, cluster));
});
