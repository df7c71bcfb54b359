// Pods of which a kubelet shows as many kinds of metrics and statistics as this host allows.
import { ending, hasEnded, looking, type PodCase, podCase, runs, waitsFor } from '../compare/pod-case.js';
import { pause } from '../peer-stand.js';

const exec = (...command: string[]) => ({ exec: { command } });
const slowly = { periodSeconds: 1, failureThreshold: 1, timeoutSeconds: 20 };
const onNode = { nodeSelectorTerms: [{ matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: ['lab-node'] }] }] };

/** A volume and the claim that it is bound to. @param path on the node */
export function localVolume(path: string): readonly object[] {
  const size = { storage: '1Mi' };
  const claimRef = { namespace: 'default', name: 'claim' };
  const more = { accessModes: ['ReadWriteOnce'], storageClassName: '' };
  return [
    {
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name: 'local' },
      spec: { ...more, capacity: size, claimRef, local: { path }, nodeAffinity: { required: onNode } },
    },
    { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { name: 'claim' }, spec: { ...more, volumeName: 'local', resources: { requests: size } } },
  ];
}

export const portCases: readonly PodCase[] = [
  podCase(
    'probed',
    {
      containers: [
        looking({
          resources: { limits: { cpu: '100m', memory: '64Mi', 'ephemeral-storage': '50Mi' } },
          readinessProbe: { ...exec('true'), ...slowly },
          livenessProbe: { ...exec('true'), ...slowly },
          startupProbe: { ...exec('true'), ...slowly },
          volumeMounts: [{ name: 'work', mountPath: '/v/work' }],
        }),
      ],
      volumes: [{ name: 'work', emptyDir: {} }],
    },
    runs,
  ),
  podCase('exclusive', { containers: [looking({ resources: { limits: { cpu: '1', memory: '32Mi' } } })] }, runs),
  podCase(
    'sidecar',
    {
      initContainers: [ending('true', { name: 'first' }), looking({ name: 'side', restartPolicy: 'Always' })],
      containers: [looking({ resources: { limits: { memory: '32Mi' } } })],
    },
    runs,
  ),
  podCase('ended', { restartPolicy: 'Never', containers: [ending('exit 3')] }, hasEnded),
  podCase('killed', { restartPolicy: 'Never', containers: [ending('exec tail /dev/zero', { resources: { limits: { memory: '16Mi' } } })] }, hasEnded),
  podCase('crashes', { containers: [ending('exit 1')] }, waitsFor('CrashLoopBackOff', 1)),
  podCase('absent', { containers: [ending('true', { image: 'absent.invalid/none:1' })] }, waitsFor('ImagePullBackOff')),
  podCase('refused', { nodeSelector: { none: 'such' }, containers: [looking()] }, hasEnded),
  podCase(
    'full',
    {
      containers: [ending('head -c 9000000 /dev/zero > /v/file; sleep 1000', { volumeMounts: [{ name: 'v', mountPath: '/v' }] })],
      volumes: [{ name: 'v', emptyDir: { sizeLimit: '1Mi' } }],
    },
    hasEnded,
  ),
  podCase(
    'claims',
    { containers: [looking({ volumeMounts: [{ name: 'claim', mountPath: '/v/claim' }] })], volumes: [{ name: 'claim', persistentVolumeClaim: { claimName: 'claim' } }] },
    runs,
  ),
  podCase(
    'image-volume',
    { containers: [looking({ volumeMounts: [{ name: 'image', mountPath: '/v/image' }] })], volumes: [{ name: 'image', image: { reference: pause, pullPolicy: 'IfNotPresent' } }] },
    hasAny,
  ),
  podCase('sleeps', { terminationGracePeriodSeconds: 30, containers: [looking({ lifecycle: { preStop: { sleep: { seconds: 5 } } } })] }, runs),
  podCase('resized', { containers: [looking({ resources: { requests: { cpu: '10m', memory: '16Mi' }, limits: { cpu: '50m', memory: '32Mi' } } })] }, runs),
  podCase('hosted', { hostNetwork: true, containers: [looking()] }, runs),
];

/** This runtime may be too old for image volumes. */
function hasAny(pod: { readonly status: { readonly containerStatuses?: readonly { readonly state: { readonly waiting?: { readonly reason: string } } }[] } }): boolean {
  const status = pod.status.containerStatuses?.[0];
  return status !== undefined && status.state.waiting?.reason !== 'ContainerCreating';
}
