// The Prometheus text format, version 0.0.4, with time stamps, which prom-client can't write.
// See https://prometheus.io/docs/instrumenting/exposition_formats/.
// Invariants: a family is written once with its help and type before its samples, families in the order of their names; what comes from pods is escaped.

export const metricsContentType = 'text/plain; version=0.0.4; charset=utf-8; escaping=underscores';

export type MetricType = 'counter' | 'gauge';

/** Lines of a family that are made into one text: a line by itself is five objects until then, which a node's thousands of lines have the collector move about. */
const linesAtOnce = 64;

/** One metric name with its samples. */
export class MetricFamily {
  private readonly texts: string[] = [];
  private readonly lines: string[] = [];

  constructor(
    readonly name: string,
    readonly type: MetricType,
    readonly help: string,
  ) {}

  /** @param labels as `labelText` gives them, without braces; '' for none. @param timestampMillis null: the time of the scrape */
  add(labels: string, value: number, timestampMillis: number | null): void {
    if (this.lines.length === linesAtOnce) {
      this.texts.push(this.lines.join(''));
      this.lines.length = 0;
    }
    const stamp = timestampMillis === null ? '' : ` ${timestampMillis}`;
    this.lines.push(labels === '' ? `${this.name} ${metricNumber(value)}${stamp}\n` : `${this.name}{${labels}} ${metricNumber(value)}${stamp}\n`);
  }

  get isEmpty(): boolean {
    return this.lines.length === 0;
  }

  text(): string {
    return [`# HELP ${this.name} ${escapedHelp(this.help)}\n# TYPE ${this.name} ${this.type}\n`, ...this.texts, ...this.lines].join('');
  }
}

/** The text of each family that has samples, by name. */
export function* familyTexts(families: Iterable<MetricFamily>): Generator<string> {
  for (const family of [...families].sort((a, b) => (a.name < b.name ? -1 : 1))) if (!family.isEmpty) yield family.text();
}

/** `a="1",b="2"` in the order given, which is to be that of the names. */
export function labelText(labels: readonly (readonly [name: string, value: string])[]): string {
  return labels.map(([name, value]) => `${name}="${escapedLabel(value)}"`).join(',');
}

export function escapedLabel(value: string): string {
  return /[\\"\n]/.test(value) ? value.replace(/\\/g, '\\\\').replace(/"/g, '\\"').replace(/\n/g, '\\n') : value;
}

function escapedHelp(help: string): string {
  return help.replace(/\\/g, '\\\\').replace(/\n/g, '\\n');
}

const letterE = 'e'.charCodeAt(0);

/** In the shortest form of Go's strconv: with an exponent from 1e+06 on and below 1e-04. */
export function metricNumber(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf';
  const size = Math.abs(value);
  if (size === 0 || (size >= 1e-4 && size < 1e6)) return String(value);
  const text = value.toExponential();
  // An exponent has two digits at the least.
  return text.charCodeAt(text.length - 3) === letterE ? `${text.slice(0, -1)}0${text.slice(-1)}` : text;
}
