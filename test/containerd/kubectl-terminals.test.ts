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
            if 'kill' in order:
                os.kill(pid, 9)
            elif 'size' in order:
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
  return {
    child,
    ended,
    shown: () => shown,
    keys: (keys: string) => order({ keys }),
    kill: () => order({ kill: true }),
    size: (rows: number, columns: number) => order({ size: [rows, columns] }),
  };
}

async function execInTerminal(t: Test, cluster: Cluster): Promise<void> {
  await running(cluster, 'screen', 'while :; do sleep 0.2; done');
  const { keys, size, shown, ended } = inTerminal(t, cluster, ['exec', '-it', 'screen', '--', 'sh']);
  const { kubelet } = cluster;
  size(33, 101);
  await kubelet.until('there is a prompt', async () => /[#$] /.test(shown()));
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
  const { keys, shown, kill } = inTerminal(t, cluster, ['attach', '-it', 'shell']);
  await cluster.kubelet.until('it answers', async () => {
    keys('echo at"tached"\n');
    await new Promise((resolve) => setTimeout(resolve, 300));
    return shown().includes('attached');
  });
  kill();
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
  const piped = spawn('kubectl', ['--kubeconfig', cluster.kubeconfig, 'exec', '-i', 'lives', '--', 'wc', '-c'], { stdio: ['pipe', 'ignore', 'inherit'] });
  piped.stdin.write('some');
  await kubelet.until('it runs', async () => (await processes('wc')) === 1);
  piped.kill('SIGKILL');
  await kubelet.until('a process whose input is gone ends', async () => (await processes('wc')) === 0);
  t.pass('nothing stays behind');
}

async function inputThatNobodyReads(t: Test, { run }: Cluster): Promise<void> {
  const began = Date.now();
  const said = await run(['exec', '-i', 'lives', '--', 'sh', '-c', 'sleep 1; echo done; exit 3'], randomBytes(10_000).toString('hex'));
  t.match(said, { code: 3, text: /done/ });
  t.ok(Date.now() - began < 30_000, 'and its end is not waited for');
}

interface Echo {
  /** What came back, once it is as much as was sent; why it did not. */
  of(bytes: Buffer): Promise<Buffer | string>;
  end(): void;
}

/** A connection through kubectl to a program that gives back what it gets. */
function echoing(t: Test, port: number): Echo {
  const socket = connect({ port, host: '127.0.0.1' });
  t.teardown(() => socket.destroy());
  const got: Buffer[] = [];
  let wanted = 0;
  let finish: (answer: Buffer | string) => void = () => {};
  socket.on('data', (chunk: Buffer) => {
    got.push(chunk);
    if (got.reduce((sum, { length }) => sum + length, 0) >= wanted) finish(Buffer.concat(got.splice(0)));
  });
  socket.once('error', (error) => finish(String(error)));
  socket.once('close', () => finish(Buffer.concat(got)));
  return {
    of: (bytes) =>
      new Promise((resolve) => {
        wanted = bytes.length;
        finish = resolve;
        socket.write(bytes);
      }),
    end: () => socket.end(),
  };
}

async function manyForwards(t: Test, cluster: Cluster): Promise<void> {
  await running(cluster, 'echoes', 'exec nc -ll -p 8080 -e cat');
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
  const connections: Echo[] = [];
  // One after the other, since the server's queue is short; then all at once.
  for (let i = 0; i < 40; i++) {
    const echo = echoing(t, open);
    const first = await echo.of(Buffer.from([i]));
    t.ok(Buffer.isBuffer(first) && first[0] === i, `connection ${i} is there`);
    connections.push(echo);
  }
  const blocks = connections.map((_, i) => randomBytes(1 + i * 20_000));
  const answers = await Promise.all(connections.map((echo, i) => echo.of(blocks[i] as Buffer)));
  for (const [i, answer] of answers.entries()) t.ok(Buffer.isBuffer(answer) && answer.equals(blocks[i] as Buffer), `connection ${i}: each byte came back`);
  for (const echo of connections) echo.end();
  t.equal(child.exitCode, null, 'and kubectl goes on');
  const refused = await echoing(t, shut).of(Buffer.from('anybody?'));
  t.ok(typeof refused === 'string' || refused.length === 0, 'a port that nobody listens on gives nothing');
  await cluster.kubelet.until('it is told why', async () => /connection refused/i.test(said));
}

async function largeCopies(t: Test, { run, containerd }: Cluster): Promise<void> {
  const file = join(containerd.directory, 'large');
  writeFileSync(`${file}.in`, randomBytes(64 * 1024 * 1024));
  t.match(await run(['cp', `${file}.in`, 'lives:/tmp/large']), { code: 0 });
  t.match(await run(['cp', 'lives:/tmp/large', `${file}.out`]), { code: 0 });
  t.ok(readFileSync(`${file}.out`).equals(readFileSync(`${file}.in`)), '64 MiB go there and come back as they were');
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
  for (const [name, test] of Object.entries(tests)) await t.test(name, { timeout: 120_000 }, (t) => test(t, cluster));
});
