// State files that a host which lost power, a full disk or a person has damaged: empty, blank, cut off at each byte, zeros, other JSON. What each leads to
// is decided: it is refused with an error that says why, or counts as absent; it is never taken for something that was not written.
import t from 'tap';
import { newSetAside } from '../../src/domain/agent/set-aside/set-aside-state.js';
import { readCpuCheckpoint, writeCpuCheckpoint } from '../../src/domain/checkpoints/cpu-checkpoint.js';
import { readDeviceCheckpoint } from '../../src/domain/checkpoints/device-checkpoint.js';
import { readDraCheckpoint } from '../../src/domain/checkpoints/dra-checkpoint.js';
import { readMemoryCheckpoint } from '../../src/domain/checkpoints/memory-checkpoint.js';
import { readObservedTimes, writeObservedPod, writeObservedTimes } from '../../src/domain/checkpoints/observed-times.js';
import { readPodResourcesCheckpoint, writePodResourcesCheckpoint } from '../../src/domain/checkpoints/pod-resources-checkpoint.js';
import {
  parseShutdownState,
  readUserNamespace,
  writeCsiVolumeData,
  writePulledRecord,
  writePullIntent,
  writeShutdownState,
  writeUserNamespace,
} from '../../src/domain/checkpoints/small-state-files.js';
import { readPulledRecord, readPullIntent } from '../../src/domain/images/pull-record-text.js';
import { canonicalJson } from '../../src/domain/kernel/canonical.js';
import { releaseState } from '../../src/domain/volume-manager/volume-waiting.js';
import { reconstructCsiVolume } from '../../src/domain/volumes/csi-volume-data.js';
import { Manager } from './volume-manager-run.js';

type Outcome = { readonly kind: 'refused'; readonly error: string } | { readonly kind: 'absent' } | { readonly kind: 'read'; readonly value: unknown };

const ofRead = (read: { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly error: string }): Outcome =>
  read.ok ? { kind: 'read', value: read.value } : { kind: 'refused', error: read.error };
const orAbsent = (value: unknown): Outcome => (value === null ? { kind: 'absent' } : { kind: 'read', value });

interface Row {
  readonly name: string;
  readonly text: string;
  readonly read: (text: string) => Outcome;
  /** What damaged content leads to, as documented. */
  readonly decided: 'refused' | 'absent';
  readonly why: string;
}

const cpu = writeCpuCheckpoint({ policyName: 'static', defaultCpuSet: '0-3', entries: new Map([['a', new Map([['c', '4-5']])]]), podEntries: null }).content;
const refusesStart = 'the start is refused with the advice to drain the node and remove the file, as by the Go kubelet: what containers have would be given away again';
const rows: readonly Row[] = [
  { name: 'cpu_manager_state', text: cpu, read: (text) => ofRead(readCpuCheckpoint(text, new Map())), decided: 'refused', why: refusesStart },
  {
    name: 'memory_manager_state',
    text: '{"policyName":"None","machineState":{},"checksum":4236770233}',
    read: (text) => ofRead(readMemoryCheckpoint(text)),
    decided: 'refused',
    why: refusesStart,
  },
  {
    name: 'observed_times_state',
    text: writeObservedTimes(
      'b',
      9,
      new Map([['u', writeObservedPod({ start: { startTime: '2026-01-01T00:00:00Z', at: 5 }, containers: new Map([['c', { createdAt: 5, startedAt: 6, endedAt: null }]]) })]]),
    ),
    read: (text) => ofRead(readObservedTimes(text, 'b', 10)),
    decided: 'refused',
    why: 'the timestamps count, with a line',
  },
  {
    name: 'kubelet_internal_checkpoint',
    text:
      '{"Data":{"PodDeviceEntries":[{"PodUID":"bf52b2cd-b611-4e79-86b1-280b283185c3","ContainerName":"check","ResourceName":"nvidia.com/gpu",' +
      '"DeviceIDs":{"-1":["tegra"]},"AllocResp":"Ch8KFk5WSURJQV9WSVNJQkxFX0RFVklDRVMSBXRlZ3Jh"}],"RegisteredDevices":{"nvidia.com/gpu":["tegra"]}},"Checksum":3660592824}',
    read: (text) => ofRead(readDeviceCheckpoint(text)),
    decided: 'refused',
    why: 'the file is given up with a line, as by the Go kubelet',
  },
  {
    name: 'dra_manager_state',
    text: '{"Data":"{\\"kind\\":\\"DRACheckpoint\\",\\"apiVersion\\":\\"checkpoint.dra.kubelet.k8s.io/v1\\",\\"ClaimInfoStateList\\":[]}","Checksum":2361995144}',
    read: (text) => ofRead(readDraCheckpoint(text)),
    decided: 'refused',
    why: 'the start is refused, as by the Go kubelet: prepared claims would never be unprepared',
  },
  {
    name: 'allocated_pods_state, actuated_pods_state',
    text: writePodResourcesCheckpoint(new Map()).content,
    read: (text) => ofRead(readPodResourcesCheckpoint(text)),
    decided: 'refused',
    why: refusesStart,
  },
  {
    name: 'graceful_node_shutdown_state',
    text: writeShutdownState('2026-01-02T03:04:05Z', ''),
    read: (text) => ofRead(parseShutdownState(text)),
    decided: 'refused',
    why: 'only metrics are without it; the log says so',
  },
  {
    name: 'userns',
    text: writeUserNamespace(65536, 65536),
    read: (text) => ofRead(readUserNamespace(text, 65536)),
    decided: 'refused',
    why: 'a sandbox that runs keeps its ids; no pod gets new ones meanwhile',
  },
  {
    name: 'image_manager/pulling',
    text: writePullIntent('busybox'),
    read: (text) => orAbsent(readPullIntent(text)),
    decided: 'absent',
    why: 'the image is pulled when a pod needs it',
  },
  {
    name: 'image_manager/pulled',
    text: writePulledRecord({ lastUpdatedTime: '2026-01-02T03:04:05Z', imageRef: 'sha256:1', credentialMapping: new Map() }),
    read: (text) => orAbsent(readPulledRecord(text)),
    decided: 'absent',
    why: 'the image is verified by another pull',
  },
  {
    name: 'vol_data.json',
    text: writeCsiVolumeData({ driverName: 'csi.example.com', nodeName: 'n', specVolID: 'pv', volumeHandle: 'h', attachmentID: 'a', volumeLifecycleMode: 'Persistent' }),
    read: (text) => {
      const read = reconstructCsiVolume(text, '/d');
      return read.ok ? { kind: 'read', value: read.volume } : { kind: 'refused', error: read.message };
    },
    decided: 'refused',
    why: 'as a directory without the file: it is removed unless something is mounted there',
  },
];

/** Beginnings of the text, and what is no beginning of it. */
function damaged(text: string): string[] {
  const cuts = Array.from({ length: text.trimEnd().length }, (_, i) => text.slice(0, i));
  return [
    ...cuts,
    ' ',
    '\n',
    '\0'.repeat(text.length),
    `${text.slice(0, 20)}${'\0'.repeat(text.length)}`,
    '[]',
    '"x"',
    '7',
    'true',
    '{',
    '\uFFFD\uFFFD',
    `${text}${text}`,
    `${text.trimEnd()}}`,
  ];
}

for (const { name, text, read, decided, why } of rows) {
  t.test(`${name}: ${why}`, async (t) => {
    const whole = read(text);
    t.equal(whole.kind, 'read', canonicalJson(whole));
    const wrong = damaged(text).filter((content) => {
      const outcome = read(content);
      return outcome.kind !== decided || (outcome.kind === 'refused' && outcome.error === '');
    });
    t.strictSame(wrong, [], 'content that is taken for something');
  });
}

t.test('which pods are well again: what can not be read forgives nothing', async (t) => {
  for (const text of damaged('{"forgiven":["a"]}\n').filter((one) => one !== '{"forgiven":["a"]}')) t.strictSame([...newSetAside({ ends: [], forgiven: text }).forgiven], [], text);
});

t.test('a CSI volume whose data says nothing is taken down as one without data, and no driver is called', async (t) => {
  const text = '{"driverName":"csi.example.com","specVolID":"v","volumeHandle":"h","volumeLifecycleMode":"Persistent"}\n';
  for (const data of [null, ...damaged(text), '{}', 'null', '{"driverName":""}', '{"driverName":7}']) {
    const manager = new Manager();
    manager.left.push({ plugin: 'kubernetes.io~csi', volume: 'v', data });
    manager.release('a');
    manager.run.pass(1_000_000);
    t.strictSame(releaseState(manager.state, 'a', 0), { kind: 'mounted' }, `nothing is left: ${JSON.stringify(data)}`);
    t.notOk(
      manager.run.asked.some((op) => op.startsWith('csiNode.')),
      'no driver is called',
    );
    const lines = manager.run.log.filter((line) => line.includes('vol_data.json'));
    t.equal(lines.length, data === null ? 0 : 1, 'and it is logged once');
  }
});

t.test('a raw block volume whose data says nothing is unmapped, and no driver is called; a link without data is foreign', async (t) => {
  for (const data of ['', '{', '\0\0', '{}', null]) {
    const manager = new Manager();
    manager.left.push({ plugin: 'kubernetes.io~csi', volume: 'v', data, isDevice: true });
    manager.release('a');
    manager.run.pass(1_000_000);
    t.equal(releaseState(manager.state, 'a', 0).kind, data === null ? 'failed' : 'mounted', JSON.stringify(data));
    t.notOk(
      manager.run.asked.some((op) => op.startsWith('csiNode.')),
      'no driver is called',
    );
    t.equal(manager.run.asked.includes('blockDevices.unmap'), data !== null);
  }
});
