// Pod sources without any I/O: manifests to pods, lists to deliveries, the file and the URL source with their traps.
import fc from 'fast-check';
import t from 'tap';
import { decodeManifest } from '../../src/domain/pod-sources/decode-manifest.js';
import { podsOfManifest } from '../../src/domain/pod-sources/manifest-pods.js';
import { areAllSourcesReady, markHandled, mergeSet, newPodConfig, type PodDelivery } from '../../src/domain/pod-sources/pod-config.js';
import { configSeenAnnotation, isEqualJson } from '../../src/domain/pod-sources/pod-difference.js';
import { configSourceAnnotation } from '../../src/domain/values/pod-kind.js';
import type { Pod } from '../../src/ports/model/pod.js';
import { FileSourceRun } from './file-source-harness.js';
import { document, MemoryManifests, podValue, portError } from './manifest-samples.js';

const nodeName = 'node-a';
const inFile = { nodeName, preventApiReferences: true, origin: { kind: 'file', path: '/m/web.yaml' } } as const;
const overHttp = { nodeName, preventApiReferences: true, origin: { kind: 'http', url: 'http://conf/' } } as const;
const container = (fields: object): Record<string, unknown> => ({ containers: [{ name: 'c', image: 'nginx:1', ...fields }] });

function decoded(value: unknown, context: Parameters<typeof decodeManifest>[1] = inFile): Pod {
  const result = decodeManifest(value, context);
  if (!result.ok) throw new Error(result.rejection.message);
  return result.pods[0] as Pod;
}

function rejection(value: unknown): string {
  const result = podsOfManifest(document(value), inFile);
  return result.kind === 'rejected' ? result.message : `${result.kind}`;
}

t.test('a manifest that can not be used is one line that names the field', async (t) => {
  const rows: readonly (readonly [what: string, value: unknown, line: string | RegExp])[] = [
    ['nothing', null, 'invalid pod: the document is empty'],
    ['a list', [1], 'invalid pod: the document is not an object'],
    ['no kind', { apiVersion: 'v1' }, 'invalid pod: kind is missing'],
    ['no version', { kind: 'Pod' }, 'invalid pod: apiVersion is missing'],
    ['another kind', { apiVersion: 'v1', kind: 'Service' }, 'invalid pod: kind "Service" of version "v1" is not a v1 Pod'],
    ['no name', podValue(''), 'invalid pod: name is needed for the pod'],
    ['a number as text', podValue('a', { terminationGracePeriodSeconds: '5' }), 'invalid pod: spec.terminationGracePeriodSeconds: expected an integer, got the string "5"'],
    ['a boolean as text', podValue('a', container({ env: [{ name: 'A', value: true }] })), 'invalid pod: spec.containers[0].env[0].value: expected a string, got the boolean true'],
    ['a fraction', podValue('a', { priority: 1.5 }), 'invalid pod: spec.priority: expected an integer, got the number 1.5'],
    ['an int32 that is none', podValue('a', { priority: 2 ** 31 }), 'invalid pod: spec.priority: 2147483648 does not fit an int32'],
    ['an int64 that is none', podValue('a', { activeDeadlineSeconds: 2n ** 63n }), 'invalid pod: spec.activeDeadlineSeconds: 9223372036854775808 does not fit an int64'],
    ['an object for a list', podValue('a', { containers: {} }), 'invalid pod: spec.containers: expected a list, got an object'],
    ['a list for an object', podValue('a', { securityContext: [] }), 'invalid pod: spec.securityContext: expected an object, got a list'],
    [
      'a bad quantity',
      podValue('a', container({ resources: { limits: { cpu: '1 Gi' } } })),
      /^invalid pod: spec\.containers\[0\]\.resources\.limits\[cpu\]: "1 Gi": quantities must match/,
    ],
    ['a bad time', podValue('a', {}, { deletionTimestamp: 'soon' }), 'invalid pod: metadata.deletionTimestamp: expected an RFC 3339 time, got the string "soon"'],
    ['a name that is none', podValue('Web_1'), /^invalid pod: metadata\.name: Invalid value: "Web_1-node-a": a lowercase RFC 1123 subdomain must/],
    [
      'two problems',
      podValue('a', { restartPolicy: 'never', dnsPolicy: 'x' }),
      /^invalid pod: \[spec\.restartPolicy: Unsupported value: "never": supported values: "Always".*, spec\.dnsPolicy: /,
    ],
    ['a line break in a value', podValue('a', { restartPolicy: 'a\nb' }), /^invalid pod: spec\.restartPolicy: Unsupported value: "a\\nb"/],
  ];
  for (const [what, value, line] of rows) {
    const got = rejection(value);
    if (typeof line === 'string') t.equal(got, line, what);
    else t.match(got, line, what);
    t.notMatch(got, /\n/, `${what}: one line`);
  }
  const odd = podsOfManifest(document({ ...podValue('a', { shape: 'round' }, { colour: 'red' }), extra: 1 }), inFile);
  t.strictSame(odd.kind === 'pods' ? odd.notes : odd, ['unknown fields are ignored: extra, metadata.colour, spec.shape'], 'unknown fields are told');
});

t.test('validation beyond the vectors', async (t) => {
  const fields = (spec: Record<string, unknown>, metadata: Record<string, unknown> = {}): string[] => {
    const result = decodeManifest(podValue('a', spec, metadata), inFile);
    if (result.ok) return [];
    return result.rejection.kind === 'invalid' ? result.rejection.problems.map(({ field, type }) => `${field} ${type.slice('FieldValue'.length)}`) : [result.rejection.message];
  };
  const volumes = (volume: object): Record<string, unknown> => ({ volumes: [{ name: 'v', ...volume }] });
  const rows: readonly (readonly [what: string, spec: Record<string, unknown>, fields: readonly string[]])[] = [
    ['a good pod', {}, []],
    ['probe without handler', container({ livenessProbe: { periodSeconds: 3 } }), ['spec.containers[0].livenessProbe Required']],
    ['probe with two', container({ livenessProbe: { exec: { command: ['a'] }, tcpSocket: { port: 1 } } }), ['spec.containers[0].livenessProbe.tcpSocket Forbidden']],
    ['liveness success threshold', container({ livenessProbe: { tcpSocket: { port: 1 }, successThreshold: 2 } }), ['spec.containers[0].livenessProbe.successThreshold Invalid']],
    ['readiness success threshold', container({ readinessProbe: { tcpSocket: { port: 1 }, successThreshold: 2 } }), []],
    [
      'readiness grace',
      container({ readinessProbe: { tcpSocket: { port: 1 }, terminationGracePeriodSeconds: 1 } }),
      ['spec.containers[0].readinessProbe.terminationGracePeriodSeconds Invalid'],
    ],
    ['port 0 of a probe', container({ livenessProbe: { httpGet: { port: 0 } } }), ['spec.containers[0].livenessProbe.httpGet.port Invalid']],
    ['scheme', container({ livenessProbe: { httpGet: { port: 1, scheme: 'http' } } }), ['spec.containers[0].livenessProbe.httpGet.scheme NotSupported']],
    ['hook sleep', container({ lifecycle: { preStop: { sleep: { seconds: 5 } } } }), []],
    [
      'no such downward field',
      container({ env: [{ name: 'A', valueFrom: { fieldRef: { fieldPath: 'metadata.labels' } } }] }),
      ['spec.containers[0].env[0].valueFrom.fieldRef.fieldPath NotSupported'],
    ],
    ['label by key', container({ env: [{ name: 'A', valueFrom: { fieldRef: { fieldPath: "metadata.labels['a/b']" } } }] }), []],
    [
      'value and valueFrom',
      container({ env: [{ name: 'A', value: 'x', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }] }),
      ['spec.containers[0].env[0].valueFrom Invalid'],
    ],
    ['env name', container({ env: [{ name: 'a=b' }] }), ['spec.containers[0].env[0].name Invalid']],
    ['unknown resource', container({ resources: { limits: { gpu: 1 } } }), ['spec.containers[0].resources.limits[gpu] Invalid', 'spec.containers[0].resources.requests[gpu] Invalid']],
    ['negative amount', container({ resources: { requests: { cpu: '-1' } } }), ['spec.containers[0].resources.requests[cpu] Invalid']],
    ['extended without limit', container({ resources: { requests: { 'a.b/c': 1 } } }), ['spec.containers[0].resources.limits Required']],
    [
      'extended, half',
      container({ resources: { limits: { 'a.b/c': '500m' } } }),
      ['spec.containers[0].resources.limits[a.b/c] Invalid', 'spec.containers[0].resources.requests[a.b/c] Invalid'],
    ],
    ['huge pages alone', container({ resources: { limits: { 'hugepages-2Mi': '4Mi' } } }), ['spec.containers[0].resources Forbidden']],
    ['huge pages with memory', container({ resources: { limits: { 'hugepages-2Mi': '4Mi', memory: '1Gi' } } }), []],
    [
      'mount path twice',
      {
        ...volumes({ emptyDir: {} }),
        ...container({
          volumeMounts: [
            { name: 'v', mountPath: '/a' },
            { name: 'v', mountPath: '/a' },
          ],
        }),
      },
      ['spec.containers[0].volumeMounts[1].mountPath Invalid'],
    ],
    [
      'sub path that leaves',
      { ...volumes({ emptyDir: {} }), ...container({ volumeMounts: [{ name: 'v', mountPath: '/a', subPath: '../b' }] }) },
      ['spec.containers[0].volumeMounts[0].subPath Invalid'],
    ],
    ['two volume types', volumes({ emptyDir: {}, hostPath: { path: '/a' } }), ['spec.volumes[0].emptyDir Forbidden']],
    ['host path with ..', volumes({ hostPath: { path: '/a/../b' } }), ['spec.volumes[0].hostPath.path Invalid']],
    ['host path type', volumes({ hostPath: { path: '/a', type: 'Dir' } }), ['spec.volumes[0].hostPath.type NotSupported']],
    ['nfs path', volumes({ nfs: { server: 's', path: 'p' } }), ['spec.volumes[0].nfs.path Invalid']],
    ['mode', volumes({ downwardAPI: { defaultMode: 0o1000 } }), ['spec.volumes[0].downwardAPI.defaultMode Invalid']],
    [
      'downward item',
      volumes({ downwardAPI: { items: [{ path: 'a', resourceFieldRef: { resource: 'limits.cpu' } }] } }),
      ['spec.volumes[0].downwardAPI.items[0].resourceFieldRef.containerName Required'],
    ],
    ['negative size limit', volumes({ emptyDir: { sizeLimit: '-1' } }), ['spec.volumes[0].emptyDir.sizeLimit Forbidden']],
    [
      'container names',
      {
        containers: [
          { name: 'c', image: 'i' },
          { name: 'c', image: 'i' },
        ],
      },
      ['spec.containers[1].name Duplicate'],
    ],
    ['init of the same name', { ...container({}), initContainers: [{ name: 'c', image: 'i' }] }, ['spec.initContainers[0].name Duplicate']],
    ['white space in image', container({ image: ' nginx' }), ['spec.containers[0].image Invalid']],
    [
      'host port twice',
      container({
        ports: [
          { containerPort: 1, hostPort: 5 },
          { containerPort: 2, hostPort: 5 },
        ],
      }),
      ['spec.containers[0].ports[1].hostPort Duplicate'],
    ],
    [
      'host port on other ip',
      container({
        ports: [
          { containerPort: 1, hostPort: 5 },
          { containerPort: 2, hostPort: 5, hostIP: '10.0.0.1' },
        ],
      }),
      [],
    ],
    ['toleration seconds', { tolerations: [{ key: 'a', operator: 'Exists', effect: 'NoSchedule', tolerationSeconds: 1 }] }, ['spec.tolerations[0].effect Invalid']],
    ['empty key', { tolerations: [{ operator: 'Equal', value: 'x' }] }, ['spec.tolerations[0].operator Invalid']],
    [
      'no affinity terms',
      { affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: {} } } },
      ['spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms Required'],
    ],
    ['deadline', { activeDeadlineSeconds: 0 }, ['spec.activeDeadlineSeconds Invalid']],
    ['name servers', { dnsPolicy: 'None', dnsConfig: { searches: ['a_b.c.'] } }, ['spec.dnsConfig.nameservers Required']],
    ['host users', { hostUsers: false, hostPID: true }, ['spec.hostPID Forbidden']],
    ['shared pid', { shareProcessNamespace: true, hostPID: true }, ['spec.shareProcessNamespace Invalid']],
    ['privilege', container({ securityContext: { privileged: true, allowPrivilegeEscalation: false } }), ['spec.containers[0].securityContext Invalid']],
    ['restart rules', container({ restartPolicy: 'Never', restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'In', values: [1] } }] }), []],
    [
      'restart rules without policy',
      container({ restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'In', values: [1] } }] }),
      ['spec.containers[0].restartPolicy Required'],
    ],
    ['gates', { schedulingGates: [{ name: 'a' }] }, ['spec.nodeName Forbidden']],
  ];
  for (const [what, spec, want] of rows) t.strictSame(fields(spec), want, what);
  t.strictSame(fields({}, { annotations: { a: 'x'.repeat(300_000) } }), ['metadata.annotations TooLong']);
});

t.test('defaults beyond the vectors', async (t) => {
  const pod = decoded(
    podValue('a', {
      containers: [{ name: 'c', image: 'Bad Image', resources: { limits: { cpu: '100u', memory: 1e9 } } }],
      resources: { limits: { cpu: 2, memory: '2Gi' } },
      volumes: [{ name: 'd', azureDisk: { diskName: 'n', diskURI: 'u' } }],
      automountServiceAccountToken: false,
    }),
  );
  const [only] = pod.spec.containers;
  t.equal(only?.imagePullPolicy, 'IfNotPresent', 'a text that is no image reference has no latest tag');
  t.strictSame(only?.resources?.requests, { cpu: '1m', memory: '1G' }, 'amounts are rounded up to thousandths');
  t.strictSame(pod.spec.resources?.requests, { cpu: '1m', memory: '1G' }, 'pod requests default to what the containers ask for');
  t.strictSame(pod.spec.volumes?.[0]?.azureDisk, { diskName: 'n', diskURI: 'u', cachingMode: 'ReadWrite', kind: 'Shared', fsType: 'ext4', readOnly: false });
  t.equal(pod.spec.automountServiceAccountToken, false, 'false of a field that tells unset from false stays');
});

t.test('generated uids', async (t) => {
  const uid = (value: unknown, context: Parameters<typeof decodeManifest>[1] = inFile): string | undefined => decoded(value, context).metadata.uid;
  const base = uid(podValue('a'));
  t.match(base, /^[0-9a-f]{32}$/);
  t.equal(uid(podValue('a')), base, 'stable');
  t.equal(uid({ spec: podValue('a').spec, kind: 'Pod', metadata: { name: 'a' }, apiVersion: 'v1' }), base, 'the order of fields does not matter');
  t.equal(uid({ ...podValue('a'), comment: 1 }), base, 'nor do unknown fields');
  t.equal(uid(podValue('a', { restartPolicy: 'Always' })), base, 'nor a default that is written out');
  const others = [
    uid(podValue('b')),
    uid(podValue('a', { priority: 1 })),
    uid(podValue('a'), { ...inFile, origin: { kind: 'file', path: '/m/other.yaml' } }),
    uid(podValue('a'), { ...inFile, nodeName: 'node-b' }),
    uid(podValue('a'), overHttp),
  ];
  t.equal(new Set([base, ...others]).size, 6, 'content, path, node and kind of source do');
  t.equal(uid(podValue('a'), { ...overHttp, nodeName: 'node-b' }), uid(podValue('a'), overHttp), 'the node takes no part for a URL');
  t.equal(uid(podValue('a', {}, { uid: 'mine' })), 'mine');
});

t.test('without PreventStaticPodAPIReferences only what can not work is refused', async (t) => {
  const loose = { ...inFile, preventApiReferences: false };
  const message = (spec: Record<string, unknown>): string => {
    const result = decodeManifest(podValue('a', spec), loose);
    return result.ok ? 'ok' : result.rejection.message;
  };
  t.equal(message({ imagePullSecrets: [{ name: 's' }], volumes: [{ name: 'v', secret: { secretName: 's' } }] }), 'ok');
  t.equal(message({ resourceClaims: [{ name: 'r', resourceClaimName: 'x' }] }), 'static pods may not use ResourceClaims');
  t.equal(
    message({ volumes: [{ name: 'v', projected: { sources: [{ clusterTrustBundle: { name: 'n', path: 'p' } }] } }] }),
    'static pods may not use ClusterTrustBundle projected volume sources',
  );
});

const podArbitrary = fc
  .record({
    uid: fc.constantFrom('1', '2', '3', '4'),
    name: fc.constantFrom('a', 'b', 'c'),
    image: fc.constantFrom('x', 'y'),
    phase: fc.constantFrom('Pending', 'Running'),
    deleted: fc.boolean(),
  })
  .map(({ uid, name, image, phase, deleted }): Pod => {
    const metadata = { name, namespace: 'n', uid, ...(deleted ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}) };
    return { metadata, spec: { containers: [{ name: 'c', image }] }, status: { phase: phase as 'Pending' } };
  });

t.test('merge: what is delivered, applied in order, is what the source has', async (t) => {
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(fc.array(fc.array(podArbitrary, { maxLength: 4 }), { maxLength: 8 }), (lists) => {
        const state = newPodConfig(['api']);
        const applied = new Map<string, Pod>();
        for (const [i, list] of lists.entries()) {
          const { deliveries } = mergeSet(state, 'api', list, i);
          for (const delivery of deliveries) apply(applied, delivery);
          const names = [...applied.values()].map((pod) => pod.metadata.name);
          if (new Set(names).size !== names.length) return false;
          for (const pod of applied.values()) {
            const source = list.find(({ metadata }) => metadata.uid === pod.metadata.uid && metadata.name === pod.metadata.name);
            if (source === undefined || !isEqualJson(source.spec, pod.spec) || source.status?.phase !== pod.status?.phase) return false;
            if (pod.metadata.annotations?.[configSourceAnnotation] !== 'api' || pod.metadata.annotations[configSeenAnnotation] === undefined) return false;
          }
          // The same list again changes nothing, whether it is the same objects or equal ones.
          if (mergeSet(state, 'api', list, i).deliveries.length + mergeSet(state, 'api', structuredClone(list), i).deliveries.length > 0) return false;
        }
        return true;
      }),
      { numRuns: 300 },
    ),
  );
});

/** As the pod manager does: by name and by uid; an operation that doesn't fit its state is a failure. */
function apply(applied: Map<string, Pod>, { op, pods }: PodDelivery): void {
  for (const pod of pods) {
    const uid = pod.metadata.uid ?? '';
    if ((op === 'ADD') === applied.has(uid)) throw new Error(`${op} of ${uid} does not fit`);
    if (op === 'REMOVE') applied.delete(uid);
    else applied.set(uid, pod);
  }
}

t.test('two pods with one uid: the first is taken', async (t) => {
  const pod = (name: string): Pod => ({ metadata: { name, namespace: 'n', uid: '1' }, spec: { containers: [] } });
  const { deliveries, events } = mergeSet(newPodConfig(['file']), 'file', [pod('a'), pod('b')], 0);
  t.strictSame(
    deliveries.map(({ op, pods }) => [op, pods.map((p) => p.metadata.name)]),
    [['ADD', ['a']]],
  );
  t.strictSame(
    events.map((event) => event.message),
    ['Error validating pod b_n(1) from file due to duplicate pod uid "1", ignoring'],
  );
});

t.test('sources are ready when each has sent a list and had something handled', async (t) => {
  const state = newPodConfig(['api', 'file']);
  t.equal(areAllSourcesReady(newPodConfig([])), true, 'no source, nothing to wait for');
  mergeSet(state, 'api', [], 0);
  t.equal(areAllSourcesReady(state), false, 'sent, not handled');
  markHandled(state, 'api');
  t.equal(areAllSourcesReady(state), false, 'the file source is silent');
  mergeSet(state, 'file', [], 0);
  markHandled(state, 'file');
  t.equal(areAllSourcesReady(state), true);
});

t.test('KB001: a manifest that is taken away and put back unchanged is the same pod again', async (t) => {
  const manifests = new MemoryManifests('/m');
  const content = document(podValue('a'));
  manifests.put('a.yaml', content);
  const run = await new FileSourceRun({ path: '/m' }, manifests).start();
  const config = newPodConfig(['file']);
  const ops = (): string[] =>
    run.sets.splice(0).flatMap((set) => mergeSet(config, 'file', set, run.now).deliveries.map(({ op, pods }) => `${op} ${pods.map((pod) => pod.metadata.uid)}`));
  const [first] = ops();
  t.match(first, /^ADD [0-9a-f]{32}$/);
  const uid = first?.slice(4);
  await run.saw(manifests.remove('a.yaml'));
  t.strictSame(ops(), [`REMOVE ${uid}`]);
  await run.saw(manifests.put('a.yaml', structuredClone(content)));
  t.strictSame(ops(), [`ADD ${uid}`], 'under the same uid');
  await run.saw(manifests.remove('a.yaml'), manifests.put('a.yaml', structuredClone(content)));
  t.strictSame(ops(), [], 'within one batch nothing has happened');
});

t.test('KB008: an editor that saves by renaming leaves the final content, and a half-written file removes nothing', async (t) => {
  const manifests = new MemoryManifests('/m');
  manifests.put('p.yaml', document(podValue('p', { priority: 1 })));
  const run = await new FileSourceRun({ path: '/m' }, manifests).start();
  const priorities = (): (number | undefined)[] => (run.sets.at(-1) ?? []).map((pod) => pod.spec.priority);
  t.strictSame(priorities(), [1]);
  await run.saw(manifests.put('.p.yaml.swp', { kind: 'unreadable', message: 'a binary file' }));
  t.equal(run.asked.includes('readFile .p.yaml.swp'), false, 'dot files are not even read');
  await run.saw(manifests.put('p.yaml~', document(podValue('p', { priority: 1 }))), manifests.remove('p.yaml'));
  await run.saw(manifests.put('p.yaml', document(podValue('p', { priority: 2 }))), manifests.remove('p.yaml~'), manifests.remove('.p.yaml.swp'));
  t.strictSame(priorities(), [2], 'the final content, with no listing needed');
  const sets = run.sets.length;
  await run.saw(manifests.put('p.yaml', { kind: 'unreadable', message: 'unexpected end of the stream' }));
  t.equal(run.sets.length, sets, 'the first half changes nothing');
  t.match(run.log.at(-1), /can't process config file "\/m\/p\.yaml": \/m\/p\.yaml: couldn't parse as pod\(unexpected end of the stream\), please check config file/);
  await run.saw(manifests.put('p.yaml', document(podValue('p', { priority: 3 }))));
  t.strictSame(priorities(), [3]);
});

t.test('KB041: without a watch the pods are found by listing, and the warning names the limit', async (t) => {
  const manifests = new MemoryManifests('/m');
  manifests.put('a.yaml', document(podValue('a')));
  manifests.refusal = portError('resource-exhausted', 'inotify_init1: too many open files');
  const run = await new FileSourceRun({ path: '/m' }, manifests).start();
  t.strictSame(run.names, ['a-node-a']);
  t.strictSame(run.log, [
    "warn can't watch the manifest path, changes are found by listing it (fs.inotify.max_user_instances or fs.inotify.max_user_watches is used up): inotify_init1: too many open files",
  ]);
  manifests.put('b.yaml', document(podValue('b')));
  await run.pass(21);
  t.strictSame(run.names, ['a-node-a', 'b-node-a'], 'polling goes on');
  const tries = run.asked.filter((asked) => asked === 'watch').length;
  t.ok(tries >= 4 && tries <= 6, `the watch is tried again with growing pauses (${tries})`);
  manifests.refusal = null;
  await run.pass(20);
  await run.saw(manifests.put('c.yaml', document(podValue('c'))));
  t.strictSame(run.names, ['a-node-a', 'b-node-a', 'c-node-a'], 'the limit was raised: events work');
  t.equal(run.log.length, 1, 'one warning');
});

t.test('the file source', async (t) => {
  const start = async (files: Readonly<Record<string, unknown>>, path = '/m'): Promise<{ manifests: MemoryManifests; run: FileSourceRun }> => {
    const manifests = new MemoryManifests('/m');
    for (const [name, value] of Object.entries(files)) manifests.put(name, document(value));
    return { manifests, run: await new FileSourceRun({ path }, manifests).start() };
  };
  await t.test('the watch is armed before the first listing', async (t) => {
    const { run } = await start({ 'a.yaml': podValue('a') }, '/m/');
    t.strictSame(run.asked, ['watch', 'list']);
    await run.pass(61);
    t.strictSame(run.asked.slice(2), ['list', 'list', 'list'], 'then it is listed at intervals');
    t.equal(run.sets[0]?.[0], run.sets.at(-1)?.[0], 'an unchanged file stays the same object');
  });
  await t.test('a bad file is told once, the others go on; a file that turns bad is dropped by the next listing', async (t) => {
    const { manifests, run } = await start({ 'bad.yaml': podValue('Bad_'), 'good.yaml': podValue('good') });
    t.strictSame(run.names, ['good-node-a']);
    await run.pass(60);
    t.equal(run.log.length, 1);
    t.match(run.log[0], /^error Could not process manifest file "\/m\/bad\.yaml": invalid pod: metadata\.name: Invalid value: "Bad_-node-a"/);
    await run.saw(manifests.put('good.yaml', document({ kind: 'Pod' })));
    t.strictSame(run.names, ['good-node-a'], 'not yet');
    await run.pass(21);
    t.strictSame(run.names, []);
    await run.saw(manifests.put('good.yaml', document(podValue('good'))));
    t.strictSame(run.names, ['good-node-a'], 'and is back when it is good again');
  });
  await t.test('a listing without pods clears the store: a later event does not bring old pods back', async (t) => {
    const { manifests, run } = await start({ 'a.yaml': podValue('a') });
    manifests.files.clear();
    await run.pass(21);
    t.strictSame(run.names, []);
    await run.saw(manifests.put('b.yaml', document(podValue('b'))));
    t.strictSame(run.names, ['b-node-a']);
  });
  await t.test('two files with one pod: the last path counts, and the other takes over when it goes', async (t) => {
    const { manifests, run } = await start({ 'a.yaml': podValue('p', { priority: 1 }), 'b.yaml': podValue('p', { priority: 2 }), 'c.yaml': podValue('q') });
    const priorities = (): (number | undefined)[] => (run.sets.at(-1) ?? []).map((pod) => pod.spec.priority);
    t.strictSame(priorities(), [2, undefined]);
    t.strictSame(run.log, ['warn /m/a.yaml: pod "p-node-a" in namespace "default" is also defined by /m/b.yaml, which is used']);
    await run.pass(41);
    t.equal(run.log.length, 1, 'told once');
    await run.saw(manifests.remove('b.yaml'));
    t.strictSame(run.names, ['p-node-a', 'q-node-a'], 'the pod does not vanish');
    t.strictSame(priorities(), [1, undefined]);
  });
  await t.test('lost events and many events lead to a listing', async (t) => {
    const { manifests, run } = await start({});
    manifests.put('a.yaml', document(podValue('a')));
    await run.saw({ kind: 'lost' });
    t.strictSame(run.names, ['a-node-a']);
    const flood = Array.from({ length: 300 }, (_, i) => manifests.put(`f${i}.yaml`, document(podValue(`f${i}`))));
    const before = run.asked.length;
    await run.saw(...flood);
    t.equal(run.names?.length, 301);
    t.strictSame(run.asked.slice(before), ['list']);
  });
  await t.test('a directory that is replaced is watched again', async (t) => {
    const { manifests, run } = await start({ 'a.yaml': podValue('a') });
    manifests.files.clear();
    manifests.put('b.yaml', document(podValue('b')));
    const before = run.asked.length;
    await run.saw({ kind: 'gone', path: '/m' });
    t.strictSame(run.asked.slice(before), ['watch', 'list']);
    t.strictSame(run.names, ['b-node-a']);
    await run.saw({ kind: 'failed', message: 'EIO' });
    t.strictSame(run.asked.slice(before + 2), ['watch', 'list'], 'also after the watch has failed');
  });
  await t.test('a directory that goes away stops its pods, and is looked for each second', async (t) => {
    const { manifests, run } = await start({ 'a.yaml': podValue('a') });
    manifests.refusal = portError('not-found', 'no such directory');
    manifests.listing = { kind: 'absent' };
    await run.saw({ kind: 'gone', path: '/m' });
    t.strictSame(run.names, []);
    await run.pass(3);
    t.strictSame(run.log, ['error path does not exist, ignoring: static pods of this path are stopped'], 'told once, loudly');
    manifests.refusal = null;
    manifests.listing = null;
    await run.pass(1);
    t.strictSame(run.names, ['a-node-a']);
  });
  await t.test('what is no answer changes nothing', async (t) => {
    const { manifests, run } = await start({ 'a.yaml': podValue('a') });
    const sets = run.sets.length;
    manifests.listing = portError('permission-denied', 'EACCES');
    await run.pass(21);
    manifests.listing = { kind: 'other' };
    await run.pass(20);
    t.equal(run.sets.length, sets);
    t.strictSame(run.log, ['error unable to read the manifest path: EACCES', 'error path is not a directory or file']);
  });
  await t.test('one file: it stays while its new content is bad', async (t) => {
    const manifests = new MemoryManifests('/m.yaml');
    const file = (value: unknown): void => {
      manifests.listing = { kind: 'file', file: { path: '/m.yaml', content: document(value) } };
    };
    file(podValue('a'));
    const run = await new FileSourceRun({ path: '/m.yaml' }, manifests).start();
    t.strictSame(run.names, ['a-node-a']);
    file({ kind: 'Pod' });
    const sets = run.sets.length;
    await run.saw({ kind: 'entry', path: '/m.yaml', name: '', change: 'modified' });
    t.equal(run.sets.length, sets);
    file(podValue('b'));
    await run.saw({ kind: 'gone', path: '/m.yaml' });
    t.strictSame(run.names, ['b-node-a']);
  });
});
