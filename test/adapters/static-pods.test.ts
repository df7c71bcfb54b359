// Static pods end to end on a real directory: the kernel's watch (the addon's, or the fallback's), the adapter, the machine, the daemon's shell.
// Listings are an hour apart here, so that everything that is found was found by the watch.
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { LinuxManifestDirectory } from '../../src/adapters/linux/index.js';
import { openNativeLinux, serviceEnvironmentOf } from '../../src/adapters/native-linux/index.js';
import { Shell } from '../../src/app/shell/shell.js';
import { Kernel } from '../../src/domain/kernel/kernel.js';
import { newStaticPods, type StaticPodsEvent, type StaticPodsState, staticPodsMachine } from '../../src/domain/pod-sources/static-pods.js';
import { instantOf } from '../../src/domain/values/instant.js';
import type { Pod } from '../../src/ports/model/pod.js';
import type { ManifestOperations } from '../../src/ports/outbound/manifests.js';

const native = openNativeLinux({ kernelLogPath: '/dev/null', service: serviceEnvironmentOf({}) }, false);
const hour = 3_600_000_000;
const patienceMillis = 60_000;

type Pods = readonly Pod[];

interface Node {
  readonly directory: string;
  readonly log: string[];
  /** Resolves with the first list, from now on, that is as wanted; the last one counts too. */
  until(what: string, isWanted: (pods: Pods) => boolean): Promise<Pods>;
}

function node(test: Test): Node {
  const base = mkdtempSync(join(tmpdir(), 'static-pods-'));
  const directory = join(base, 'manifests');
  mkdirSync(directory);
  const log: string[] = [];
  let last: Pods | null = null;
  const waiting = new Set<() => void>();
  const machine = staticPodsMachine(({ pods }) => {
    last = pods;
    for (const look of [...waiting]) look();
  });
  const settings = { path: directory, checkPeriod: hour, nodeName: 'n', preventApiReferences: true };
  const kernel = new Kernel<StaticPodsState, StaticPodsEvent, ManifestOperations>(machine, newStaticPods(settings, null), 1);
  const started = process.hrtime.bigint();
  const port = new LinuxManifestDirectory({ openFileWatch: native.openFileWatch, deliver: (event) => shell.deliver(event) });
  const shell: Shell<StaticPodsState, StaticPodsEvent, ManifestOperations> = new Shell(kernel, {
    perform: (command, call) => {
      if (command.op === 'manifestUrl.fetch') throw new Error('no URL is configured');
      const name = command.op.slice('manifestDirectory.'.length) as 'list' | 'readFile' | 'watch';
      return port[name](command.request, call);
    },
    now: () => Number((process.hrtime.bigint() - started) / 1000n),
    wall: () => instantOf(Date.now() * 1_000),
    log: (level, message) => log.push(`${level} ${message}`),
    fatal: (error) => {
      throw error;
    },
  });
  test.teardown(() => {
    shell.stop();
    port.close();
    rmSync(base, { recursive: true, force: true });
  });
  shell.deliver({ type: 'start' });
  const until = (what: string, isWanted: (pods: Pods) => boolean): Promise<Pods> =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`${what}: not within ${patienceMillis} ms; the last list: ${names(last)}; the log: ${log.join(' | ')}`)), patienceMillis);
      const look = (): void => {
        if (last === null || !isWanted(last)) return;
        clearTimeout(timer);
        waiting.delete(look);
        resolve(last);
      };
      waiting.add(look);
      look();
    });
  return { directory, log, until };
}

function names(pods: Pods | null): string {
  return pods === null ? 'none yet' : pods.map((pod) => pod.metadata.name).join(' ');
}

function manifest(name: string, priority = 0): string {
  return JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec: { priority, containers: [{ name: 'c', image: 'i:1' }] } });
}

t.test(`a directory on the ${native.kind}'s watch`, async (t) => {
  const { directory, until } = node(t);
  const at = (name: string): string => join(directory, name);
  await until('the first list', (pods) => pods.length === 0);
  writeFileSync(at('a.json'), manifest('a'));
  await until('a new file', (pods) => names(pods) === 'a-n');
  writeFileSync(at('b.tmp'), manifest('b'));
  renameSync(at('b.tmp'), at('b.json'));
  await until('a file that was moved here', (pods) => names(pods) === 'a-n b-n');
  rmSync(at('a.json'));
  await until('a file that was removed', (pods) => names(pods) === 'b-n');
  writeFileSync(at('b.json'), manifest('b').slice(0, 30));
  writeFileSync(at('b.json'), manifest('b', 7));
  const [changed] = await until('a file that was changed', (pods) => pods[0]?.spec.priority === 7);
  t.equal(changed?.metadata.name, 'b-n');
  for (let i = 0; i < 300; i++) writeFileSync(at(`f${i}.json`), manifest(`f${i}`));
  await until('a burst of files', (pods) => pods.length === 301);
  renameSync(directory, `${directory}.old`);
  await until('a directory that was moved away', (pods) => pods.length === 0);
  mkdirSync(directory);
  writeFileSync(at('c.json'), manifest('c'));
  await until('a directory in its place', (pods) => names(pods) === 'c-n');
  writeFileSync(at('d.json'), manifest('d'));
  t.equal(names(await until('and it is watched again', (pods) => pods.length === 2)), 'c-n d-n');
});

t.test('KB008: an editor that renames over the original', async (t) => {
  const { directory, until, log } = node(t);
  const at = (name: string): string => join(directory, name);
  writeFileSync(at('p.json'), manifest('p', 1));
  await until('the first version', (pods) => pods[0]?.spec.priority === 1);
  for (let version = 2; version < 12; version++) {
    writeFileSync(at('.p.json.swp'), 'not a manifest');
    renameSync(at('p.json'), at('p.json~'));
    writeFileSync(at('4913.tmp'), manifest('p', version));
    renameSync(at('4913.tmp'), at('p.json'));
    rmSync(at('p.json~'));
    rmSync(at('.p.json.swp'));
    const pods = await until(`version ${version}`, ([pod, ...others]) => pod?.spec.priority === version && others.length === 0);
    t.equal(names(pods), 'p-n');
  }
  t.notMatch(log.join('\n'), /\.swp/, 'dot files are ignored');
});

t.test('a directory reached through a symbolic link', async (t) => {
  const { directory, until } = node(t);
  rmSync(directory, { recursive: true });
  mkdirSync(`${directory}.real`);
  writeFileSync(join(`${directory}.real`, 'a.json'), manifest('a'));
  symlinkSync(`${directory}.real`, directory);
  await until('a link in the place of the directory', (pods) => names(pods) === 'a-n');
  writeFileSync(join(`${directory}.real`, 'b.json'), manifest('b'));
  t.equal(names(await until('a new file behind it', (pods) => pods.length === 2)), 'a-n b-n');
});
