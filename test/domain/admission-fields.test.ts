// The apiserver's admission fills in fields that static pods don't have: priority, tolerations, the service account, overhead, and what registries set.
// Each place of the domain that reads one of them is in a table with what it does for a static pod. A new place, or another field in an old one, needs
// a row.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { groupPods } from '../../src/domain/node-shutdown/shutdown-groups.js';
import { isPreemptable } from '../../src/domain/preemption/preemption.js';
import { isNodeCriticalPod, knownPriority } from '../../src/domain/values/pod-kind.js';
import type { Pod } from '../../src/ports/model/pod.js';

const domain = join(import.meta.dirname, '../../../src/domain');
const isComment = /^\s*(\/\/|\*|\/\*)/;
const declaration = /^(?:export )?(?:function|const|class|interface) (\w+)/;
/** Decoding and validation read every field. */
const readsAll = /^(values\/api-schema|pod-sources\/validation)\//;

const fields: Readonly<Record<string, RegExp>> = {
  priority: /\bspec\.priority\b|knownPriority\(/,
  priorityClassName: /\bpriorityClassName\b/,
  preemptionPolicy: /\bpreemptionPolicy\b/,
  tolerations: /\btolerations\b/,
  serviceAccountName: /\bserviceAccountName\b/,
  imagePullSecrets: /\bimagePullSecrets\b/,
  overhead: /\bspec\.overhead\b/,
  creationTimestamp: /\bcreationTimestamp\b/,
  generation: /\bmetadata\.generation\b/,
};

const byClass = 'the value of a built-in priority class';
const noAccount = 'static pods have no service account: manifests that name one are refused';
const noGeneration = 'static pods have no generations, and their conditions name none';
const noOverhead = 'overhead is what the manifest says, as in the reference: a RuntimeClass adds it in the apiserver only';
const rows: readonly (readonly [place: string, fields: string, ofStaticPods: string])[] = [
  ['admission/predicates.ts predicateFailures', 'tolerations', 'NoExecute taints are not checked for static pods'],
  ['admission/pressure-gate.ts admitUnderPressure', 'tolerations', 'critical pods are admitted before that, and static pods are'],
  ['agent/object-manager/api-data.ts askingOf', 'serviceAccountName', noAccount],
  ['agent/status-manager/pod-statuses.ts setReadyToStartContainers', 'generation', noGeneration],
  ['agent/status-manager/pod-statuses.ts withTermination', 'generation', noGeneration],
  ['agent/allocation-manager/resize-progress.ts noteResized', 'generation', noGeneration],
  ['agent/allocation-manager/resize-progress.ts showProgress', 'generation', noGeneration],
  ['agent/allocation-manager/resizes.ts defer', 'generation', noGeneration],
  ['agent/allocation-manager/resizes.ts grant', 'generation', noGeneration],
  ['agent/sync-loop/sync-loop.ts byCreation', 'creationTimestamp', 'static pods come before pods of the API, as in the reference'],
  ['allocation/resize-queue.ts resizeOrder', 'priority', byClass],
  ['api-data/token-cache.ts nameOf', 'serviceAccountName', noAccount],
  ['api-data/token-cache.ts tokenKey', 'serviceAccountName', noAccount],
  ['cgroups/linux-container-resources.ts linuxSandboxOverhead', 'overhead', noOverhead],
  ['containers/downward-fields.ts variableFieldValue', 'serviceAccountName', 'the variable is empty, as in the reference'],
  ['containers/downward-fields.ts variableFields', 'serviceAccountName', 'names the field'],
  ['embedding/selectors.ts untoleratedTaint', 'tolerations', 'for embedders'],
  ['eviction/ranking.ts standingOf', 'priority', byClass],
  ['images/credential-lookup.ts pullSecrets', 'imagePullSecrets', 'manifests that name secrets are refused'],
  ['images/identity-lookup.ts identityFor', 'serviceAccountName', noAccount],
  ['kubelet-metrics/observed-pods.ts ObservedPods', 'creationTimestamp', 'starts of static pods are not measured, as in the reference'],
  ['node-shutdown/shutdown-groups.ts groupPods', 'priority', byClass],
  ['pod-certificates/pod-certificate-request.ts PodCertificateOrder', 'serviceAccountName', noAccount],
  ['pod-certificates/pod-certificate-request.ts podCertificateRequest', 'serviceAccountName', noAccount],
  ['pod-certificates/pod-certificates.ts begin', 'serviceAccountName', noAccount],
  ['pod-sources/api-references.ts firstReference', 'serviceAccountName', 'refuses it'],
  ['pod-sources/api-references.ts secretNames', 'imagePullSecrets', 'refuses them'],
  ['pod-sources/pod-defaults.ts applyPodDefaults', 'serviceAccountName overhead', 'fills in what the registry of the API does'],
  ['pod-sources/static-pod-defaults.ts tolerateNoExecute', 'tolerations', 'adds NoExecute to pods from files, as the reference does'],
  ['pod-sync/pull-secrets.ts arePullSecretsRead', 'imagePullSecrets', 'manifests that name secrets are refused'],
  ['preemption/preemption.ts isPreemptable', 'priority', byClass],
  ['qos/pod-resources.ts podLimits', 'overhead', noOverhead],
  ['qos/pod-resources.ts podRequests', 'overhead', noOverhead],
  ['qos/resource-request.ts resourceRequest', 'overhead', noOverhead],
  ['status/conditions.ts containersReadyCondition', 'generation', noGeneration],
  ['status/conditions.ts initializedCondition', 'generation', noGeneration],
  ['status/conditions.ts readyCondition', 'generation', noGeneration],
  ['status/pod-status.ts conditionsOf', 'generation', noGeneration],
  ['status/status-manager.ts withGeneration', 'generation', noGeneration],
  ['status/status-merge.ts withoutReadiness', 'generation', noGeneration],
  ['values/pod-kind.ts isCriticalPod', 'priority', 'static pods are critical whatever their priority'],
  ['values/pod-kind.ts isNodeCriticalPod', 'priorityClassName', 'goes by the name of the class'],
  ['values/pod-kind.ts knownPriority', 'priority priorityClassName', byClass],
  ['values/tolerations.ts untoleratedTaint', 'tolerations', 'its callers decide'],
  ['volumes/api-data-volume.ts TokenRequest', 'serviceAccountName', noAccount],
  ['volumes/api-data-volume.ts certificateOrders', 'serviceAccountName', noAccount],
  ['volumes/api-data-volume.ts tokenRequests', 'serviceAccountName', noAccount],
  ['volumes/csi-mount.ts csiTokenRequests', 'serviceAccountName', noAccount],
  ['volumes/csi-mount.ts podInfo', 'serviceAccountName', noAccount],
];

function places(): Map<string, string> {
  const found = new Map<string, Set<string>>();
  for (const file of readdirSync(domain, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts') && !readsAll.test(name))) {
    let place = `${file} (file)`;
    for (const line of readFileSync(join(domain, file), 'utf8').split('\n')) {
      if (isComment.test(line) || line.startsWith('import ')) continue;
      place = declaration.test(line) ? `${file} ${declaration.exec(line)?.[1]}` : place;
      for (const [field, word] of Object.entries(fields)) if (word.test(line)) found.set(place, (found.get(place) ?? new Set()).add(field));
    }
  }
  const inOrder = (names: ReadonlySet<string>): string =>
    Object.keys(fields)
      .filter((field) => names.has(field))
      .join(' ');
  return new Map([...found].map(([place, names]) => [place, inOrder(names)]));
}

t.test('every place that reads a field of the apiserver’s admission says what it does for static pods', async (t) => {
  const found = places();
  const known = new Map(rows.map(([place, names]) => [place, names]));
  t.strictSame(
    [...found].filter(([place, names]) => known.get(place) !== names).map(([place, names]) => `${place}: ${names}`),
    [],
    'each has its row',
  );
  t.strictSame(
    rows.map(([place]) => place).filter((place) => !found.has(place)),
    [],
    'no row is left over',
  );
});

const podFrom = (spec: Partial<Pod['spec']>, isStatic = true): Pod => ({
  metadata: { name: 'p', ...(isStatic ? { annotations: { 'kubernetes.io/config.source': 'file' } } : {}) },
  spec: { containers: [], ...spec },
});

t.test('the priority of a static pod', async (t) => {
  const cases: readonly (readonly [Partial<Pod['spec']>, number | undefined])[] = [
    [{}, undefined],
    [{ priority: 7 }, 7],
    [{ priorityClassName: 'system-cluster-critical' }, 2_000_000_000],
    [{ priorityClassName: 'system-node-critical' }, 2_000_001_000],
    [{ priorityClassName: 'system-node-critical', priority: 5 }, 5],
    [{ priorityClassName: 'of-the-cluster' }, undefined],
  ];
  for (const [spec, priority] of cases) t.equal(knownPriority(podFrom(spec)), priority, JSON.stringify(spec));
  const [node, cluster, plain] = ['system-node-critical', 'system-cluster-critical', ''].map((priorityClassName) => podFrom({ priorityClassName }));
  if (node === undefined || cluster === undefined || plain === undefined) throw new Error('three pods');
  const groups = groupPods(
    [0, 2_000_000_000, 2_000_001_000].map((priority) => ({ priority, shutdownGracePeriodSeconds: 1 })),
    [node, cluster, plain],
  );
  t.strictSame(
    groups.map(({ pods }) => pods),
    [[plain], [cluster], [node]],
    'node shutdown',
  );
  t.strictSame([isPreemptable(node, cluster), isPreemptable(cluster, node)], [true, false], 'preemption');
  t.strictSame([isNodeCriticalPod(node), isNodeCriticalPod(cluster)], [true, false], 'the OOM score');
});
