// Labels of the metrics that count requests to the kubelet's port.
// Invariant: the labels take few values for any input: an unknown value is `other`.

const methods: ReadonlySet<string> = new Set(['OPTIONS', 'GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'TRACE', 'CONNECT']);
const buckets: ReadonlySet<string> = new Set([
  'pods',
  'healthz',
  'configz',
  'flagz',
  'statusz',
  'stats',
  'runningpods',
  'logs',
  'checkpoint',
  'debug',
  'exec',
  'attach',
  'portForward',
  'run',
  'containerLogs',
  'metrics',
  'metrics/cadvisor',
  'metrics/resource',
  'metrics/probes',
  'metrics/slis',
]);
/** Port forwarding lasts long too, but its bucket has always been compared under another spelling: dashboards know it as short. */
const longRunning: ReadonlySet<string> = new Set(['exec', 'attach', 'debug']);

const streamed: Readonly<Record<string, string>> = { exec: 'exec', attach: 'attach', portForward: 'portforward' };
/** Answers to refused requests, or to unserved paths. */
const turnedAway: ReadonlySet<number> = new Set([401, 403, 404, 405]);

export function methodLabel(method: string): string {
  return methods.has(method) ? method : 'other';
}

/** @param path decoded, without query */
export function pathLabel(path: string): string {
  const [first = '', second = ''] = path.replace(/^\//, '').split('/', 2);
  const bucket = first === 'metrics' && second !== '' ? `metrics/${second}` : first;
  return buckets.has(bucket) ? bucket : 'other';
}

export function longRunningLabel(path: string): 'true' | 'false' {
  return longRunning.has(pathLabel(path)) ? 'true' : 'false';
}

/** The stream of a WebSocket request; null: no WebSocket, or refused. @param upgrade the requested protocol in the client's spelling */
export function webSocketLabel(path: string, upgrade: string | null, status: number): string | null {
  if (upgrade?.toLowerCase() !== 'websocket' || turnedAway.has(status)) return null;
  const label = pathLabel(path);
  return Object.hasOwn(streamed, label) ? (streamed[label] ?? null) : null;
}
