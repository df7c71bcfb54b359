// The paths that the kubelet's port serves, and checks before authorization: an unserved path is not
// found, and a path that is not clean, or lacks its trailing slash, is redirected.
// Invariant: a path that matches a pattern is clean, so that no handler ever sees `..`.
import type { PatternMatch } from '../../ports/inbound/request-policy.js';
import { decodePath } from '../values/request-target.js';
import { cleanPath } from '../values/slash-paths.js';

const exactPatterns: readonly string[] = [
  '/healthz',
  '/healthz/ping',
  '/healthz/log',
  '/healthz/syncloop',
  '/healthz/device-plugin',
  '/metrics',
  '/metrics/cadvisor',
  '/metrics/resource',
  '/metrics/probes',
  '/metrics/slis',
  '/configz',
  '/debug/flags/v',
  '/flagz',
  '/statusz',
];
/** The path itself and everything below it. */
const treePatterns: readonly string[] = ['/pods', '/exec', '/attach', '/portForward', '/run', '/containerLogs'];
/** Everything below; the bare form is redirected to the one with a slash. */
const directoryPatterns: readonly string[] = ['/stats/', '/runningpods/', '/logs/', '/checkpoint/', '/debug/pprof/'];

const exact: ReadonlySet<string> = new Set([...exactPatterns, ...treePatterns]);
const prefixes: readonly string[] = [...treePatterns.map((pattern) => `${pattern}/`), ...directoryPatterns];
/** All of them, whether or not a server has a route for each; a tree or directory ends in a slash. */
export const serverPatterns: readonly string[] = [...exact, ...prefixes];

/** Finds the pattern that serves a request. @param path percent-encoded, without query @param query without `?`; kept by redirects */
export function matchServerPattern(method: string, path: string, query: string): PatternMatch {
  // A proxy's CONNECT names no path of this server that could be cleaned.
  const clean = method === 'CONNECT' ? path : cleanRequestPath(path);
  const decoded = decodeElements(clean);
  if (decoded === null) return { kind: 'notFound' };
  const rest = query === '' ? '' : `?${query}`;
  const pattern = exact.has(decoded) ? decoded : (prefixes.find((prefix) => decoded.startsWith(prefix)) ?? null);
  if (pattern === null && directoryPatterns.includes(`${decoded}/`)) return { kind: 'redirect', location: `${decoded}/${rest}` };
  if (clean !== path) return { kind: 'redirect', location: clean + rest };
  return pattern === null ? { kind: 'notFound' } : { kind: 'matched', pattern };
}

function cleanRequestPath(path: string): string {
  const clean = cleanPath(path.startsWith('/') ? path : `/${path}`);
  return path.endsWith('/') && clean !== '/' ? `${clean}/` : clean;
}

/** Decoded one by one, so that an encoded slash makes no new element; no pattern has such an element. */
function decodeElements(path: string): string | null {
  const elements = path.split('/').map(decodePath);
  // Below a pattern an element may hold anything; only its own elements are compared, and those have no slash.
  return elements.includes(null) ? null : elements.map((element) => (element as string).replaceAll('/', '%2F')).join('/');
}
