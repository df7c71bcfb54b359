// Families of metrics as rows of a table, with the types that follow from them: which name is a counter, and which labels it takes.
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

export function counter<Label extends string = never>(help: string, labels: readonly Label[] = [], stability: Stability = 'ALPHA'): Family<'counter', Label> {
  return { type: 'counter', help, stability, labels, buckets: [] };
}

export function gauge<Label extends string = never>(help: string, labels: readonly Label[] = [], stability: Stability = 'ALPHA'): Family<'gauge', Label> {
  return { type: 'gauge', help, stability, labels, buckets: [] };
}

export function histogram<Label extends string = never>(help: string, buckets: readonly number[], labels: readonly Label[] = []): Family<'histogram', Label> {
  return { type: 'histogram', help, stability: 'ALPHA', labels, buckets };
}
