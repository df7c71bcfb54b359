// The defaulting of core/v1 for a Pod: a manifest gets the same defaults as a pod from the apiserver.
// Invariant: idempotent; fills only absent (for plain fields: zero) values.
import { defaultPullPolicy } from '../images/pull-policy.js';
import { isPodLevelResource, podRequests, resourceListOf } from '../qos/pod-resources.js';
import { volumeSources } from '../values/api-schema/volume-schema.js';
import { mustParseQuantity, quantityScaledValue, quantityText } from '../values/quantity.js';
import type { ContainerDraft, Draft, HandlerDraft, PodDraft, ProbeDraft, VolumeDraft } from './draft.js';

/** 0644, for files that the kubelet writes into secret, config map, downward API and projected volumes. */
const defaultFileMode = 0o644;
/** The finest unit of resource amounts is a thousandth. */
const milliScale = -3;

type QuantityMap = Record<string, string>;
type RequirementsDraft = NonNullable<ContainerDraft['resources']>;

export function applyPodDefaults(pod: PodDraft): void {
  const { spec } = pod;
  spec.containers ??= [];
  spec.dnsPolicy ??= 'ClusterFirst';
  spec.restartPolicy ??= 'Always';
  spec.schedulerName ??= 'default-scheduler';
  spec.enableServiceLinks ??= true;
  spec.securityContext ??= {};
  spec.terminationGracePeriodSeconds ??= 30;
  if (spec.terminationGracePeriodSeconds < 0) spec.terminationGracePeriodSeconds = 1;
  // The deprecated name and the new one show the same value.
  const serviceAccount = spec.serviceAccountName ?? spec.serviceAccount;
  if (serviceAccount !== undefined) {
    spec.serviceAccountName = serviceAccount;
    spec.serviceAccount = serviceAccount;
  }
  for (const volume of spec.volumes ?? []) defaultVolume(volume);
  for (const container of spec.initContainers ?? []) defaultContainer(container, spec.hostNetwork === true);
  for (const container of spec.containers) defaultContainer(container, spec.hostNetwork === true);
  for (const container of spec.ephemeralContainers ?? []) defaultContainer(container, false);
  if (spec.overhead !== undefined) roundAmounts(spec.overhead);
  if (spec.resources !== undefined) defaultPodResources(pod, spec.resources);
  const { status } = pod;
  if (status?.podIP !== undefined && status.podIPs === undefined) status.podIPs = [{ ip: status.podIP }];
}

function defaultContainer(container: ContainerDraft, hostNetwork: boolean): void {
  container.terminationMessagePath ??= '/dev/termination-log';
  container.terminationMessagePolicy ??= 'File';
  container.imagePullPolicy ??= defaultPullPolicy(container.image ?? '');
  if (container.resources !== undefined) defaultRequirements(container.resources);
  for (const port of container.ports ?? []) {
    port.protocol ??= 'TCP';
    if (hostNetwork && (port.hostPort ?? 0) === 0 && (port.containerPort ?? 0) !== 0) port.hostPort = port.containerPort;
  }
  for (const variable of container.env ?? []) {
    const { fieldRef, resourceFieldRef } = variable.valueFrom ?? {};
    if (fieldRef !== undefined) fieldRef.apiVersion ??= 'v1';
    if (resourceFieldRef !== undefined) resourceFieldRef.divisor ??= '0';
  }
  for (const probe of [container.livenessProbe, container.readinessProbe, container.startupProbe]) if (probe !== undefined) defaultProbe(probe);
  for (const hook of [container.lifecycle?.postStart, container.lifecycle?.preStop]) if (hook !== undefined) defaultHandler(hook);
}

function defaultRequirements(resources: RequirementsDraft): void {
  if (resources.limits !== undefined) roundAmounts(resources.limits);
  if (resources.requests !== undefined) roundAmounts(resources.requests);
  if (resources.limits !== undefined) resources.requests = { ...resources.limits, ...resources.requests };
}

function roundAmounts(amounts: QuantityMap): void {
  for (const [name, text] of Object.entries(amounts)) {
    const quantity = mustParseQuantity(text);
    if (quantity.small && quantity.scale >= milliScale) continue;
    amounts[name] = quantityText({ ...quantity, mantissa: quantityScaledValue(quantity, milliScale), scale: milliScale, echo: null });
  }
}

function defaultProbe(probe: ProbeDraft): void {
  probe.timeoutSeconds ??= 1;
  probe.periodSeconds ??= 10;
  probe.successThreshold ??= 1;
  probe.failureThreshold ??= 3;
  if (probe.grpc !== undefined) probe.grpc.service ??= '';
  defaultHandler(probe);
}

function defaultHandler(handler: HandlerDraft): void {
  if (handler.httpGet === undefined) return;
  handler.httpGet.path ??= '/';
  handler.httpGet.scheme ??= 'HTTP';
}

type SourceDefaults = Readonly<Record<string, Readonly<Record<string, string | number | boolean>>>>;

const sourceDefaults: SourceDefaults = {
  secret: { defaultMode: defaultFileMode },
  configMap: { defaultMode: defaultFileMode },
  downwardAPI: { defaultMode: defaultFileMode },
  projected: { defaultMode: defaultFileMode },
  hostPath: { type: '' },
  iscsi: { iscsiInterface: 'default' },
  rbd: { pool: 'rbd', user: 'admin', keyring: '/etc/ceph/keyring' },
  azureDisk: { cachingMode: 'ReadWrite', kind: 'Shared', fsType: 'ext4', readOnly: false },
  scaleIO: { storageMode: 'ThinProvisioned', fsType: 'xfs' },
};

function defaultVolume(volume: VolumeDraft): void {
  const sources = Object.keys(volumeSources).filter((name) => volume[name] !== undefined);
  if (sources.length === 0) volume.emptyDir = {};
  for (const name of sources) {
    const source = volume[name] as Record<string, unknown>;
    for (const [field, value] of Object.entries(sourceDefaults[name] ?? {})) source[field] ??= value;
  }
  if (volume.image !== undefined) volume.image.pullPolicy ??= defaultPullPolicy(volume.image.reference ?? '');
  defaultDownwardItems(volume.downwardAPI?.items);
  for (const projection of volume.projected?.sources ?? []) {
    defaultDownwardItems(projection.downwardAPI?.items);
    if (projection.serviceAccountToken !== undefined) projection.serviceAccountToken.expirationSeconds ??= 3600;
    if (projection.podCertificate !== undefined) (projection.podCertificate as Record<string, unknown>).maxExpirationSeconds ??= 86_400;
  }
}

type DownwardItems = NonNullable<Draft<NonNullable<VolumeDraft['downwardAPI']>>['items']>;

function defaultDownwardItems(items: DownwardItems | undefined): void {
  for (const item of items ?? []) {
    if (item.fieldRef !== undefined) item.fieldRef.apiVersion ??= 'v1';
    if (item.resourceFieldRef !== undefined) item.resourceFieldRef.divisor ??= '0';
  }
}

/** Pod-level requests default to the sum of the container requests if there are any, else to the pod's limit. */
function defaultPodResources(pod: PodDraft, resources: RequirementsDraft): void {
  if (resources.limits !== undefined) roundAmounts(resources.limits);
  if (resources.requests !== undefined) roundAmounts(resources.requests);
  const requests: QuantityMap = { ...resources.requests };
  const ofContainers = resourceListOf(podRequests(pod, { excludeOverhead: true, skipPodLevel: true }));
  for (const [name, amount] of Object.entries({ ...resources.limits, ...ofContainers })) {
    if (isPodLevelResource(name)) requests[name] ??= amount;
  }
  if (Object.keys(requests).length > 0) resources.requests = requests;
}
