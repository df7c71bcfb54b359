// Families declared as data (`ports/outbound/metrics`), kept and written by prom-client.
// Invariants: a series is counted under the name, type and labels that its row declares, which the compiler checks; labels are written in the
// order of their names; a family without series is not written, as in other exporters.
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { CounterName, Families, HistogramName, LabelsOf, Reading } from '../../ports/outbound/metrics/family-kinds.js';

export class FamilyRegistry<All extends Families> {
  readonly registry = new Registry();
  private replaced: ReadonlySet<string> = new Set();
  private readonly kept = new Map<string, Counter<string> | Gauge<string> | Histogram<string>>();

  constructor(families: All) {
    for (const [name, { type, help, stability, labels, buckets }] of Object.entries(families)) {
      const options = { name, help: `[${stability}] ${help}`, labelNames: labels.toSorted(), registers: [this.registry] };
      if (type === 'counter') this.kept.set(name, new Counter(options));
      else if (type === 'gauge') this.kept.set(name, new Gauge(options));
      else this.kept.set(name, new Histogram({ ...options, buckets: [...buckets] }));
    }
  }

  count<Name extends CounterName<All>>(name: Name, labels: LabelsOf<All, Name>, by = 1): void {
    (this.kept.get(name) as Counter<string>).inc(labels, by);
  }

  observe<Name extends HistogramName<All>>(name: Name, labels: LabelsOf<All, Name>, value: number): void {
    (this.kept.get(name) as Histogram<string>).observe(labels, value);
  }

  /** Removes all previous series of these names. */
  read(readings: readonly Reading<All>[]): void {
    this.set(new Set(readings.map(([one]) => one)), readings);
  }

  /** Like `read`, and removes the series of names that the call before had and this one has not. */
  replace(readings: readonly Reading<All>[]): void {
    const names = new Set<string>(readings.map(([one]) => one));
    this.set(new Set([...this.replaced, ...names]), readings);
    this.replaced = names;
  }

  private set(names: ReadonlySet<string>, readings: readonly Reading<All>[]): void {
    for (const name of names) this.kept.get(name)?.reset();
    for (const [name, labels, value] of readings) {
      const one = this.kept.get(name);
      if (one instanceof Gauge) one.set(labels, value);
      else if (one instanceof Counter) one.inc(labels, value);
    }
  }

  forget<Name extends keyof All & string>(name: Name, labels: LabelsOf<All, Name>): void {
    this.kept.get(name)?.remove(labels);
  }

  reset(): void {
    for (const one of this.kept.values()) one.reset();
  }

  /** Each family's text by itself: all of them at once would take one long turn of the event loop. */
  async *texts(): AsyncGenerator<string> {
    for (const { name } of this.registry.getMetricsAsArray()) {
      const text = await this.registry.getSingleMetricAsString(name);
      // Without series there are only its help and its type.
      if (text.indexOf('\n', text.indexOf('\n') + 1) >= 0) yield `${text}\n`;
    }
  }
}
