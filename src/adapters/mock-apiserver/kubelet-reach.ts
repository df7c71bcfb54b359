// Maps requests that a kubelet answers to its paths: logs, exec, attach, port-forward, and the node proxy. The paths are those
// that the real server uses (spec/config-and-api.md, 10 and 19).
import { type ApiTarget, badRequest, type JsonObject, refusal } from '../../sim/index.js';

/** A kubelet's path, without its address. */
export interface KubeletPath {
  readonly nodeName: string;
  /** With its query. */
  readonly path: string;
}

interface PodLike {
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly annotations?: Readonly<Record<string, string>> };
  readonly spec: {
    readonly nodeName?: string;
    readonly containers: readonly { readonly name: string }[];
    readonly initContainers?: readonly { readonly name: string }[];
    readonly ephemeralContainers?: readonly { readonly name: string }[];
  };
}

interface NodeLike {
  readonly status?: {
    readonly addresses?: readonly { readonly type: string; readonly address: string }[];
    readonly daemonEndpoints?: { readonly kubeletEndpoint?: { readonly Port?: number } };
  };
}

export const streamSubresources: readonly string[] = ['log', 'exec', 'attach', 'portforward'];
/** Query parameters of the API and the kubelet's names for them. */
const streams: readonly (readonly [string, string])[] = [
  ['stdin', 'input'],
  ['stdout', 'output'],
  ['stderr', 'error'],
  ['tty', 'tty'],
];
/** The order of preference of the kubelet's addresses. */
const addressKinds: readonly string[] = ['InternalIP', 'ExternalIP', 'Hostname', 'InternalDNS', 'ExternalDNS'];
const defaultKubeletPort = 10250;

/** Throws `ApiRefusal`: no such container, none named among several, not on a node yet. */
export function kubeletPathOf(pod: JsonObject, subresource: string, query: URLSearchParams): KubeletPath {
  const { metadata, spec } = pod as unknown as PodLike;
  const nodeName = spec.nodeName ?? '';
  if (nodeName === '') throw badRequest(`pod ${metadata.name} does not have a host assigned`);
  const where = [metadata.namespace ?? '', metadata.name].map(encodeURIComponent).join('/');
  if (subresource === 'portforward') return { nodeName, path: withQuery(`/portForward/${where}`, repeated(query, 'ports', 'port')) };
  const container = encodeURIComponent(containerOf(pod as unknown as PodLike, query.get('container') ?? ''));
  if (subresource === 'log') {
    const asked = new URLSearchParams(query);
    asked.delete('container');
    asked.delete('insecureSkipTLSVerifyBackend');
    return { nodeName, path: withQuery(`/containerLogs/${where}/${container}`, asked) };
  }
  const asked = new URLSearchParams();
  for (const [name, kubelets] of streams)
    if (['true', '1', ''].includes(query.get(name) ?? (name === 'stdout' || name === 'stderr' ? String(!query.has(name)) : 'false'))) asked.set(kubelets, '1');
  for (const word of query.getAll('command')) asked.append('command', word);
  return { nodeName, path: withQuery(`/${subresource}/${where}/${container}`, asked) };
}

/** @param rest the path after `/proxy`, still encoded, with its query */
export function nodeProxyPath(target: ApiTarget, rest: string): KubeletPath {
  return { nodeName: (target.name ?? '').replace(/:\d+$/, '').replace(/^https?:/, ''), path: rest === '' ? '/' : rest };
}

/** Throws `ApiRefusal` when the node has no address yet. */
export function kubeletAddress(node: JsonObject, nodeName: string): { readonly host: string; readonly port: number } {
  const { addresses = [], daemonEndpoints } = (node as unknown as NodeLike).status ?? {};
  const host = addressKinds.flatMap((kind) => addresses.filter(({ type }) => type === kind))[0]?.address;
  if (host === undefined) throw refusal(500, 'InternalError', `no preferred addresses found; known addresses: []: node ${nodeName}`);
  return { host, port: daemonEndpoints?.kubeletEndpoint?.Port || defaultKubeletPort };
}

function containerOf({ metadata, spec }: PodLike, asked: string): string {
  const regular = spec.containers.map(({ name }) => name);
  const initial = (spec.initContainers ?? []).map(({ name }) => name);
  const ephemeral = (spec.ephemeralContainers ?? []).map(({ name }) => name);
  if (asked !== '') {
    if (![...regular, ...initial, ...ephemeral].includes(asked)) throw badRequest(`container ${asked} is not valid for pod ${metadata.name}`);
    return asked;
  }
  const [only] = regular;
  const preferred = metadata.annotations?.['kubectl.kubernetes.io/default-container'];
  if (preferred !== undefined && regular.includes(preferred)) return preferred;
  if (only !== undefined && regular.length === 1) return only;
  const further = (kind: string, names: readonly string[]) => (names.length === 0 ? '' : ` or one of the ${kind} containers: [${names.join(' ')}]`);
  const others = further('init', initial) + further('ephemeral', ephemeral);
  throw badRequest(`a container name must be specified for pod ${metadata.name}, choose one of: [${regular.join(' ')}]${others}`);
}

function repeated(query: URLSearchParams, from: string, to: string): URLSearchParams {
  const asked = new URLSearchParams();
  for (const value of query.getAll(from)) asked.append(to, value);
  return asked;
}

function withQuery(path: string, query: URLSearchParams): string {
  const text = query.toString();
  return text === '' ? path : `${path}?${text}`;
}
