// Thirty pods that take a kubelet's attention while they run: probes, sidecars, volumes, resources, host network, ports, subPaths.
import { flowPod, shell, waiting } from './flow.js';
import { pause } from './peer-stand.js';

const probe = { exec: { command: ['true'] }, periodSeconds: 5, timeoutSeconds: 30 };

/** What distinguishes the pods; each comes three times. */
const kinds: readonly (readonly [name: string, containers: readonly object[], spec: object])[] = [
  ['plain', [shell(waiting)], {}],
  ['probed', [shell(waiting, { readinessProbe: probe, livenessProbe: probe, startupProbe: probe })], {}],
  ['sidecar', [shell(waiting)], { initContainers: [shell('true', { name: 'first' }), shell(waiting, { name: 'side', restartPolicy: 'Always', startupProbe: probe })] }],
  [
    'volumes',
    [
      shell(waiting, {
        volumeMounts: [
          { name: 'memory', mountPath: '/memory' },
          { name: 'disk', mountPath: '/part', subPath: 'part' },
          { name: 'info', mountPath: '/info' },
        ],
      }),
    ],
    {
      securityContext: { fsGroup: 3000 },
      volumes: [
        { name: 'memory', emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } },
        { name: 'disk', emptyDir: {} },
        { name: 'info', downwardAPI: { items: [{ path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } }] } },
      ],
    },
  ],
  [
    'objects',
    [shell(waiting, { envFrom: [{ configMapRef: { name: 'kube-root-ca.crt' } }], volumeMounts: [{ name: 'ca', mountPath: '/one', subPath: 'ca.crt' }] })],
    { volumes: [{ name: 'ca', configMap: { name: 'kube-root-ca.crt' } }] },
  ],
  ['guaranteed', [shell(waiting, { resources: { limits: { cpu: '50m', memory: '64Mi' } } })], {}],
  ['burstable', [shell(waiting, { resources: { requests: { cpu: '10m', memory: '16Mi' }, limits: { memory: '64Mi' } } }), { name: 'second', image: pause }], {}],
  ['host', [shell(waiting)], { hostNetwork: true }],
  [
    'shared',
    [shell(waiting, { securityContext: { runAsUser: 1000, allowPrivilegeEscalation: false } })],
    { shareProcessNamespace: true, securityContext: { supplementalGroups: [4000] } },
  ],
  [
    'hooked',
    [shell(waiting, { lifecycle: { postStart: { exec: { command: ['true'] } }, preStop: { exec: { command: ['true'] } } } })],
    { hostAliases: [{ ip: '10.1.2.3', hostnames: ['alias'] }] },
  ],
];

/** Three parts with one pod of each kind; the label `swap` has the number of the part. */
export function thirtyPods(): object[][] {
  return [0, 1, 2].map((i) => kinds.map(([name, containers, spec]) => flowPod(`${name}-${i}`, containers, spec, { labels: { swap: String(i) } })));
}
