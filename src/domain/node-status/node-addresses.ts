// The node's addresses: the configured ones, else those its name resolves to, else the address of its default route; with an external
// cloud provider, the provider's.
// Invariant: a configured address is on one of the node's interfaces, or the addresses stay as they were.
import type { NodeAddress } from '../../ports/model/node.js';
import { goQuote } from '../values/go-text.js';
import { formatIp, type IpAddress, type IpFamily, ipFamily, parseIp } from '../values/ip-address.js';

const providedNodeIpAnnotation = 'alpha.kubernetes.io/provided-node-ip';

export interface AddressFacts {
  readonly nodeName: string;
  readonly hostname: string;
  /** From the configuration: none, one, or one of each family. */
  readonly nodeIps: readonly string[];
  readonly externalCloudProvider: boolean;
  readonly interfaceIps: readonly string[];
  /** The addresses that the node's name resolves to; used only without another source. */
  readonly dnsAddresses: readonly string[];
  /** Addresses of the interfaces behind the default routes; null without such a route. */
  readonly defaultRoute: { readonly ipv4: string | null; readonly ipv6: string | null };
}

export type Annotations = Readonly<Record<string, string>>;

export interface AddressesUpdate {
  readonly addresses: readonly NodeAddress[];
  readonly annotations: Annotations;
  /** null: the addresses are good. */
  readonly error: string | null;
}

const noDefaultRoute = 'no default routes found in "/proc/net/route" or "/proc/net/ipv6_route"';

export function nodeAddresses(facts: AddressFacts, existing: readonly NodeAddress[], annotations: Annotations): AddressesUpdate {
  const [first = null, second = null] = facts.nodeIps.map(parseIp);
  const specified = [first, second].map((ip) => (ip === null || isUnspecified(ip) ? null : ip));
  const [primary = null, secondary = null] = specified;
  const kept = (error: string): AddressesUpdate => ({ addresses: existing, annotations, error });
  const problem = primary === null ? null : nodeIpProblem(primary, facts.interfaceIps);
  if (problem !== null) return kept(`failed to validate nodeIP: ${problem}`);
  const secondProblem = secondary === null ? null : nodeIpProblem(secondary, facts.interfaceIps);
  if (secondProblem !== null) return kept(`failed to validate secondaryNodeIP: ${secondProblem}`);

  const annotated = withProvidedIp(annotations, facts.externalCloudProvider ? primary : null, secondary);
  const hostname: NodeAddress = { type: 'Hostname', address: facts.hostname };
  const chosen = (...ips: readonly IpAddress[]): AddressesUpdate => {
    const internal = ips.map((ip) => ({ type: 'InternalIP', address: formatIp(ip) }));
    return { addresses: [...internal, hostname], annotations: annotated, error: null };
  };
  if (facts.externalCloudProvider) {
    if (existing.length > 0) return { addresses: existing, annotations: annotated, error: null };
    // The provider will set them; until then the node has only its name.
    if (facts.nodeIps.length === 0) return chosen();
  }
  if (primary !== null && secondary !== null) return chosen(primary, secondary);
  const preferred: IpFamily = first === null ? 4 : ipFamily(first);
  const ip = primary ?? parseIp(facts.hostname) ?? resolved(facts, preferred) ?? defaultRouteIp(facts, preferred);
  return ip === null ? { addresses: existing, annotations: annotated, error: `can't get ip address of node ${facts.nodeName}. error: ${noDefaultRoute}` } : chosen(ip);
}

/** Why the address is none that others could reach this node by; null: it is one. */
function nodeIpProblem(ip: IpAddress, interfaceIps: readonly string[]): string | null {
  const [a = 0, b = 0] = ip;
  const isV4 = ipFamily(ip) === 4;
  if (isV4 ? a === 127 : formatIp(ip) === '::1') return "nodeIP can't be loopback address";
  if (isV4 ? a >= 224 && a < 240 : a === 0xff) return "nodeIP can't be a multicast address";
  if (isV4 ? a === 169 && b === 254 : a === 0xfe && (b & 0xc0) === 0x80) return "nodeIP can't be a link-local unicast address";
  if (isUnspecified(ip)) return "nodeIP can't be an all zeros address";
  const text = formatIp(ip);
  const isOfHost = interfaceIps.map(parseIp).some((candidate) => candidate !== null && formatIp(candidate) === text);
  return isOfHost ? null : `node IP: ${goQuote(text)} not found in the host's network interfaces`;
}

function isUnspecified(ip: IpAddress): boolean {
  return ip.every((byte) => byte === 0);
}

/** Cloud providers read the node's configured addresses there. */
function withProvidedIp(annotations: Annotations, primary: IpAddress | null, secondary: IpAddress | null): Annotations {
  if (primary !== null) return { ...annotations, [providedNodeIpAnnotation]: [primary, ...(secondary === null ? [] : [secondary])].map(formatIp).join(',') };
  if (!Object.hasOwn(annotations, providedNodeIpAnnotation)) return annotations;
  const { [providedNodeIpAnnotation]: _stale, ...rest } = annotations;
  return rest;
}

/** The first usable address of the preferred family, else the first usable one. */
function resolved({ dnsAddresses, interfaceIps }: AddressFacts, preferred: IpFamily): IpAddress | null {
  const usable = dnsAddresses.map(parseIp).filter((ip) => ip !== null && nodeIpProblem(ip, interfaceIps) === null) as IpAddress[];
  return usable.find((ip) => ipFamily(ip) === preferred) ?? usable[0] ?? null;
}

function defaultRouteIp({ defaultRoute }: AddressFacts, preferred: IpFamily): IpAddress | null {
  const inOrder = preferred === 4 ? [defaultRoute.ipv4, defaultRoute.ipv6] : [defaultRoute.ipv6, defaultRoute.ipv4];
  return inOrder.map((text) => (text === null ? null : parseIp(text))).find((ip) => ip !== null) ?? null;
}
