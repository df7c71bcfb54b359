// kill -9 of the agent at each of its steps on disk during the setup and the teardown of a pod's volumes, with the whole agent, a
// CSI driver and containers: the next agent has each volume mounted once and completely, or, if the pod was removed meanwhile, leaves nothing.
import { closeSync, existsSync, openSync, readdirSync, readFileSync, readSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { Pod } from '../../src/ports/model/pod.js';
import type { Volume } from '../../src/ports/model/volume.js';
import { idOf, manifest, nodeName, scripted } from './kubelet-process.js';
import { loopsBelow } from './leftovers.js';
import { skipWithoutContainerd } from './private-containerd.js';
import { driver, mountsBelow, nodeAffinity, type VolumeStand, volumeStand } from './volume-stand.js';

const skip = skipWithoutContainerd() || (existsSync('/dev/loop-control') ? false : 'the host has no loop devices');
const hook = new URL('./kill-at-step.js', import.meta.url).href;
const isNightly = process.env.KUBELET_TS_TIER === 'nightly';
/** A round mostly waits: in the nightly tier nodes with a containerd each take every third step, side by side, so that it is each step. */
const lanes = isNightly ? 3 : 1;
const strides = isNightly ? { setUp: lanes, tearDown: lanes } : { setUp: 41, tearDown: 23 };
/** Some 255 steps of setting up and 75 of taking down are known, one of the former each round of 5 s, or 15 s on a machine that does other things. */
const roundsMax = 600;
const timeout = isNightly ? 6_600_000 : 540_000;
t.setTimeout(timeout);

interface Stand extends VolumeStand {
  readonly armed: string;
}

const meta = (name: string) => ({ metadata: { name, namespace: 'default' } });

async function standOf(t: Test): Promise<Stand> {
  const stand = await volumeStand(t);
  const { admin, kubelet, containerd, claim, directory, device } = stand;
  await admin.create('secrets', 'default', { apiVersion: 'v1', kind: 'Secret', ...meta('s'), stringData: { key: 'hidden' } } as never);
  await admin.create('configmaps', 'default', { apiVersion: 'v1', kind: 'ConfigMap', ...meta('m'), data: { a: '1', b: '2' } } as never);
  directory('h1');
  device('raw');
  await claim('csi', { csi: { driver, volumeHandle: 'h1' } });
  await claim('local', { local: { path: directory('local') }, nodeAffinity });
  await claim('raw', { csi: { driver, volumeHandle: 'raw' } }, { spec: { volumeMode: 'Block' } });
  await claim('device', { local: { path: device('device') }, nodeAffinity }, { spec: { volumeMode: 'Block' } });
  await kubelet.kill();
  return { ...stand, armed: join(containerd.directory, 'armed') };
}

const volumes: readonly Volume[] = [
  { name: 'config', configMap: { name: 'm' } },
  { name: 'all', projected: { sources: [{ secret: { name: 's' } }, { downwardAPI: { items: [{ path: 'name', fieldRef: { fieldPath: 'metadata.name' } }] } }] } },
  { name: 'disk', emptyDir: {} },
  { name: 'memory', emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } },
  { name: 'csi', persistentVolumeClaim: { claimName: 'csi' } },
  { name: 'local', persistentVolumeClaim: { claimName: 'local' } },
  { name: 'inline', csi: { driver, volumeAttributes: { size: 'small' } } },
];
const devices: readonly Volume[] = ['raw', 'device'].map((name) => ({ name, persistentVolumeClaim: { claimName: name } }));
/** Below the pod's directory. */
const mounted = [
  'volumes/kubernetes.io~csi/inline/mount',
  'volumes/kubernetes.io~csi/pv-csi/mount',
  'volumes/kubernetes.io~empty-dir/memory',
  'volumes/kubernetes.io~local-volume/pv-local',
  'volumes/kubernetes.io~projected/all',
  'volume-subpaths/config/main/7',
  'volume-subpaths/disk/main/8',
  'volume-subpaths/pv-csi/main/9',
].sort();

async function make({ admin, containerd }: Stand, name: string): Promise<string> {
  const volumeMounts = [
    ...volumes.map((volume) => ({ name: volume.name, mountPath: `/${volume.name}` })),
    { name: 'config', mountPath: '/part/a', subPath: 'a' },
    { name: 'disk', mountPath: '/part/d', subPath: 'x/y' },
    { name: 'csi', mountPath: '/part/c', subPath: 'deep' },
  ];
  const volumeDevices = devices.map((volume) => ({ name: volume.name, devicePath: `/dev/${volume.name}` }));
  const containers = [scripted(containerd, 'main', 'trap "exit 0" TERM; while :; do sleep 0.1; done', { volumeMounts, volumeDevices })];
  const spec = { nodeName, automountServiceAccountToken: false, containers, volumes: [...volumes, ...devices], securityContext: { fsGroup: 4711 } };
  const { metadata } = await admin.create('pods', 'default', manifest(name, spec) as Pod);
  return metadata.uid ?? '';
}

function firstLine(device: string): string {
  const [fd, bytes] = [openSync(device, 'r'), Buffer.alloc(64)];
  try {
    readSync(fd, bytes, 0, bytes.length, 0);
  } finally {
    closeSync(fd);
  }
  return bytes.toString('utf8').split('\n')[0] ?? '';
}

/** A life of the agent that is killed at a step, counted from when it is armed. True: it was killed; false: its operation completed first. */
async function lifeUntil({ kubelet }: Stand, step: number, what: string, comesAbout: () => Promise<boolean>, begin: () => Promise<void>): Promise<boolean> {
  kubelet.environment.KILL_AT_STEP = String(step);
  kubelet.spawn();
  let dead = false;
  const ended = kubelet.ended().then(() => {
    dead = true;
  });
  try {
    await begin();
    await kubelet.until(what, async () => dead || (await comesAbout()));
  } finally {
    kubelet.environment.KILL_AT_STEP = '0';
  }
  const wasKilled = dead;
  if (!dead) await kubelet.kill();
  await ended;
  return wasKilled;
}

/** One pod: its set-up is killed at a step; then it is deleted at once, or runs whole, is deleted, and its end is killed at a step, too. */
async function round(t: Test, stand: Stand, setUpStep: number, tearDownStep: number, isKept: boolean): Promise<readonly [boolean, boolean]> {
  const { admin, kubelet, runtime, data, armed } = stand;
  const name = `p-${setUpStep}-${tearDownStep}`;
  const what = `killed at step ${setUpStep}, and at ${tearDownStep} of the end`;
  const uid = await make(stand, name);
  const directory = join(kubelet.root, 'pods', uid);
  const pod = async () => (await admin.get('pods', 'default', name)) as Pod | null;
  const isRunning = async () => (await pod())?.status?.containerStatuses?.[0]?.state?.running != null;
  const isGone = async () => (await pod()) === null && !existsSync(directory) && [...mountsBelow(kubelet.root), ...loopsBelow(kubelet.root)].length === 0;
  writeFileSync(armed, '');
  const inSetUp = await lifeUntil(stand, setUpStep, 'the pod runs', isRunning, async () => {});
  rmSync(armed);
  let inTearDown = false;
  if (!isKept) await admin.remove('pods', 'default', name);
  else {
    const remove = async () => {
      await kubelet.until('the pod runs whole', isRunning);
      const root = `/proc/${runtime.processes().get(idOf((await pod()) as Pod))}/root`;
      const read = (path: string) => readFileSync(join(root, path), 'utf8');
      t.strictSame(
        ['/config/a', '/config/b', '/all/key', '/all/name', '/part/a', '/csi/before', '/local/before'].map(read),
        ['1', '2', 'hidden', name, '1', 'from-outside\n', 'from-outside\n'],
        what,
      );
      const found = mountsBelow(directory).map((path) => path.slice(directory.length + 1));
      t.strictSame(found.sort(), mounted, `${what}: each is mounted once`);
      const ofNode = mountsBelow(join(kubelet.root, 'plugins'));
      t.strictSame([...new Set(ofNode)], ofNode, `${what}: on the node, too`);
      t.strictSame(
        devices.map(({ name }) => firstLine(join(root, 'dev', name))),
        ['from-outside', 'from-outside'],
        `${what}: the devices are there`,
      );
      t.equal(loopsBelow(kubelet.root).length, devices.length, `${what}: each is held once`);
      writeFileSync(join(root, 'disk/x/y/left'), 'x');
      writeFileSync(armed, '');
      await admin.remove('pods', 'default', name);
    };
    inTearDown = await lifeUntil(stand, tearDownStep, 'the pod is gone', isGone, remove);
    rmSync(armed);
  }
  await kubelet.start();
  await kubelet.until(`nothing is left of what was ${what}`, isGone, 60_000, () =>
    JSON.stringify({ mounts: mountsBelow(kubelet.root), loops: loopsBelow(kubelet.root), files: existsSync(directory) ? readdirSync(directory, { recursive: true }) : [] }),
  );
  t.strictSame(
    ['h1', 'local'].map((from) => readFileSync(join(data, from, 'before'), 'utf8')),
    ['from-outside\n', 'from-outside\n'],
    `${what}: no data is lost`,
  );
  await kubelet.kill();
  return [inSetUp, inTearDown];
}

/** @param lane which steps: the first ones are this one's, then every so many @returns the first steps that were not reached any more */
async function killAtSteps(t: Test, lane: number): Promise<readonly [number, number]> {
  const stand = await standOf(t);
  const { kubelet } = stand;
  Object.assign(kubelet.environment, { NODE_OPTIONS: `--import=${hook}`, KILL_BELOW: kubelet.root, KILL_ARMED: stand.armed, KILL_AT_STEP: '0' });
  let [setUp, tearDown] = [1 + lane, 1 + lane];
  let [more, moreOfTheEnd] = [true, true];
  for (let i = 0; more || moreOfTheEnd; i++) {
    if (i === roundsMax) throw new Error(`after ${roundsMax} rounds, at steps ${setUp} and ${tearDown}, there are still more`);
    const isKept = moreOfTheEnd && (i % 2 === 1 || !more);
    const [inSetUp, inTearDown] = await round(t, stand, setUp, tearDown, isKept);
    if (isNightly) t.comment(`node ${lane}: step ${setUp} of setting up${inSetUp ? '' : ' is none'}${isKept ? `, ${tearDown} of taking down${inTearDown ? '' : ' is none'}` : ''}`);
    more = inSetUp;
    if (inSetUp) setUp += strides.setUp;
    if (isKept) moreOfTheEnd = inTearDown;
    if (inTearDown) tearDown += strides.tearDown;
  }
  return [setUp, tearDown];
}

t.test('the agent is killed at each step of mounting and unmounting', { skip, timeout }, async (t) => {
  for (const [setUp, tearDown] of await Promise.all(Array.from({ length: lanes }, (_, lane) => killAtSteps(t, lane))))
    t.ok(setUp > 100 && tearDown > 30, `${setUp} steps of setting up, ${tearDown} of taking down`);
});
