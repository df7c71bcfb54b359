// Lints a metrics text: its form, duplicate families, types, duplicate series.

const sample = /^([a-zA-Z_:][\w:]*)(?:\{((?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\[\\"n])*",?)*)\})? (NaN|[-+]?Inf|[-+]?[\d.]+(?:e[-+]\d+)?)(?: (\d+))?$/;
const types: ReadonlySet<string> = new Set(['counter', 'gauge', 'histogram', 'summary', 'untyped']);

export function metricFindings(text: string): string[] {
  const findings: string[] = [];
  const families = new Map<string, string>();
  const series = new Set<string>();
  let current = '';
  if (!text.endsWith('\n')) findings.push('no newline at the end');
  for (const line of text.split('\n')) {
    if (line === '' || line.startsWith('# HELP ')) continue;
    const type = /^# TYPE (\S+) (\S+)$/.exec(line);
    if (type !== null) {
      const [, name = '', kind = ''] = type;
      if (families.has(name)) findings.push(`${name} comes twice`);
      if (!types.has(kind)) findings.push(`${name} has the unknown type ${kind}`);
      families.set(name, kind);
      current = name;
      continue;
    }
    const [, name = '', labels = ''] = sample.exec(line) ?? [];
    if (name === '') findings.push(`not a sample: ${line.slice(0, 120)}`);
    else if (current === '' || familyOf(name, families) !== current) findings.push(`${name} has no type before it`);
    const key = `${name}{${labels}}`;
    if (series.has(key)) findings.push(`two samples with the same labels: ${key.slice(0, 160)}`);
    series.add(key);
  }
  return findings;
}

function familyOf(name: string, families: ReadonlyMap<string, string>): string {
  if (families.has(name)) return name;
  const base = name.replace(/_(bucket|sum|count)$/, '');
  return families.get(base) === 'histogram' || families.get(base) === 'summary' ? base : '';
}

/** Family and type of each, by name. */
export function metricTypes(text: string): ReadonlyMap<string, string> {
  return new Map([...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '', type = '']) => [name, type]));
}

/** Names of the labels of each family, sorted; those that a histogram adds are left out. */
export function metricLabels(text: string): ReadonlyMap<string, readonly string[]> {
  const types = metricTypes(text);
  const found = new Map<string, Set<string>>();
  for (const line of text.split('\n')) {
    const [, name = '', labels = ''] = sample.exec(line) ?? [];
    if (name === '') continue;
    const family = familyOf(name, types);
    const names = found.get(family) ?? new Set<string>();
    found.set(family, names);
    for (const [, label = ''] of labels.matchAll(/([a-zA-Z_]\w*)="(?:[^"\\\n]|\\[\\"n])*"/g)) if (label !== 'le' && label !== 'quantile') names.add(label);
  }
  return new Map([...found].map(([family, names]) => [family, [...names].sort()]));
}
