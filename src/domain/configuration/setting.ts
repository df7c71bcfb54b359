// The content of a row in the field table. Everything else is derived from these rows: decoding, defaults, merging, flags,
// `--help`, the manual page, the shown form and the type KubeletConfiguration.
// Invariant: a setting is described in exactly one place.
import type { Nanoseconds } from '../values/go-duration.js';
import { boolKind, durationKind, type FlexibleDuration, flexibleDurationKind, floatKind, int32Kind, int64Kind, listKind, mapKind, textKind, type ValueKind } from './value-kind.js';

/**
 * How "unset" differs from "zero", and what is shown:
 * - `value`: zero is unset; hidden when zero.
 * - `shown`: zero is unset; always shown (durations, structures).
 * - `pointer`: only absent is unset; has a default, so it is always shown.
 * - `nullable`: only absent is unset and it may stay so; hidden when null.
 * - `collection`: only absent is unset, but the shown form doesn't distinguish empty from absent.
 */
export type Presence = 'value' | 'shown' | 'pointer' | 'nullable' | 'collection';

export interface FlagOfSetting {
  readonly name: string;
  /** The flag's own type where it isn't that of the setting. */
  readonly type?: 'ip' | 'langle' | 'one-pair' | 'level';
  readonly shorthand?: string;
  /** False for the few flags that are not deprecated in favour of the file. */
  readonly deprecated?: false;
}

export interface Setting<V> {
  readonly node: 'setting';
  // biome-ignore lint/suspicious/noExplicitAny: the table holds kinds of every type; `V` says which one a row has.
  readonly kind: ValueKind<any>;
  readonly presence: Presence;
  /** null: none, or decided by other settings (see defaults.ts). */
  readonly fallback: V | null;
  readonly flag: FlagOfSetting | null;
  /** A path that is relative to the configuration file's directory. */
  readonly relativeToFile: boolean;
  /** The release that brought the field. */
  readonly since: string;
  readonly doc: string;
}

export interface Group<F extends Fields, V> {
  readonly node: 'group';
  readonly fields: F;
  /** An optional group is null while unset. */
  readonly optional: boolean;
  readonly value?: V;
}

// biome-ignore lint/suspicious/noExplicitAny: as above, rows of every type.
export type Fields = { readonly [name: string]: Setting<any> | Group<any, any> };

export type ValuesOf<F extends Fields> = { readonly [K in keyof F]: F[K] extends Setting<infer V> ? V : F[K] extends Group<infer G, infer V> ? GroupValue<G, V> : never };
type GroupValue<G extends Fields, V> = null extends V ? ValuesOf<G> | null : ValuesOf<G>;

/** Optional parts of a row. */
export interface Notes {
  readonly flag?: string | FlagOfSetting;
  readonly since?: string;
  readonly relativeToFile?: true;
}

/** The release in which the configuration file became v1beta1. */
const firstRelease = '1.10';

function setting<V>(kind: ValueKind<unknown>, presence: Presence, fallback: V | null, doc: string, notes: Notes): Setting<V> {
  const flag = typeof notes.flag === 'string' ? { name: notes.flag } : (notes.flag ?? null);
  return { node: 'setting', kind, presence, fallback, flag, relativeToFile: notes.relativeToFile ?? false, since: notes.since ?? firstRelease, doc };
}

// biome-ignore lint/suspicious/noExplicitAny: erases the kind's type once, here.
const erased = (kind: ValueKind<any>): ValueKind<unknown> => kind;

export const text = (fallback: string, doc: string, notes: Notes = {}): Setting<string> => setting(erased(textKind), 'value', fallback, doc, notes);
/** A text that may be set to empty explicitly. */
export const textOrEmpty = (fallback: string, doc: string, notes: Notes = {}): Setting<string> => setting(erased(textKind), 'pointer', fallback, doc, notes);
export const optionalText = (doc: string, notes: Notes = {}): Setting<string | null> => setting<string | null>(erased(textKind), 'nullable', null, doc, notes);

/** Off unless set. */
export const off = (doc: string, notes: Notes = {}): Setting<boolean> => setting(erased(boolKind), 'value', false, doc, notes);
export const bool = (fallback: boolean, doc: string, notes: Notes = {}): Setting<boolean> => setting(erased(boolKind), 'pointer', fallback, doc, notes);
export const optionalBool = (doc: string, notes: Notes = {}): Setting<boolean | null> => setting<boolean | null>(erased(boolKind), 'nullable', null, doc, notes);

export const int32 = (fallback: number, doc: string, notes: Notes = {}): Setting<number> => setting(erased(int32Kind), 'value', fallback, doc, notes);
/** An integer that may be set to zero explicitly. */
export const int32OrZero = (fallback: number, doc: string, notes: Notes = {}): Setting<number> => setting(erased(int32Kind), 'pointer', fallback, doc, notes);
export const optionalInt32 = (doc: string, notes: Notes = {}): Setting<number | null> => setting<number | null>(erased(int32Kind), 'nullable', null, doc, notes);
export const int64 = (fallback: number, doc: string, notes: Notes = {}): Setting<number> => setting(erased(int64Kind), 'value', fallback, doc, notes);
export const int64OrZero = (fallback: number, doc: string, notes: Notes = {}): Setting<number> => setting(erased(int64Kind), 'pointer', fallback, doc, notes);
export const optionalInt64 = (doc: string, notes: Notes = {}): Setting<number | null> => setting<number | null>(erased(int64Kind), 'nullable', null, doc, notes);
export const floatOrZero = (fallback: number, doc: string, notes: Notes = {}): Setting<number> => setting(erased(floatKind), 'pointer', fallback, doc, notes);

export const duration = (fallback: Nanoseconds, doc: string, notes: Notes = {}): Setting<Nanoseconds> => setting(erased(durationKind), 'shown', fallback, doc, notes);
export const durationOrZero = (fallback: Nanoseconds, doc: string, notes: Notes = {}): Setting<Nanoseconds> => setting(erased(durationKind), 'pointer', fallback, doc, notes);
export const optionalDuration = (doc: string, notes: Notes = {}): Setting<Nanoseconds | null> => setting<Nanoseconds | null>(erased(durationKind), 'nullable', null, doc, notes);
export const flexibleDuration = (fallback: FlexibleDuration, doc: string, notes: Notes = {}): Setting<FlexibleDuration> =>
  setting(erased(flexibleDurationKind), 'shown', fallback, doc, notes);

export const list = <T>(kind: ValueKind<T>, fallback: readonly T[] | null, doc: string, notes: Notes = {}): Setting<readonly T[]> =>
  setting(erased(listKind(kind)), 'collection', fallback, doc, notes);
export const texts = (fallback: readonly string[] | null, doc: string, notes: Notes = {}): Setting<readonly string[]> => list(textKind, fallback, doc, notes);
export const map = <T>(kind: ValueKind<T>, doc: string, notes: Notes = {}): Setting<Readonly<Record<string, T>>> =>
  setting<Readonly<Record<string, T>>>(erased(mapKind(kind)), 'collection', null, doc, notes);
export const textMap = (doc: string, notes: Notes = {}): Setting<Readonly<Record<string, string>>> => map(textKind, doc, notes);
/** A value of its own kind, always shown. */
export const shown = <T>(kind: ValueKind<T>, fallback: T, doc: string, notes: Notes = {}): Setting<T> => setting(erased(kind), 'shown', fallback, doc, notes);
export const plain = <T>(kind: ValueKind<T>, fallback: T, doc: string, notes: Notes = {}): Setting<T> => setting(erased(kind), 'value', fallback, doc, notes);

export const group = <F extends Fields>(fields: F): Group<F, object> => ({ node: 'group', fields, optional: false });
export const optionalGroup = <F extends Fields>(fields: F): Group<F, object | null> => ({ node: 'group', fields, optional: true });
