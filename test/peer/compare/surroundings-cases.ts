// Pods of the comparison: volumes, environment, names and DNS, security contexts, resources, what is refused.
import { pause } from '../peer-stand.js';
import { hasEnded, isPending, looking, type PodCase, podCase, runs, waitsFor } from './pod-case.js';

const configMap = (name: string, data: object) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data });
const secret = (name: string, stringData: object) => ({ apiVersion: 'v1', kind: 'Secret', metadata: { name }, stringData });
const mount = (name: string, more: object = {}) => ({ name, mountPath: `/v/${name}`, ...more });
const field = (fieldPath: string) => ({ fieldRef: { fieldPath } });

/** One container that mounts each of the volumes at /v/NAME. */
function withVolumes(
  name: string,
  volumes: readonly { readonly name: string }[],
  more: { container?: object; spec?: object; others?: readonly object[]; settled?: PodCase['settled'] } = {},
): PodCase {
  const container = looking({ volumeMounts: volumes.map((one) => mount(one.name)), ...more.container });
  return podCase(name, { containers: [container], volumes, ...more.spec }, more.settled ?? runs, { others: more.others ?? [] });
}

const projected = {
  defaultMode: 0o440,
  sources: [
    { configMap: { name: 'c-projected', items: [{ key: 'a', path: 'deep/er/a', mode: 0o400 }] } },
    { secret: { name: 's-projected' } },
    {
      downwardAPI: {
        items: [
          { path: 'labels', ...field('metadata.labels') },
          { path: 'cpu', resourceFieldRef: { containerName: 'main', resource: 'limits.cpu', divisor: '1m' } },
        ],
      },
    },
    { serviceAccountToken: { path: 'token', expirationSeconds: 3600, audience: 'else' } },
  ],
};

const volumes: readonly PodCase[] = [
  withVolumes('volume-empty', [
    { name: 'disk', emptyDir: {} },
    { name: 'memory', emptyDir: { medium: 'Memory', sizeLimit: '4Mi' } },
    { name: 'limited', emptyDir: { sizeLimit: '10Mi' } },
  ] as never),
  withVolumes(
    'volume-group',
    [
      { name: 'disk', emptyDir: {} },
      { name: 'memory', emptyDir: { medium: 'Memory' } },
      { name: 'map', configMap: { name: 'c-group' } },
    ] as never,
    {
      spec: { securityContext: { fsGroup: 3000, runAsUser: 1000, fsGroupChangePolicy: 'OnRootMismatch' } },
      others: [configMap('c-group', { a: '1' })],
    },
  ),
  withVolumes(
    'volume-map',
    [
      { name: 'map', configMap: { name: 'c-map', defaultMode: 0o600 } },
      { name: 'items', configMap: { name: 'c-map', items: [{ key: 'b', path: 'x/y', mode: 0o755 }] } },
      { name: 'none', configMap: { name: 'c-none', optional: true } },
    ] as never,
    {
      others: [configMap('c-map', { a: '1', b: '2' })],
    },
  ),
  withVolumes('volume-secret', [{ name: 'secret', secret: { secretName: 's-secret', defaultMode: 0o400 } }] as never, { others: [secret('s-secret', { key: 'value' })] }),
  withVolumes('volume-projected', [{ name: 'all', projected }] as never, {
    container: { resources: { limits: { cpu: '100m' } } },
    spec: { securityContext: { fsGroup: 3000 } },
    others: [configMap('c-projected', { a: '1' }), secret('s-projected', { b: '2' })],
  }),
  withVolumes('volume-host', [
    { name: 'made', hostPath: { path: '/var/log/compare-made', type: 'DirectoryOrCreate' } },
    { name: 'file', hostPath: { path: '/var/log/compare-file', type: 'FileOrCreate' } },
  ] as never),
  withVolumes('volume-host-absent', [{ name: 'absent', hostPath: { path: '/var/log/compare-absent', type: 'Directory' } }] as never, { settled: isPending }),
  withVolumes('volume-key-absent', [{ name: 'map', configMap: { name: 'c-key', items: [{ key: 'b', path: 'b' }] } }] as never, {
    others: [configMap('c-key', { a: '1' })],
    settled: isPending,
  }),
  withVolumes('volume-secret-absent', [{ name: 'secret', secret: { secretName: 's-absent' } }] as never, { settled: isPending }),
  podCase(
    'volume-sub-path',
    {
      containers: [
        looking({
          env: [{ name: 'WHERE', value: 'here' }],
          volumeMounts: [
            mount('disk', { subPath: 'a/b' }),
            { name: 'disk', mountPath: '/v/expr', subPathExpr: '$(WHERE)/x' },
            { name: 'map', mountPath: '/v/map', subPath: 'a', readOnly: true },
          ],
        }),
      ],
      volumes: [
        { name: 'disk', emptyDir: {} },
        { name: 'map', configMap: { name: 'c-sub' } },
      ],
    },
    runs,
    { others: [configMap('c-sub', { a: '1' })] },
  ),
  podCase(
    'volume-sub-path-up',
    {
      containers: [looking({ env: [{ name: 'WHERE', value: '../up' }], volumeMounts: [{ name: 'disk', mountPath: '/v/expr', subPathExpr: '$(WHERE)' }] })],
      volumes: [{ name: 'disk', emptyDir: {} }],
    },
    waitsFor('CreateContainerConfigError'),
  ),
  podCase(
    'volume-propagated',
    {
      containers: [
        looking({
          securityContext: { privileged: true },
          volumeMounts: [mount('disk', { mountPropagation: 'Bidirectional' }), { name: 'disk', mountPath: '/v/slave', mountPropagation: 'HostToContainer', readOnly: true }],
        }),
      ],
      volumes: [{ name: 'disk', emptyDir: {} }],
    },
    runs,
  ),
  withVolumes('volume-image', [{ name: 'image', image: { reference: pause, pullPolicy: 'IfNotPresent' } }] as never, {
    settled: (pod) =>
      pod.status.containerStatuses?.[0]?.state !== undefined &&
      pod.status.phase !== 'Unknown' &&
      (runs(pod) || pod.status.containerStatuses[0].state.waiting?.reason !== 'ContainerCreating'),
  }),
];

const downward = [
  'metadata.name',
  'metadata.namespace',
  "metadata.labels['app']",
  "metadata.annotations['note']",
  'spec.nodeName',
  'spec.serviceAccountName',
  'status.hostIP',
  'status.podIP',
  'status.podIPs',
  'status.hostIPs',
];
const figures = ['limits.cpu', 'limits.memory', 'requests.cpu', 'requests.memory', 'limits.ephemeral-storage', 'requests.ephemeral-storage'];

const environment: readonly PodCase[] = [
  podCase(
    'env-fields',
    {
      containers: [
        looking({
          env: [
            ...downward.map((path, i) => ({ name: `F${i}`, valueFrom: field(path) })),
            ...figures.map((resource, i) => ({ name: `R${i}`, valueFrom: { resourceFieldRef: { resource } } })),
          ],
        }),
      ],
    },
    runs,
    { metadata: { labels: { app: 'x' }, annotations: { note: 'a "quoted"\nnote' } } },
  ),
  podCase(
    'env-host-network',
    {
      hostNetwork: true,
      containers: [
        looking({
          env: [
            { name: 'IP', valueFrom: field('status.podIP') },
            { name: 'HOST', valueFrom: field('status.hostIP') },
          ],
        }),
      ],
    },
    runs,
  ),
  podCase(
    'env-from',
    {
      containers: [
        looking({
          envFrom: [{ configMapRef: { name: 'c-env' } }, { prefix: 'S_', secretRef: { name: 's-env' } }, { configMapRef: { name: 'c-none', optional: true } }],
          env: [
            { name: 'A', value: 'own' },
            { name: 'B', value: '$(A) $(a.b) $$(A) $(NONE)' },
          ],
        }),
      ],
    },
    runs,
    { others: [configMap('c-env', { A: 'map', 'a.b': 'dotted', '1st': 'digit', 'x-y': 'dash' }), secret('s-env', { key: 'value' })] },
  ),
  podCase(
    'env-key-absent',
    { containers: [looking({ env: [{ name: 'A', valueFrom: { configMapKeyRef: { name: 'c-env-absent', key: 'b' } } }] })] },
    waitsFor('CreateContainerConfigError'),
    { others: [configMap('c-env-absent', { a: '1' })] },
  ),
  podCase('env-secret-absent', { containers: [looking({ envFrom: [{ secretRef: { name: 's-none' } }] })] }, waitsFor('CreateContainerConfigError')),
  podCase('env-services', { enableServiceLinks: true, containers: [looking()] }, runs, {
    others: [
      {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name: 'db-main' },
        spec: {
          clusterIP: '10.96.7.7',
          ports: [
            { name: 'sql', port: 5432 },
            { name: 'web-ui', port: 80, protocol: 'TCP' },
          ],
        },
      },
    ],
  }),
  podCase(
    'dns-none',
    {
      dnsPolicy: 'None',
      dnsConfig: { nameservers: ['10.1.1.1'], searches: ['a.example', 'b.example'], options: [{ name: 'ndots', value: '2' }, { name: 'edns0' }] },
      containers: [looking()],
    },
    runs,
  ),
  podCase('dns-default', { dnsPolicy: 'Default', dnsConfig: { searches: ['more.example'] }, containers: [looking()] }, runs),
  podCase('host-names', { hostname: 'one', subdomain: 'two', setHostnameAsFQDN: true, hostAliases: [{ ip: '10.1.2.3', hostnames: ['a', 'b'] }], containers: [looking()] }, runs),
];

const security: readonly PodCase[] = [
  podCase(
    'security-user',
    {
      securityContext: { runAsUser: 1000, runAsGroup: 1001, supplementalGroups: [2000], fsGroup: 3000 },
      containers: [looking(), looking({ name: 'other', securityContext: { runAsUser: 1002, allowPrivilegeEscalation: false } })],
    },
    runs,
  ),
  podCase('security-root', { securityContext: { runAsNonRoot: true }, containers: [looking()] }, waitsFor('CreateContainerConfigError')),
  podCase('security-privileged', { containers: [looking({ securityContext: { privileged: true } })] }, runs),
  podCase(
    'security-capabilities',
    {
      containers: [
        looking({ securityContext: { capabilities: { add: ['NET_ADMIN'], drop: ['ALL'] } } }),
        looking({ name: 'other', securityContext: { capabilities: { drop: ['CHOWN'] }, readOnlyRootFilesystem: true } }),
      ],
    },
    runs,
  ),
  podCase(
    'security-seccomp',
    {
      securityContext: { seccompProfile: { type: 'RuntimeDefault' } },
      containers: [looking(), looking({ name: 'other', securityContext: { seccompProfile: { type: 'Unconfined' } } })],
    },
    runs,
  ),
  podCase(
    'security-seccomp-absent',
    { containers: [looking({ securityContext: { seccompProfile: { type: 'Localhost', localhostProfile: 'none.json' } } })] },
    waitsFor('CreateContainerError'),
  ),
  podCase(
    'security-sysctl',
    {
      securityContext: { sysctls: [{ name: 'net.ipv4.ip_unprivileged_port_start', value: '80' }] },
      containers: [looking({}, 'cat /proc/sys/net/ipv4/ip_unprivileged_port_start')],
    },
    runs,
  ),
  podCase('security-sysctl-unsafe', { securityContext: { sysctls: [{ name: 'kernel.msgmax', value: '65536' }] }, containers: [looking()] }, hasEnded),
  podCase('security-host', { hostPID: true, hostIPC: true, hostNetwork: true, containers: [looking()] }, runs),
  podCase('security-shared', { shareProcessNamespace: true, containers: [looking(), looking({ name: 'other' })] }, runs),
  podCase('security-proc', { containers: [looking({ securityContext: { privileged: true } })], automountServiceAccountToken: false }, runs),
  podCase('terminal', { containers: [looking({ tty: true, stdin: true, stdinOnce: true })] }, runs),
];

const resources: readonly PodCase[] = [
  podCase('resource-guaranteed', { containers: [looking({ resources: { limits: { cpu: '60m', memory: '32Mi' } } })] }, runs),
  podCase(
    'resource-burstable',
    {
      containers: [
        looking({ resources: { requests: { cpu: '10m', memory: '8Mi', 'ephemeral-storage': '1Mi' }, limits: { memory: '32Mi', 'ephemeral-storage': '50Mi' } } }),
        looking({ name: 'other' }),
      ],
    },
    runs,
  ),
  podCase(
    'resource-pod-level',
    {
      resources: { requests: { cpu: '20m', memory: '40Mi' }, limits: { cpu: '40m', memory: '64Mi' } },
      containers: [looking(), looking({ name: 'other', resources: { limits: { memory: '32Mi' } } })],
    },
    runs,
  ),
  podCase(
    'resource-sidecar',
    {
      initContainers: [looking({ name: 'side', restartPolicy: 'Always', resources: { requests: { cpu: '10m' }, limits: { cpu: '20m', memory: '16Mi' } } })],
      containers: [looking({ resources: { limits: { cpu: '30m', memory: '32Mi' } } })],
    },
    runs,
  ),
  podCase('refused-cpu', { containers: [looking({ resources: { requests: { cpu: '64' } } })] }, hasEnded),
  podCase('refused-selector', { nodeSelector: { none: 'such' }, containers: [looking()] }, hasEnded),
  podCase('host-port', { containers: [looking({ ports: [{ containerPort: 8080, hostPort: 18081 }] })] }, runs),
  podCase('refused-runtime-class', { runtimeClassName: 'absent', containers: [looking()] }, isPending, {
    others: [{ apiVersion: 'node.k8s.io/v1', kind: 'RuntimeClass', metadata: { name: 'absent' }, handler: 'absent' }],
  }),
];

export const surroundingsCases: readonly PodCase[] = [...volumes, ...environment, ...security, ...resources];
