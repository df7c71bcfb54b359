// Fields of the pod as environment variables and as files of downwardAPI volumes (`fieldRef`).
// Invariant: the same pod and node addresses give the same text; a path without a value here is refused, never empty.
import type { ObjectFieldSelector } from '../../ports/model/field-selector.js';
import type { Pod } from '../../ports/model/pod.js';
import { hostIpsOf, type NodeAddress, podIpsInOrder } from '../status/pod-addresses.js';
import { qualifiedNameProblems } from '../values/dns-names.js';
import { goQuote } from '../values/go-text.js';
import { formatIp } from '../values/ip-address.js';
import { byCodeUnits } from '../values/text-order.js';
import type { Resolved } from './namespaces.js';

export interface AddressFacts {
  readonly podIps: readonly string[];
  readonly nodeIps: readonly string[];
  /** Of the node object; null without an API server: then the node's address is the loopback address. */
  readonly nodeAddresses: readonly NodeAddress[] | null;
}

const plainFields: readonly string[] = ['metadata.name', 'metadata.namespace', 'metadata.uid'];
const mapFields: readonly string[] = ['metadata.labels', 'metadata.annotations'];
/** Fields that only variables may name. */
const variableFields: readonly string[] = ['spec.nodeName', 'spec.serviceAccountName', 'status.hostIP', 'status.hostIPs', 'status.podIP', 'status.podIPs'];
/** Known to the API's field selectors, but never given to containers. */
const selectorFields: readonly string[] = ['spec.restartPolicy', 'spec.schedulerName', 'status.phase'];

/** A variable's value. */
export function envFieldValue(pod: Pod, selector: ObjectFieldSelector, addresses: AddressFacts): Resolved<string> {
  const version = selector.apiVersion ?? '';
  if (version !== 'v1') return refused(`unsupported pod version: ${version}`);
  const path = selector.fieldPath;
  const subscripted = splitSubscript(path);
  if (subscripted !== null && !mapFields.includes(subscripted.field)) return refused(`field label does not support subscript: ${path}`);
  if (subscripted !== null) return objectFieldValue(pod, path);
  const field = path === 'spec.host' ? 'spec.nodeName' : path;
  if (variableFields.includes(field)) return variableFieldValue(pod, field, addresses);
  if (![...plainFields, ...mapFields, ...selectorFields].includes(field)) return refused(`field label not supported: ${path}`);
  return objectFieldValue(pod, field);
}

/** A file's content: names, labels and annotations. */
export function volumeFieldValue(pod: Pod, selector: ObjectFieldSelector): Resolved<string> {
  return objectFieldValue(pod, selector.fieldPath);
}

function objectFieldValue(pod: Pod, path: string): Resolved<string> {
  const { name, namespace = '', uid = '', labels = {}, annotations = {} } = pod.metadata;
  const subscripted = splitSubscript(path);
  if (subscripted !== null) {
    const { field, key } = subscripted;
    if (field === 'metadata.labels') return mapEntry(labels, key, path, key);
    // Annotation keys may have capitals; the check of qualified names is made without them.
    if (field === 'metadata.annotations') return mapEntry(annotations, key, path, key.toLowerCase());
    return refused(`fieldPath ${goQuote(path)} does not support subscript`);
  }
  switch (path) {
    case 'metadata.name':
      return { ok: true, value: name };
    case 'metadata.namespace':
      return { ok: true, value: namespace };
    case 'metadata.uid':
      return { ok: true, value: uid };
    case 'metadata.labels':
      return { ok: true, value: mapText(labels) };
    case 'metadata.annotations':
      return { ok: true, value: mapText(annotations) };
    default:
      return refused(`unsupported fieldPath: ${path}`);
  }
}

function variableFieldValue(pod: Pod, field: string, addresses: AddressFacts): Resolved<string> {
  switch (field) {
    case 'spec.nodeName':
      return { ok: true, value: pod.spec.nodeName ?? '' };
    case 'spec.serviceAccountName':
      return { ok: true, value: pod.spec.serviceAccountName ?? '' };
    case 'status.podIP':
      return { ok: true, value: podIpsInOrder(addresses.podIps, addresses.nodeIps)[0] ?? '' };
    case 'status.podIPs':
      return { ok: true, value: podIpsInOrder(addresses.podIps, addresses.nodeIps).join(',') };
    default:
      return hostIpText(field, addresses.nodeAddresses);
  }
}

function hostIpText(field: string, nodeAddresses: readonly NodeAddress[] | null): Resolved<string> {
  if (nodeAddresses === null) return { ok: true, value: '127.0.0.1' };
  const ips = hostIpsOf(nodeAddresses).map(formatIp);
  if (ips.length === 0) return refused(`host IP unknown; known addresses: [${nodeAddresses.map(({ type, address }) => `{${type} ${address}}`).join(' ')}]`);
  return { ok: true, value: field === 'status.hostIP' ? ips[0]! : ips.join(',') };
}

/** `field['key']`: the brackets and quotes exactly so, at the end. */
function splitSubscript(path: string): { readonly field: string; readonly key: string } | null {
  if (!path.endsWith("']")) return null;
  const inner = path.slice(0, -2);
  const open = inner.indexOf("['");
  return open <= 0 ? null : { field: inner.slice(0, open), key: inner.slice(open + 2) };
}

function mapEntry(map: Readonly<Record<string, string>>, key: string, path: string, checked: string): Resolved<string> {
  const problems = qualifiedNameProblems(checked);
  if (problems.length > 0) return refused(`invalid key subscript in ${path}: ${problems.join(';')}`);
  return { ok: true, value: Object.hasOwn(map, key) ? map[key]! : '' };
}

/** `key="value"` lines. */
function mapText(map: Readonly<Record<string, string>>): string {
  return Object.keys(map)
    .sort(byCodeUnits)
    .map((key) => `${key}=${goQuote(map[key]!)}`)
    .join('\n');
}

function refused(message: string): Resolved<never> {
  return { ok: false, message };
}
