// Parses a kubelet's /metrics/resource: totals of CPU and the memory in use, with the times of their readings.
// Invariant: malformed lines are skipped, and so are values without a time.

export interface UsageSample {
  cpu: { readonly atMillis: number; readonly seconds: number } | null;
  memoryBytes: number | null;
  startedAtMillis: number | null;
}

export interface NodeSample {
  /** Of its newest reading. */
  readonly atMillis: number;
  readonly node: UsageSample;
  /** By `namespace/name` and container. */
  readonly pods: ReadonlyMap<string, ReadonlyMap<string, UsageSample>>;
}

const line = /^([a-z_]+)(?:\{((?:[a-z_]+="(?:[^"\\]|\\.)*",?)*)\})? (\S+)(?: (\d+))?$/;

/** null: the kubelet has no numbers of its node. */
export function parseResourceMetrics(text: string): NodeSample | null {
  const node = emptySample();
  const pods = new Map<string, Map<string, UsageSample>>();
  let atMillis = 0;
  for (const one of text.split('\n')) {
    const [, name = '', labels = '', number = '', stamp] = line.exec(one) ?? [];
    const value = Number(number);
    if (name === '' || !Number.isFinite(value)) continue;
    const at = stamp === undefined ? null : Number(stamp);
    if (at !== null) atMillis = Math.max(atMillis, at);
    if (name.startsWith('node_')) takeIn(node, name.slice('node_'.length), value, at);
    else if (name.startsWith('container_')) takeIn(sampleOf(pods, labelsOf(labels)), name.slice('container_'.length), value, at);
  }
  return atMillis === 0 ? null : { atMillis, node, pods };
}

function takeIn(sample: UsageSample, name: string, value: number, at: number | null): void {
  if (name === 'cpu_usage_seconds_total' && at !== null) sample.cpu = { atMillis: at, seconds: value };
  else if (name === 'memory_working_set_bytes') sample.memoryBytes = value;
  else if (name === 'start_time_seconds') sample.startedAtMillis = value * 1_000;
}

function sampleOf(pods: Map<string, Map<string, UsageSample>>, labels: ReadonlyMap<string, string>): UsageSample {
  const key = `${labels.get('namespace') ?? ''}/${labels.get('pod') ?? ''}`;
  const containers = pods.get(key) ?? new Map<string, UsageSample>();
  pods.set(key, containers);
  const name = labels.get('container') ?? '';
  const sample = containers.get(name) ?? emptySample();
  containers.set(name, sample);
  return sample;
}

function labelsOf(text: string): ReadonlyMap<string, string> {
  const unescaped = (value: string): string => value.replace(/\\(.)/g, (_, escaped: string) => (escaped === 'n' ? '\n' : escaped));
  return new Map([...text.matchAll(/([a-z_]+)="((?:[^"\\]|\\.)*)"/g)].map(([, name = '', value = '']) => [name, unescaped(value)]));
}

function emptySample(): UsageSample {
  return { cpu: null, memoryBytes: null, startedAtMillis: null };
}
