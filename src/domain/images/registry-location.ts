// Locations of registry credentials: `host[:port][/path]`, as written in Docker configurations, and whether an image matches.
// Invariant: host names are compared part by part, so that `*` never spans a dot.
import { globMatches } from '../values/glob.js';
import { parseIp } from '../values/ip-address.js';

interface Location {
  readonly host: string;
  readonly path: string;
}

/** The key of a location: without scheme, query and a leading `/v1` or `/v2`. Null if it is no URL. */
export function registryKey(location: string): string | null {
  const url = parse(/^https?:\/\//.test(location) ? location.replace(/^https?:\/\//, '') : location);
  if (url === null) return null;
  const path = /^\/v[12]\//.test(url.path) ? url.path.slice('/v1'.length) : url.path;
  return path === '/' ? url.host : url.host + path;
}

/**
 * Whether the key's credentials are for this repository.
 * @param repository fully qualified, without tag and digest
 */
export function keyMatchesRepository(key: string, repository: string): boolean {
  const glob = parse(key);
  const target = parse(repository);
  if (glob === null || target === null) return false;
  const wanted = splitHost(glob.host);
  const given = splitHost(target.host);
  if (wanted.port !== given.port || wanted.parts.length !== given.parts.length || !target.path.startsWith(glob.path)) return false;
  return wanted.parts.every((part, i) => globMatches(part, given.parts[i]!) === true);
}

/** What follows `https://` in a URL. */
function parse(text: string): Location | null {
  // A URL with control characters is none.
  if (/[\x00-\x1f\x7f]/.test(text)) return null;
  const withoutFragment = text.split('#', 1)[0]!;
  const address = withoutFragment.split('?', 1)[0]!;
  const slash = address.indexOf('/');
  const authority = slash < 0 ? address : address.slice(0, slash);
  const path = slash < 0 ? '' : decodePath(address.slice(slash));
  const at = authority.lastIndexOf('@');
  if (path === null || (at >= 0 && !/^[A-Za-z0-9\-._:~!$&'()*+,;=%@]*$/.test(authority.slice(0, at)))) return null;
  const host = authority.slice(at + 1);
  return isHost(host) ? { host, path } : null;
}

function isHost(host: string): boolean {
  if (!/^[A-Za-z0-9\-._~!$&'()*+,;=:[\]<>"\u0080-\uffff]*$/.test(host)) return false;
  if (host.startsWith('[')) {
    const close = host.lastIndexOf(']');
    return close > 0 && /^(:[0-9]*)?$/.test(host.slice(close + 1)) && parseIp(host.slice(1, close)) !== null;
  }
  const colon = host.lastIndexOf(':');
  return colon < 0 || /^:[0-9]*$/.test(host.slice(colon));
}

function decodePath(path: string): string | null {
  if (/%(?![0-9a-fA-F]{2})/.test(path)) return null;
  return path.replace(/%([0-7][0-9a-fA-F])/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

function splitHost(host: string): { readonly parts: readonly string[]; readonly port: string } {
  const bracketed = /^\[([^\]]*)\]:([0-9]*)$/.exec(host);
  const plain = /^([^:[\]]*):([0-9]*)$/.exec(host);
  const [, name, port] = bracketed ?? plain ?? [null, host, ''];
  return { parts: (name ?? host).split('.'), port: port ?? '' };
}
