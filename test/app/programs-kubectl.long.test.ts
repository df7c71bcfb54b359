// kubectl against the programs that a user starts: the mock apiserver alone, and the whole cluster of `kubelet-ctl dev` (which `npm start` runs).
import { execFileSync, spawnSync } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { removeWithMounts } from '../../src/adapters/storage/remove-with-mounts.js';
import { kubectl, skipWithoutKubectl } from '../containerd/kubectl.js';
import { until } from '../support/until.js';
import { Program } from './programs.js';

t.setTimeout(570_000);
const skip = skipWithoutKubectl();
const programMillis = 240_000;

/** Words (split at spaces), input, what is said; `fails` where kubectl has to say no. In order. */
interface Row {
  readonly words: string;
  readonly input?: unknown;
  readonly fails?: true;
  readonly says: RegExp;
}

async function play(t: Test, kubeconfig: string, rows: readonly Row[]): Promise<void> {
  for (const { words, input, fails, says } of rows) {
    const { code, text } = await kubectl(kubeconfig, words.split(' '), input === undefined ? '' : JSON.stringify(input));
    t.match({ failed: code !== 0, text }, { failed: fails === true, text: says }, `kubectl ${words}`);
  }
}

function own(t: Test): string {
  const directory = mkdtempSync(join(tmpdir(), 'kubelet-ts-test-'));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

function podManifest(name: string, more: object = {}): object {
  const containers = [{ name: 'c', image: 'busybox:1.36' }];
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name, labels: { app: name } }, spec: { terminationGracePeriodSeconds: 2, containers, ...more } };
}

const refuse = (code: number, message: string) => [{ operation: 'list.configmaps', trigger: { times: 1 }, action: { kind: 'error', code, message } }];

t.test('kubelet-ctl mock-apiserver alone', { skip }, async (t) => {
  const directory = own(t);
  const kubeconfig = join(directory, 'kubeconfig');
  const mock = new Program('kubelet-ctl', ['mock-apiserver', '--bind=127.0.0.1:0', '--kubeconfig-out', kubeconfig, '--server-version', 'v1.30.2'], {}, programMillis);
  await until('it says how to reach it', () => mock.out.includes(`export KUBECONFIG=${kubeconfig}\n`));
  await play(t, kubeconfig, [
    { words: 'version', says: /Server Version: v1\.30\.2/ },
    { words: 'get namespaces -o name', says: /^namespace\/default\n/ },
    { words: 'apply -f -', input: podManifest('waits'), says: /pod\/waits created/ },
    { words: 'get pods', says: /NAME +READY +STATUS +RESTARTS +AGE\nwaits +0\/1 +Pending +0/ },
    { words: 'wait pod/waits --for=condition=Ready --timeout=1s', fails: true, says: /timed out waiting for the condition on pods\/waits/ },
    { words: 'patch pod waits --type=json -p [{"op":"test","path":"/metadata/labels/app","value":"other"}]', fails: true, says: /the server rejected our request/ },
    { words: 'explain pod.spec.nothing', fails: true, says: /field "nothing" does not exist/ },
    {
      words: 'apply -f -',
      input: podManifest('bad', { restartPolicy: 'Sometimes' }),
      fails: true,
      says: /The Pod "bad" is invalid: spec\.restartPolicy: Unsupported value: "Sometimes"/,
    },
    { words: 'apply -f -', input: { ...podManifest('worse'), spec: { containerz: [] } }, fails: true, says: /strict decoding error: unknown field "spec\.containerz"/ },
    { words: 'replace --raw /mock/faults -f -', input: refuse(503, 'away for a moment'), says: /"rules": ?1/ },
    { words: 'get configmaps', fails: true, says: /away for a moment/ },
    { words: 'get configmaps', says: /kube-root-ca\.crt/ },
    { words: 'get --raw /mock/faults', says: /"counts": ?\[ ?1 ?\]/ },
    { words: 'replace --raw /mock/faults -f -', input: [], says: /"rules": ?0/ },
    { words: 'get --raw /mock/audit', says: /"verb": ?"list"[^}]*"resource": ?"configmaps"[^}]*"code": ?503/ },
    { words: 'delete pod waits', says: /pod "waits" deleted/ },
    { words: 'get pod waits', fails: true, says: /pods "waits" not found/ },
  ]);
  mock.kill('SIGTERM');
  t.equal(await mock.end(), 0);
});

t.test('kubelet-ctl dev: a person applies a pod and watches it run', { skip }, async (t) => {
  const temporary = own(t);
  const dev = new Program('kubelet-ctl', ['dev'], { TMPDIR: temporary }, programMillis);
  await until('it says which KUBECONFIG to use', () => /export KUBECONFIG=\S+/.test(dev.out));
  const kubeconfig = /export KUBECONFIG=(\S+)/.exec(dev.out)?.[1] ?? '';
  await play(t, kubeconfig, [
    { words: 'wait node/dev --for=condition=Ready --timeout=90s', says: /node\/dev condition met/ },
    { words: 'apply -f -', input: podManifest('mine'), says: /pod\/mine created/ },
    { words: 'wait pod/mine --for=condition=Ready --timeout=90s', says: /pod\/mine condition met/ },
    { words: 'get pod mine -o wide', says: /mine +1\/1 +Running +0 +\S+ +\d+\.\d+\.\d+\.\d+ +dev / },
    { words: 'describe pod mine', says: /Scheduled[\s\S]*Pulled[\s\S]*Created[\s\S]*Started/ },
    { words: 'describe node dev', says: /default +mine [\s\S]*NodeHasSufficientMemory/ },
    { words: 'label pod mine tier=front', says: /labeled/ },
    { words: 'patch pod mine --type=merge -p {"metadata":{"annotations":{"a":"b"}}}', says: /patched/ },
    { words: 'apply -f -', input: podManifest('mine', { hostNetwork: true }), fails: true, says: /pod updates may not change fields other than/ },
    { words: 'get pods -l app=mine -o jsonpath={.items[*].metadata.name}', says: /^mine$/ },
    { words: 'delete pod mine --timeout=90s', says: /pod "mine" deleted/ },
    { words: 'get pod mine', fails: true, says: /pods "mine" not found/ },
    { words: 'apply -f -', input: podManifest('forced'), says: /created/ },
    { words: 'wait pod/forced --for=condition=Ready --timeout=90s', says: /condition met/ },
    { words: 'delete pod forced --grace-period=0 --force', says: /force deleted/ },
    { words: 'apply -f -', input: podManifest('stays'), says: /created/ },
    { words: 'wait pod/stays --for=condition=Ready --timeout=90s', says: /condition met/ },
  ]);
  await until('the terminal shows it too', () => /default\/mine {2}Running {2}ready 1\/1/.test(dev.out));
  dev.kill('SIGINT');
  t.equal(await dev.end(), 0);
  t.same(readdirSync(temporary), [], 'nor is a volume of a pod that still ran left mounted');
});

t.test('what is mounted below a demonstration is unmounted before it is removed, never emptied', { skip: process.getuid?.() === 0 ? false : 'mounts need root' }, async (t) => {
  const [directory, data] = [own(t), own(t)];
  writeFileSync(join(data, 'kept'), 'somebody’s');
  const places = ['a', 'a/kept-place', 'b'].map((name) => join(directory, name));
  const [tmpfs = '', within = '', bound = ''] = places;
  mkdirSync(tmpfs);
  execFileSync('mount', ['-t', 'tmpfs', 'none', tmpfs]);
  t.teardown(() => spawnSync('umount', ['-l', tmpfs]));
  mkdirSync(within);
  mkdirSync(bound);
  for (const place of [within, bound]) {
    execFileSync('mount', ['--bind', data, place]);
    t.teardown(() => spawnSync('umount', ['-l', place]));
  }
  // A file there is still open.
  const open = openSync(join(bound, 'kept'), 'r');
  t.teardown(() => closeSync(open));
  t.equal(removeWithMounts(directory), null);
  t.notOk(existsSync(directory));
  t.equal(readFileSync(join(data, 'kept'), 'utf8'), 'somebody’s');
  t.equal(removeWithMounts(directory), null, 'twice is as once');
});
