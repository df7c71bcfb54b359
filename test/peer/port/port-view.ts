// What a kubelet shows at its port, without figures: families of metrics with their types and labels, fields of the summary and of the list of pods.
import { metricLabels, metricTypes } from '../../adapters/metric-lint.js';
import type { Json } from '../admin-client.js';
import type { PeerStand } from '../peer-stand.js';

export interface PortView {
  /** By path, then by name: `<type> <label>,<label> <stability>`. */
  readonly metrics: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** By query: each path, and the type of its value. */
  readonly summary: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** By pod: each path of the answer to `/pods`, and the type of its value. */
  readonly pods: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

export const metricPaths = ['/metrics', '/metrics/cadvisor', '/metrics/resource', '/metrics/probes', '/metrics/slis'] as const;
const summaryQueries = ['', '?only_cpu_and_memory=true'] as const;

export async function portView({ client }: PeerStand): Promise<PortView> {
  const ask = async (path: string): Promise<string> => {
    const { status, text } = await client.kubelet(path);
    if (status !== 200) throw new Error(`${path}: ${status} ${text}`);
    return text;
  };
  const metrics: Record<string, Record<string, string>> = {};
  for (const path of metricPaths) metrics[path] = familiesOf(await ask(path));
  const summary: Record<string, Record<string, string>> = {};
  for (const query of summaryQueries) summary[query] = shapeOf(JSON.parse(await ask(`/stats/summary${query}`)));
  const { items } = JSON.parse(await ask('/pods'));
  return { metrics, summary, pods: Object.fromEntries(items.map((pod: Json) => [pod.metadata.name, shapeOf(pod)])) };
}

function familiesOf(text: string): Record<string, string> {
  const labels = metricLabels(text);
  const stability = new Map([...text.matchAll(/^# HELP (\S+) \[([A-Z]+)\]/gm)].map(([, name = '', level = '']) => [name, level]));
  return Object.fromEntries([...metricTypes(text)].sort().map(([name, type]) => [name, [type, (labels.get(name) ?? []).join(','), stability.get(name) ?? ''].join(' ')]));
}

/** Paths of all values, with their types; elements of lists under `[]`, keys of labels and annotations under `*`. */
export function shapeOf(value: Json, path = '', found: Record<string, string> = {}): Record<string, string> {
  if (Array.isArray(value)) {
    found[path] = 'array';
    for (const one of value) shapeOf(one, `${path}[]`, found);
  } else if (typeof value === 'object' && value !== null) {
    found[path] = 'object';
    if (/\.(labels|annotations)$/.test(path)) found[`${path}.*`] = 'string';
    else for (const [key, one] of Object.entries(value)) shapeOf(one, path === '' ? key : `${path}.${key}`, found);
  } else found[path] = value === null ? 'null' : typeof value === 'string' && /^\d{4}-\d\d-\d\dT/.test(value) ? 'time' : typeof value;
  return found;
}
