// State files of a kubelet that ran, to the byte, and files that are damaged.
import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { type ContainerAllocateResponse, decodeAllocateResponse, encodeAllocateResponse } from '../../src/domain/checkpoints/allocate-response.js';
import { byUtf8, jsonText } from '../../src/domain/checkpoints/checkpoint-text.js';
import { readCpuCheckpoint, writeCpuCheckpoint } from '../../src/domain/checkpoints/cpu-checkpoint.js';
import { readDeviceCheckpoint, writeDeviceCheckpoint } from '../../src/domain/checkpoints/device-checkpoint.js';
import { readDraCheckpoint, writeDraCheckpoint } from '../../src/domain/checkpoints/dra-checkpoint.js';
import { readMemoryCheckpoint, writeMemoryCheckpoint } from '../../src/domain/checkpoints/memory-checkpoint.js';
import { readPodResourcesCheckpoint, writePodResourcesCheckpoint } from '../../src/domain/checkpoints/pod-resources-checkpoint.js';
import { readUserNamespace, writeUserNamespace } from '../../src/domain/checkpoints/small-state-files.js';
import { utf8Encode } from '../../src/domain/values/utf8.js';

/** What a Go kubelet left behind: name, content, and reading and writing it again. */
const recorded: readonly (readonly [string, string, (text: string) => string | null])[] = [
  ['cpu', '{"policyName":"none","defaultCpuSet":"","checksum":1353318690}', (text) => again(readCpuCheckpoint(text, new Map()), writeCpuCheckpoint)],
  ['memory', '{"policyName":"None","machineState":{},"checksum":4236770233}', (text) => again(readMemoryCheckpoint(text), writeMemoryCheckpoint)],
  [
    'devices',
    '{"Data":{"PodDeviceEntries":[{"PodUID":"bf52b2cd-b611-4e79-86b1-280b283185c3","ContainerName":"check","ResourceName":"nvidia.com/gpu",' +
      '"DeviceIDs":{"-1":["tegra"]},"AllocResp":"Ch8KFk5WSURJQV9WSVNJQkxFX0RFVklDRVMSBXRlZ3Jh"}],"RegisteredDevices":{"nvidia.com/gpu":["tegra"]}},"Checksum":3660592824}',
    (text) => again(readDeviceCheckpoint(text), writeDeviceCheckpoint),
  ],
  [
    'claims',
    '{"Data":"{\\"kind\\":\\"DRACheckpoint\\",\\"apiVersion\\":\\"checkpoint.dra.kubelet.k8s.io/v1\\",\\"ClaimInfoStateList\\":[]}","Checksum":2361995144}',
    (text) => again(readDraCheckpoint(text), writeDraCheckpoint),
  ],
  [
    'allocated resources',
    '{"data":"{\\"entries\\":{\\"6287591835d55682e8af25e213704261\\":{\\"ContainerResources\\":{\\"app\\":{\\"limits\\":{\\"cp' +
      'u\\":\\"200m\\",\\"memory\\":\\"64Mi\\"},\\"requests\\":{\\"cpu\\":\\"20m\\",\\"memory\\":\\"16Mi\\"}},\\"setup\\":{},\\"side\\":{}' +
      '},\\"PodLevelResources\\":null},\\"9adc80db125436ec50da5e7d3b3b9515\\":{\\"ContainerResources\\":{\\"pause\\":{\\"limit' +
      's\\":{\\"cpu\\":\\"10m\\",\\"memory\\":\\"10Mi\\"},\\"requests\\":{\\"cpu\\":\\"10m\\",\\"memory\\":\\"10Mi\\"}}},\\"PodLevelResou' +
      'rces\\":null},\\"dea50542a36d2eb675b92b558e397b4f\\":{\\"ContainerResources\\":{\\"bad\\":{},\\"live\\":{},\\"noimage\\":' +
      '{}},\\"PodLevelResources\\":null}}}","checksum":2585172970}',
    (text) => again(readPodResourcesCheckpoint(text), writePodResourcesCheckpoint),
  ],
];

function again<T>(read: { ok: true; value: T } | { ok: false; error: string }, write: (value: T) => { content: string }): string | null {
  return read.ok ? write(read.value).content : null;
}

t.test('files are read and written again to the byte, and nothing shorter or altered is accepted', async (t) => {
  for (const [name, text, rewrite] of recorded) {
    t.equal(rewrite(text), text, name);
    t.ok(
      [...text].every((_, length) => rewrite(text.slice(0, length)) === null),
      `${name}, cut off anywhere`,
    );
    t.equal(rewrite(text.replace(/\d(?=}$)/, (digit) => String((Number(digit) + 1) % 10))), null, 'another checksum');
  }
});

t.test('values of another type make a file unreadable, not the reader', async (t) => {
  for (const bad of [
    'null',
    '[]',
    '3',
    '{"policyName":3}',
    '{"entries":[]}',
    '{"entries":{"p":{"c":4}}}',
    '{"checksum":-1}',
    '{"machineState":{"0":[]}}',
    '{"Data":[]}',
    '{"Data":{"PodDeviceEntries":{}}}',
  ]) {
    for (const read of [(text: string) => readCpuCheckpoint(text, new Map()), readMemoryCheckpoint, readDeviceCheckpoint, readDraCheckpoint, readPodResourcesCheckpoint]) {
      t.doesNotThrow(() => read(bad), bad);
    }
    t.notOk(readDeviceCheckpoint(bad).ok, bad);
  }
  t.notOk(readUserNamespace('{"uidMappings":3}', 1).ok);
  t.strictSame(readUserNamespace('{}', 65_536), { ok: true, value: null });
  t.strictSame(readUserNamespace(writeUserNamespace(131_072, 65_536), 65_536), { ok: true, value: { hostId: 131_072, containerId: 0, length: 65_536 } });
});

t.test('the file of the oldest kubelets goes by container id', async (t) => {
  const text = '{"policyName":"none","defaultCpuSet":"1-3","entries":{"containerID1":"4-6","containerID2":"1-3"},"checksum":3680390589}';
  const containers = new Map([
    ['containerID1', { podUid: 'p', containerName: 'a' }],
    ['containerID2', { podUid: 'q', containerName: 'b' }],
  ]);
  const entries = new Map([
    ['p', new Map([['a', '4-6']])],
    ['q', new Map([['b', '1-3']])],
  ]);
  t.strictSame(readCpuCheckpoint(text, containers), { ok: true, value: { policyName: 'none', defaultCpuSet: '1-3', entries, podEntries: null } });
  const withPodEntries = writeCpuCheckpoint({ policyName: 'none', defaultCpuSet: '1-3', entries, podEntries: new Map([['pod', '4-6']]) }).content;
  t.ok(readCpuCheckpoint(withPodEntries, new Map(), true).ok);
  t.notOk(readCpuCheckpoint(withPodEntries, new Map()).ok, 'a file of the feature PodLevelResourceManagers without it');
  t.ok(readCpuCheckpoint(recorded[0]![1], new Map(), true).ok, 'and the other way round it is read');
});

const anyText = fc.string({ unit: 'grapheme', maxLength: 8 });
const anyMap = fc.uniqueArray(fc.tuple(anyText, anyText), { maxLength: 4, selector: ([key]) => key }).map((entries) => new Map([...entries].sort(([a], [b]) => byUtf8(a, b))));
const anyResponse: fc.Arbitrary<ContainerAllocateResponse> = fc.record(
  {
    envs: anyMap,
    mounts: fc.array(fc.record({ containerPath: anyText, hostPath: fc.string({ maxLength: 300 }), readOnly: fc.boolean() }, { noNullPrototype: true }), { maxLength: 3 }),
    devices: fc.array(fc.record({ containerPath: anyText, hostPath: anyText, permissions: fc.constantFrom('r', 'rw', 'mrw') }, { noNullPrototype: true }), { maxLength: 3 }),
    annotations: anyMap,
    cdiDevices: fc.array(anyText, { maxLength: 3 }),
  },
  { noNullPrototype: true },
);

t.test("a plugin's answer survives its bytes; other bytes never throw", async (t) => {
  t.doesNotThrow(() => {
    fc.assert(
      fc.property(anyResponse, (response) => assert.deepEqual(decodeAllocateResponse(encodeAllocateResponse(response)), response)),
      { numRuns: 300 },
    );
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => void decodeAllocateResponse(bytes)),
      { numRuns: 1000 },
    );
  });
  t.equal(decodeAllocateResponse(Uint8Array.of(10, 200)), null, 'a length beyond the end');
});

t.test('texts: order by bytes, escapes of the Go encoder', async (t) => {
  t.equal(jsonText('<a href="x">&\u2028\n'), '"\\u003ca href=\\"x\\"\\u003e\\u0026\\u2028\\n"');
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(anyText, anyText, (a, b) => {
        const [left, right] = [utf8Encode(a), utf8Encode(b)];
        const at = left.findIndex((byte, i) => byte !== right[i]);
        const expected = at < 0 ? left.length - right.length : (left[at] ?? -1) - (right[at] ?? -1);
        assert.equal(Math.sign(byUtf8(a, b)), Math.sign(expected));
      }),
      { numRuns: 500 },
    ),
  );
});
