// Features that pods of a swarm use, by name: counted for pods that reached their expected state, so that a feature that is never drawn, or that no
// pod ever survives, shows.
import type { Container } from '../../src/ports/model/container.js';
import type { Pod } from '../../src/ports/model/pod.js';
import type { Volume } from '../../src/ports/model/volume.js';
import { sandboxedClass } from './swarm-pods.js';

type Spec = Pod['spec'];

const some =
  (holds: (container: Container) => boolean) =>
  ({ containers, initContainers = [] }: Spec): boolean =>
    [...containers, ...initContainers].some(holds);
const volume =
  (holds: (volume: Volume) => boolean) =>
  ({ volumes = [] }: Spec): boolean =>
    volumes.some(holds);

const features: Readonly<Record<string, (spec: Spec) => boolean>> = {
  'system priority': ({ priorityClassName }) => priorityClassName === 'system-node-critical',
  'priority class': ({ priorityClassName }) => priorityClassName === 'urgent',
  'runtime class': ({ runtimeClassName }) => runtimeClassName === sandboxedClass,
  requests: some(({ resources }) => resources?.requests !== undefined && resources.limits === undefined),
  limits: some(({ resources }) => resources?.limits !== undefined),
  'CPUs of its own': some(({ resources }) => ['1', '2'].includes(resources?.limits?.cpu ?? '')),
  'claim for devices': ({ resourceClaims = [] }) => resourceClaims.length > 0,
  'stop signal': some(({ lifecycle }) => lifecycle?.stopSignal !== undefined),
  'grace of a probe': some(({ livenessProbe, startupProbe }) => (livenessProbe ?? startupProbe)?.terminationGracePeriodSeconds !== undefined),
  'variable from a file': some(({ env = [] }) => env.some(({ valueFrom }) => valueFrom?.fileKeyRef !== undefined)),
  'variable from a secret': some(({ env = [] }) => env.some(({ valueFrom }) => valueFrom?.secretKeyRef !== undefined)),
  'variables from a config map': some(({ envFrom = [] }) => envFrom.length > 0),
  'pull secrets': ({ imagePullSecrets = [] }) => imagePullSecrets.length > 0,
  'account token': ({ automountServiceAccountToken }) => automountServiceAccountToken === true,
  'secret volume': volume(({ secret }) => secret !== undefined),
  'config map volume': volume(({ configMap }) => configMap !== undefined),
  'projected volume': volume(({ projected }) => projected !== undefined),
  'certificate of its own': volume(({ projected }) => projected?.sources?.some(({ podCertificate }) => podCertificate !== undefined) === true),
  'image volume': volume(({ image }) => image !== undefined),
  'other volumes': volume(({ nfs }) => nfs !== undefined),
  'claim of a CSI volume': volume(({ name, persistentVolumeClaim }) => persistentVolumeClaim !== undefined && ['plain', 'attached'].includes(name)),
  'claim of an in-tree disk': volume(({ name, persistentVolumeClaim }) => persistentVolumeClaim !== undefined && name === 'old'),
  'claim of a disk': volume(({ name, persistentVolumeClaim }) => persistentVolumeClaim !== undefined && name === 'local'),
  'raw device of a driver': volume(({ name, persistentVolumeClaim }) => persistentVolumeClaim !== undefined && name === 'raw'),
  'raw device of the node': volume(({ name, persistentVolumeClaim }) => persistentVolumeClaim !== undefined && name === 'device'),
  'volume of a driver for the pod alone': volume(({ csi }) => csi !== undefined),
  'users of its own': ({ hostUsers }) => hostUsers === false,
  'namespaces of the host': ({ hostPID, hostIPC }) => hostPID === true || hostIPC === true,
  'group of volumes': ({ securityContext }) => securityContext?.fsGroup !== undefined,
  deadline: ({ activeDeadlineSeconds }) => activeDeadlineSeconds !== undefined,
  'all restarted together': some(({ restartPolicyRules = [] }) => restartPolicyRules.length > 0),
  sidecar: ({ initContainers = [] }) => initContainers.some(({ restartPolicy }) => restartPolicy === 'Always'),
};

export const featureNames: readonly string[] = Object.keys(features);

export function featuresOf({ spec }: Pod): string[] {
  return featureNames.filter((name) => features[name]?.(spec) === true);
}
