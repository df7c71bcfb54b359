// Every kind of volume that a test host can run, each in a pod of its own on a real containerd: read and written from inside; recognized by the next
// agent after a kill -9, where it stays in use and follows the API; and unmounted and cleaned by it if the pod was removed while no agent ran.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { Pod } from '../../src/ports/model/pod.js';
import type { Volume } from '../../src/ports/model/volume.js';
import { idOf, manifest, nodeName, scripted } from './kubelet-process.js';
import { loopsBelow } from './leftovers.js';
import { skipWithoutContainerd } from './private-containerd.js';
import { driver, mountsBelow, nodeAffinity, type VolumeStand, volumeStand } from './volume-stand.js';

t.setTimeout(480_000);
const skip = skipWithoutContainerd() || (existsSync('/dev/loop-control') ? false : 'the host has no loop devices');

interface Kind {
  readonly volume: Omit<Volume, 'name'>;
  /** The file that is read; what it says. */
  readonly read: readonly [file: string, content: string];
  readonly takesWrites: boolean;
  /** Where the host has what was written; null: it goes with the pod. */
  readonly kept: string | null;
  readonly isDevice?: boolean;
  readonly subPath?: string;
}

const outside = ['before', 'from-outside'] as const;
const own = ['first', 'from-inside'] as const;
const meta = (name: string) => ({ metadata: { name, namespace: 'default' } });
const shown = (volume: Omit<Volume, 'name'>, file: string, content: string): Kind => ({ volume, read: [file, content], takesWrites: false, kept: null });

async function kindsOf(stand: VolumeStand): Promise<Readonly<Record<string, Kind>>> {
  const { admin, directory, device, claim, data } = stand;
  await admin.create('secrets', 'default', { apiVersion: 'v1', kind: 'Secret', ...meta('s'), stringData: { key: 'hidden' } } as never);
  await admin.create('configmaps', 'default', { apiVersion: 'v1', kind: 'ConfigMap', ...meta('m'), data: { key: 'told' } } as never);
  directory('csi');
  directory('eph');
  device('raw');
  await claim('csi', { csi: { driver, volumeHandle: 'csi' } });
  await claim('local', { local: { path: directory('local') }, nodeAffinity });
  await claim('host', { hostPath: { path: directory('host'), type: 'Directory' } });
  await claim('raw', { csi: { driver, volumeHandle: 'raw' } }, { spec: { volumeMode: 'Block' } });
  const localDevice = device('local-raw');
  await claim('local-raw', { local: { path: localDevice }, nodeAffinity }, { spec: { volumeMode: 'Block' } });
  const claimed = (claimName: string) => ({ persistentVolumeClaim: { claimName } });
  const template = { spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } } };
  const kept = (volume: Omit<Volume, 'name'>, where: string): Kind => ({ volume, read: outside, takesWrites: true, kept: join(data, where) });
  const sources = [{ secret: { name: 's' } }, { serviceAccountToken: { path: 'token' } }, { downwardAPI: { items: [{ path: 'name', fieldRef: { fieldPath: 'metadata.name' } }] } }];
  return {
    'empty-dir': { volume: { emptyDir: {} }, read: own, takesWrites: true, kept: null },
    memory: { volume: { emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } }, read: own, takesWrites: true, kept: null },
    part: { volume: { emptyDir: {} }, read: own, takesWrites: true, kept: null, subPath: 'deep/part' },
    'host-path': kept({ hostPath: { path: directory('path'), type: 'Directory' } }, 'path'),
    'config-map': shown({ configMap: { name: 'm' } }, 'key', 'told'),
    secret: shown({ secret: { secretName: 's' } }, 'key', 'hidden'),
    'downward-api': shown({ downwardAPI: { items: [{ path: 'name', fieldRef: { fieldPath: 'metadata.name' } }] } }, 'name', 'downward-api'),
    projected: shown({ projected: { sources } }, 'name', 'projected'),
    csi: kept(claimed('csi'), 'csi'),
    'csi-part': { ...kept(claimed('csi'), 'csi/deep'), read: own, subPath: 'deep' },
    inline: { volume: { csi: { driver, volumeAttributes: { size: 'small' } } }, read: own, takesWrites: true, kept: null },
    ephemeral: kept({ ephemeral: { volumeClaimTemplate: template } }, 'eph'),
    local: kept(claimed('local'), 'local'),
    'host-claim': kept(claimed('host'), 'host'),
    'csi-device': { ...kept(claimed('raw'), 'raw.file'), isDevice: true },
    'local-device': { ...kept(claimed('local-raw'), 'local-raw.file'), isDevice: true },
  };
}

/** Writes, reads, and does both once more on request. */
function scriptOf({ read: [file], isDevice }: Kind): string {
  const read = isDevice === true ? 'read line < /dev/v; echo "$line"' : `cat /v/${file}`;
  const write = (name: string): string =>
    isDevice === true ? `{ echo from-inside-${name} > /dev/v && sync && echo yes || echo no; }` : `{ { echo from-inside > /v/${name}; } 2>/dev/null && echo yes || echo no; }`;
  const wait = 'trap "exit 0" TERM; while :; do sleep 0.1; [ -e /out/again ] && break; done';
  const stay = 'while :; do sleep 0.1; done';
  // A device is read before its one line is written over.
  const first = isDevice === true ? `{ ${read}; } > /out/read; ${write('first')} > /out/wrote` : `${write('first')} > /out/wrote; ${read} > /out/read`;
  return `${first}; touch /out/done; ${wait}; ${write('second')} > /out/wrote-again; { ${read}; } > /out/read-again; touch /out/done-again; ${stay}`;
}

async function make({ admin, containerd, claim }: VolumeStand, name: string, kind: Kind): Promise<void> {
  const { volume, isDevice, subPath } = kind;
  const out = { name: 'out', mountPath: '/out' };
  const mounts = isDevice === true ? [out] : [out, { name: 'v', mountPath: '/v', ...(subPath === undefined ? {} : { subPath }) }];
  const devices = isDevice === true ? { volumeDevices: [{ name: 'v', devicePath: '/dev/v' }] } : {};
  const containers = [scripted(containerd, 'main', scriptOf(kind), { volumeMounts: mounts, ...devices })];
  const spec = {
    nodeName,
    automountServiceAccountToken: false,
    containers,
    volumes: [
      { name: 'v', ...volume },
      { name: 'out', emptyDir: {} },
    ],
  };
  const pod = await admin.create('pods', 'default', manifest(name, spec) as Pod);
  if (volume.ephemeral !== undefined) await claim(`${name}-v`, { csi: { driver, volumeHandle: 'eph' } }, { owner: pod as Pod });
}

const outOf = ({ kubelet }: VolumeStand, { metadata: { uid = '' } }: Pod): string => join(kubelet.root, 'pods', uid, 'volumes/kubernetes.io~empty-dir/out');
const keptText = ({ kept, isDevice }: Kind, name: string): string => {
  if (kept === null) return '';
  return isDevice === true ? (readFileSync(kept, 'utf8').split('\n')[0] ?? '') : readFileSync(join(kept, name), 'utf8').trim();
};

async function check(t: Test, stand: VolumeStand, pod: Pod, name: string, kind: Kind, again: boolean): Promise<void> {
  const [suffix, file] = again ? ['-again', 'second'] : ['', 'first'];
  const out = outOf(stand, pod);
  await stand.kubelet.until(`${name} has done its work`, () => existsSync(join(out, `done${suffix}`)));
  const text = (what: string): string => readFileSync(join(out, what + suffix), 'utf8').trim();
  const [wanted, wrote] = [kind.isDevice === true && again ? 'from-inside-second' : kind.read[1], kind.takesWrites ? 'yes' : 'no'];
  t.strictSame(
    [name, text('read'), text('wrote')],
    [name, wanted, wrote],
    `${name} is read and ${kind.takesWrites ? 'written' : 'not written'} from inside${again ? ' again' : ''}`,
  );
  if (kind.kept !== null) t.equal(keptText(kind, file), kind.isDevice === true ? `from-inside-${file}` : 'from-inside', `${name}: the host has it`);
}

/** What is mounted below the pods' directories, by place; mounts of the runtime's are elsewhere. */
const mountedFor = ({ kubelet }: VolumeStand): string[] => mountsBelow(join(kubelet.root, 'pods')).sort();
const placesOf = (directory: string): string[] => (existsSync(directory) ? readdirSync(directory, { recursive: true }).map(String) : []);

async function afterRestart(t: Test, stand: VolumeStand, pods: ReadonlyMap<string, Pod>, kinds: Readonly<Record<string, Kind>>): Promise<void> {
  const { kubelet, admin, running } = stand;
  const before = mountedFor(stand);
  await kubelet.kill();
  await admin.patch('configmaps', 'default', 'm', { data: { key: 'told-anew' } });
  await admin.patch('secrets', 'default', 's', { stringData: { key: 'hidden-anew' } });
  await kubelet.start();
  await kubelet.until('what is shown follows the API', async () => {
    const text = async (name: string): Promise<string> => readFileSync(stand.inside(await running(name), '/v/key'), 'utf8');
    return (await text('config-map')) === 'told-anew' && (await text('secret')) === 'hidden-anew' && (await text('projected')) === 'hidden-anew';
  });
  for (const [name, pod] of pods) {
    writeFileSync(join(outOf(stand, pod), 'again'), '');
    const fresh = { 'config-map': 'told-anew', secret: 'hidden-anew' }[name];
    const kind = kinds[name] as Kind;
    await check(t, stand, pod, name, fresh === undefined ? kind : { ...kind, read: ['key', fresh] }, true);
    t.equal(idOf(await running(name)), idOf(pod), `${name} runs in the same container`);
  }
  t.strictSame(mountedFor(stand), before, 'each is mounted as often as before');
  for (let life = 2; life <= 10; life++) {
    await kubelet.kill();
    await admin.patch('configmaps', 'default', 'm', { data: { key: `life-${life}` } });
    await kubelet.start();
    const config = stand.inside(await running('config-map'), '/v/key');
    await kubelet.until(`agent ${life} has its volumes`, () => readFileSync(config, 'utf8') === `life-${life}`);
  }
  t.strictSame(mountedFor(stand), before, 'and so they are after ten agents');
}

async function goneMeanwhile(t: Test, stand: VolumeStand, pods: ReadonlyMap<string, Pod>, kinds: Readonly<Record<string, Kind>>): Promise<void> {
  const { kubelet, admin, pod } = stand;
  await kubelet.kill();
  // Some are asked to go, the others are gone at once: only disk and runtime know of them.
  for (const [i, name] of [...pods.keys()].entries()) await admin.remove('pods', 'default', name, i % 2 === 0 ? 0 : null);
  await kubelet.start();
  const directories = () => readdirSync(join(kubelet.root, 'pods'));
  await kubelet.until('all are gone', async () => (await Promise.all([...pods.keys()].map(pod))).every((one) => one === null));
  await kubelet.until(
    'no directory of a pod is left',
    () => directories().length === 0,
    180_000,
    () => JSON.stringify({ left: directories(), mounts: mountedFor(stand) }),
  );
  await kubelet.until(
    'nothing is mounted',
    () => mountsBelow(kubelet.root).length === 0,
    60_000,
    () => mountsBelow(kubelet.root).join(' '),
  );
  await kubelet.until('no loop device is held', () => loopsBelow(kubelet.root).length === 0);
  const plugins = join(kubelet.root, 'plugins');
  await kubelet.until(
    'nothing of the drivers’ is left',
    () => placesOf(plugins).every((path) => !/vol_data\.json$|globalmount$|local-volume\/mounts\/./.test(path)),
    60_000,
    () => placesOf(plugins).join(' '),
  );
  for (const [name, kind] of Object.entries(kinds)) {
    if (kind.kept !== null) t.equal(keptText(kind, 'second'), kind.isDevice === true ? 'from-inside-second' : 'from-inside', `${name}: what was written stays`);
  }
}

t.test('every kind of volume', { skip, timeout: 580_000 }, async (t) => {
  const stand = await volumeStand(t);
  const kinds = await kindsOf(stand);
  for (const [name, kind] of Object.entries(kinds)) await make(stand, name, kind);
  const pods = new Map<string, Pod>();
  for (const name of Object.keys(kinds)) pods.set(name, await stand.running(name));
  await t.test('is read and written from inside', async (t) => {
    for (const [name, pod] of pods) await check(t, stand, pod, name, kinds[name] as Kind, false);
  });
  await t.test('is known again by the next agent', { timeout: 400_000 }, (t) => afterRestart(t, stand, pods, kinds));
  await t.test('is cleaned up when its pod goes while no agent runs', { timeout: 300_000 }, (t) => goneMeanwhile(t, stand, pods, kinds));
});
