// Manifests to pods: refusals and their messages, validation and defaults beyond the vectors, generated uids.
import t from 'tap';
import { decodeManifest } from '../../src/domain/pod-sources/decode-manifest.js';
import { podsOfManifest } from '../../src/domain/pod-sources/manifest-pods.js';
import type { Pod } from '../../src/ports/model/pod.js';
import { document, podValue } from './manifest-samples.js';

const nodeName = 'node-a';
const inFile = { nodeName, preventApiReferences: true, origin: { kind: 'file', path: '/m/web.yaml' } } as const;
const overHttp = { nodeName, preventApiReferences: true, origin: { kind: 'http', url: 'http://conf/' } } as const;
const container = (fields: object): Record<string, unknown> => ({ containers: [{ name: 'c', image: 'nginx:1', ...fields }] });
const volumes = (volume: object): Record<string, unknown> => ({ volumes: [{ name: 'v', ...volume }] });

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

const validationRows: readonly (readonly [what: string, spec: Record<string, unknown>, fields: readonly string[]])[] = [
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
  ['hook that does not sleep', container({ lifecycle: { preStop: { sleep: { seconds: 0 } } } }), []],
  ['hook that sleeps through all the grace', { terminationGracePeriodSeconds: 5, ...container({ lifecycle: { postStart: { sleep: { seconds: 5 } } } }) }, []],
  [
    'hook that sleeps longer than the grace',
    { terminationGracePeriodSeconds: 5, ...container({ lifecycle: { postStart: { sleep: { seconds: 6 } } } }) },
    ['spec.containers[0].lifecycle.postStart.sleep Invalid'],
  ],
  ['hook that sleeps longer than the usual grace', container({ lifecycle: { preStop: { sleep: { seconds: 31 } } } }), ['spec.containers[0].lifecycle.preStop.sleep Invalid']],
  ['hook that sleeps backwards', container({ lifecycle: { preStop: { sleep: { seconds: -1 } } } }), ['spec.containers[0].lifecycle.preStop.sleep Invalid']],
  [
    'hook of a sidecar that sleeps longer than the grace',
    { initContainers: [{ name: 's', image: 'i', restartPolicy: 'Always', lifecycle: { preStop: { sleep: { seconds: 31 } } } }] },
    ['spec.initContainers[0].lifecycle.preStop.sleep Invalid'],
  ],
  [
    'containers that ask for more than their pod',
    { resources: { requests: { cpu: '1' } }, ...container({ resources: { requests: { cpu: '1500m', memory: '1Gi' } } }) },
    ['spec.resources.requests[cpu] Invalid'],
  ],
  ['containers that ask for as much as their pod', { resources: { requests: { cpu: '1' } }, ...container({ resources: { requests: { cpu: '1000m' } } }) }, []],
  [
    'a container that may have more than its pod',
    { resources: { limits: { memory: '1Gi' } }, ...container({ resources: { limits: { memory: '2Gi' }, requests: { memory: '1Gi' } } }) },
    ['spec.resources.containers[0][memory].limits Invalid'],
  ],
  ['claims of a pod as a whole', { resources: { claims: [{ name: 'c' }], requests: { cpu: '1' } } }, ['spec.resources.claims Forbidden']],
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
  [
    'unknown resource',
    container({ resources: { limits: { gpu: 1 } } }),
    ['spec.containers[0].resources.limits[gpu] Invalid', 'spec.containers[0].resources.requests[gpu] Invalid'],
  ],
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
  ['shared pid', { shareProcessNamespace: true, hostPID: true }, ['spec.securityContext.shareProcessNamespace Invalid']],
  ['privilege', container({ securityContext: { privileged: true, allowPrivilegeEscalation: false } }), ['spec.containers[0].securityContext Invalid']],
  ['restart rules', container({ restartPolicy: 'Never', restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'In', values: [1] } }] }), []],
  [
    'restart rules without policy',
    container({ restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'In', values: [1] } }] }),
    ['spec.containers[0].restartPolicy Required'],
  ],
  [
    'huge pages, a part',
    container({ resources: { limits: { 'hugepages-2Mi': '3Mi', memory: '1Gi' } } }),
    ['spec.containers[0].resources.limits[hugepages-2Mi] Invalid', 'spec.containers[0].resources.requests[hugepages-2Mi] Invalid'],
  ],
  [
    'a mount of a broken volume',
    { ...volumes({ hostPath: { path: '/a', type: 'Dir' } }), ...container({ volumeMounts: [{ name: 'v', mountPath: '/a' }] }) },
    ['spec.volumes[0].hostPath.type NotSupported', 'spec.containers[0].volumeMounts[0].name NotFound'],
  ],
  [
    'a mount of a token',
    { ...volumes({ projected: { sources: [{ serviceAccountToken: { path: 't' } }] } }), ...container({ volumeMounts: [{ name: 'v', mountPath: '/a' }] }) },
    ['spec.volumes[0].projected.sources[0].serviceAccountToken Forbidden'],
  ],
  [
    'one path twice',
    volumes({ projected: { sources: [0, 1].map(() => ({ downwardAPI: { items: [{ path: 'p', fieldRef: { fieldPath: 'metadata.name' } }] } })) } }),
    ['spec.volumes[0].projected Invalid'],
  ],
  ['two volumes of a name', { volumes: [{ name: 'v' }, { name: 'v' }], ...container({ volumeMounts: [{ name: 'v', mountPath: '/a' }] }) }, ['spec.volumes[1].name Duplicate']],
  [
    'two containers without name',
    { containers: [{ image: 'i' }, { image: 'i' }] },
    ['spec.containers[0].name Required', 'spec.containers[1].name Required', 'spec.containers[1].name Duplicate'],
  ],
  ['native resource without limit', container({ resources: { requests: { 'kubernetes.io/x': 1 } } }), []],
  ['host alias names', { hostAliases: [{ ip: '10.0.0.1', hostnames: ['a', 'B'] }] }, ['spec.hostAliases[0].hostnames[1] Invalid']],
  [
    'one spread twice',
    { topologySpreadConstraints: [0, 1].map(() => ({ maxSkew: 1, topologyKey: 'k', whenUnsatisfiable: 'DoNotSchedule' })) },
    ['spec.topologySpreadConstraints[1].{topologyKey, whenUnsatisfiable} Duplicate'],
  ],
  ['gates', { schedulingGates: [{ name: 'a' }] }, ['spec.nodeName Forbidden']],
];

function fields(spec: Record<string, unknown>, metadata: Record<string, unknown> = {}): string[] {
  const result = decodeManifest(podValue('a', spec, metadata), inFile);
  if (result.ok) return [];
  return result.rejection.kind === 'invalid' ? result.rejection.problems.map(({ field, type }) => `${field} ${type.slice('FieldValue'.length)}`) : [result.rejection.message];
}

t.test('validation beyond the vectors', async (t) => {
  for (const [what, spec, want] of validationRows) t.strictSame(fields(spec), want, what);
  t.strictSame(fields({}, { annotations: { a: 'x'.repeat(300_000) } }), ['metadata.annotations TooLong']);
});

const confined = (type: string, localhostProfile?: string): Record<string, unknown> => ({
  securityContext: { appArmorProfile: { type, ...(localhostProfile === undefined ? {} : { localhostProfile }) } },
});
const typeAt = 'spec.containers[0].securityContext.appArmorProfile.type';
const nameAt = 'spec.securityContext.appArmorProfile.localhostProfile';
const annotationAt = 'metadata.annotations[container.apparmor.security.beta.kubernetes.io/c]';
const apparmorRows: readonly (readonly [what: string, spec: Record<string, unknown>, annotation: string | null, fields: readonly string[]])[] = [
  ['a name that looks like a path', confined('Localhost', '/usr/bin/../c'), null, []],
  ['no name', confined('Localhost'), null, [`${nameAt} Required`]],
  ['an empty name', confined('Localhost', ''), null, [`${nameAt} Required`]],
  ['spaces around it', confined('Localhost', ' c'), null, [`${nameAt} Invalid`]],
  ['too long a name', confined('Localhost', 'c'.repeat(4096)), null, [`${nameAt} TooLong`]],
  ['a name without need', confined('RuntimeDefault', 'c'), null, [`${nameAt} Invalid`]],
  ['no such type', confined('localhost', 'c'), null, ['spec.securityContext.appArmorProfile.type NotSupported']],
  ['an annotation', {}, 'localhost/c', []],
  ['an annotation that is none', {}, 'c', [`${annotationAt} Invalid`]],
  ['an annotation of no container', container({ name: 'd' }), 'unconfined', [`${annotationAt} Invalid`]],
  ['both, alike', confined('Localhost', 'c'), 'localhost/c', []],
  ['both, of other types', confined('Unconfined'), 'runtime/default', [`${typeAt} Forbidden`]],
  ['both, of other names', confined('Localhost', 'c'), 'localhost/d', ['spec.containers[0].securityContext.appArmorProfile.localhostProfile Forbidden']],
];

t.test('AppArmor profiles are validated by field and by annotation', async (t) => {
  for (const [what, spec, annotation, want] of apparmorRows) {
    const metadata = annotation === null ? {} : { annotations: { 'container.apparmor.security.beta.kubernetes.io/c': annotation } };
    t.strictSame(fields(spec, metadata), want, what);
  }
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

t.test('each container has resources, as in the API, and the uid does not depend on it', async (t) => {
  const value = podValue('a', {
    initContainers: [{ name: 'i', image: 'nginx:1' }],
    containers: [
      { name: 'c', image: 'nginx:1' },
      { name: 'd', image: 'nginx:1', resources: { limits: { cpu: '1' } } },
    ],
  });
  const read = podsOfManifest(document(value), inFile);
  const pod = read.kind === 'pods' ? read.pods[0] : undefined;
  t.strictSame(
    pod?.spec.initContainers?.map(({ resources }) => resources),
    [{}],
  );
  t.strictSame(
    pod?.spec.containers.map(({ resources }) => resources),
    [{}, { limits: { cpu: '1' }, requests: { cpu: '1' } }],
  );
  t.equal(pod?.metadata.uid, decoded(value).metadata.uid);
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
