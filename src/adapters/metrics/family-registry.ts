// Families declared as data (`kubelet-families.ts`), kept and written by prom-client.
// Invariants: a series is counted under the name, type and labels that its row declares, which the compiler checks; labels are written in the
// order of their names; a family without series is not written, as in other exporters.
import { Counter, Gauge, Histogram, Registry } from 'prom-client';

export type Stability = 'ALPHA' | 'BETA' | 'STABLE' | 'INTERNAL';

export interface Family<Type extends string = string, Label extends string = string> {
  readonly type: Type;
  readonly help: string;
  readonly stability: Stability;
  readonly labels: readonly Label[];
  /** Upper bounds of a histogram. */
  readonly buckets: readonly number[];
}

export type Families = Readonly<Record<string, Family>>;

type NamesOf<All extends Families, Type extends string> = { [Name in keyof All]: All[Name]['type'] extends Type ? Name : never }[keyof All] & string;
export type LabelsOf<All extends Families, Name extends keyof All> = Readonly<Record<All[Name]['labels'][number], string>>;
export type CounterName<All extends Families> = NamesOf<All, 'counter'>;
export type HistogramName<All extends Families> = NamesOf<All, 'histogram'>;
export type GaugeName<All extends Families> = NamesOf<All, 'gauge'>;

/** A value read at a scrape: of a gauge, or of a counter kept elsewhere. */
export type Reading<All extends Families> = {
  [Name in GaugeName<All> | CounterName<All>]: readonly [name: Name, labels: LabelsOf<All, Name>, value: number];
}[GaugeName<All> | CounterName<All>];

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

  async text(): Promise<string> {
    const text = await this.registry.metrics();
    return text
      .replace(/^# HELP [^\n]*\n# TYPE [^\n]*\n(?=\n|$|# )/gm, '')
      .replace(/\n{2,}/g, '\n')
      .replace(/^\n/, '');
  }
}
