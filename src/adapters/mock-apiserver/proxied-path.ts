// Requests that the server proxies: which part of a path belongs to the target, and a pod's address.
// The server connects to a pod directly, not through a kubelet. The real server refuses loopback addresses; this one is for
// tests, whose pods may have no others.
import { badRequest, type JsonObject } from '../../sim/index.js';

export interface ProxiedPath {
  /** Up to `/proxy`, as requested. */
  readonly own: string;
  /** What comes after it, still encoded; '' when nothing does. */
  readonly rest: string;
}

export interface ProxiedPod {
  readonly name: string;
  readonly scheme: 'http' | 'https';
  /** null: the first that its containers name, else the scheme's. */
  readonly port: number | null;
}

/** By position: namespaces, pods and nodes may be called `proxy`, too. */
const upToProxy = /^\/+api\/+v1\/+(?:namespaces\/+[^/]+\/+pods|nodes)\/+[^/]+\/+proxy/;
const portMax = 65_535;

export function proxiedPath(pathname: string): ProxiedPath {
  const own = upToProxy.exec(pathname)?.[0] ?? '';
  return { own, rest: pathname.slice(own.length) };
}

/** `NAME`, `NAME:PORT` or `SCHEME:NAME:PORT`. Throws `ApiRefusal`. */
export function proxiedPod(text: string): ProxiedPod {
  const parts = text.split(':');
  const [scheme, name, port] = parts.length === 3 ? parts : ['', ...parts];
  const isKnown = scheme === '' || scheme === 'http' || scheme === 'https';
  if (parts.length > 3 || !isKnown || !name) throw badRequest(`invalid pod request ${JSON.stringify(text)}`);
  if (!port) return { name, scheme: scheme || 'http', port: null };
  const number = /^\d+$/.test(port) ? Number(port) : 0;
  if (number < 1 || number > portMax) throw badRequest(`invalid pod request ${JSON.stringify(text)}: the port is to be a number from 1 to ${portMax}`);
  return { name, scheme: scheme || 'http', port: number };
}

interface PodLike {
  readonly spec?: { readonly containers?: readonly { readonly ports?: readonly { readonly containerPort: number }[] }[] };
  readonly status?: { readonly podIP?: string };
}

/** @param path with its query. Throws `ApiRefusal`: the pod has no address yet. */
export function podUrl(pod: JsonObject, { scheme, port }: ProxiedPod, path: string): URL {
  const { spec, status } = pod as unknown as PodLike;
  const address = status?.podIP ?? '';
  if (address === '') throw badRequest('address not allowed');
  const first = spec?.containers?.find(({ ports }) => (ports ?? []).length > 0)?.ports?.[0]?.containerPort;
  const known = port ?? first ?? null;
  return new URL(path.startsWith('/') ? path : `/${path}`, `${scheme}://${address.includes(':') ? `[${address}]` : address}${known === null ? '' : `:${known}`}`);
}

/** Rewrites a redirect within the same server to the proxy's path. */
export function proxiedLocation(location: string, url: URL, own: string): string {
  if (!URL.canParse(location, url.href)) return location;
  const target = new URL(location, url);
  return target.origin === url.origin ? `${own}${target.pathname}${target.search}${target.hash}` : location;
}
