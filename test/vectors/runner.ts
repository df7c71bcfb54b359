// The vector runner: every `<area>.jsonl` of a directory against `drivers/<area>.js`.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { altered, type Difference, differences, isObject, type Json } from './compare.js';
import type { VectorDriver } from './driver.js';

export interface VectorCase {
  readonly id: string;
  readonly input: Json;
  readonly want: Json;
}

export interface AreaResult {
  readonly area: string;
  readonly total: number;
  readonly passed: number;
  readonly excluded: readonly string[];
  readonly failures: readonly { readonly id: string; readonly text: string }[];
}

export interface RunOptions {
  readonly directory: string;
  /** Only these areas; empty: all of the directory. */
  readonly areas: readonly string[];
  /** Alter one value of each `want`; then a case passes when the comparison fails. */
  readonly selfCheck: boolean;
  /** case id -> reason; listed in docs/differences.md too. */
  readonly exclusions: Readonly<Record<string, string>>;
}

const driversDirectory = fileURLToPath(new URL('./drivers/', import.meta.url));

/** Areas of a directory, by file name. An area without a driver is an error of the run, not a skip. */
export function areasOf(directory: string): string[] {
  return readdirSync(directory)
    .filter((name) => name.endsWith('.jsonl'))
    .map((name) => name.slice(0, -'.jsonl'.length))
    .sort();
}

export function hasDriver(area: string): boolean {
  return existsSync(join(driversDirectory, `${area}.js`));
}

export async function runArea(area: string, options: RunOptions): Promise<AreaResult> {
  const { driver } = (await import(join(driversDirectory, `${area}.js`))) as { driver: VectorDriver };
  const failures: { id: string; text: string }[] = [];
  const excluded: string[] = [];
  let total = 0;
  for (const line of readFileSync(join(options.directory, `${area}.jsonl`), 'utf8').split('\n')) {
    if (line.trim() === '') continue;
    const vector = JSON.parse(line) as VectorCase;
    if (options.exclusions[vector.id] !== undefined) {
      excluded.push(vector.id);
      continue;
    }
    total++;
    const text = await failureOfLine(driver, line, options.selfCheck);
    if (text !== null) failures.push({ id: vector.id, text });
  }
  return { area, total, passed: total - failures.length, excluded, failures };
}

/** Of one line of an area's file; null: it passes. */
export function failureOfLine(driver: VectorDriver, line: string, selfCheck: boolean): Promise<string | null> {
  const vector = JSON.parse(line) as VectorCase;
  const input = driver.exactIntegers === true ? (exactJson(line) as VectorCase).input : vector.input;
  return caseProblem(driver, { ...vector, input }, selfCheck);
}

/** JSON with integers of 16 digits and more as bigint; a number in a text is left alone. */
function exactJson(text: string): unknown {
  const marked = text.replace(/"(?:[^"\\]|\\.)*"|-?\d{16,}(?![\d.eE])/g, (token) => (token.startsWith('"') ? token : `"${bigintMark}${token}"`));
  return JSON.parse(marked, (_key, value: unknown) => (typeof value === 'string' && value.startsWith(bigintMark) ? BigInt(value.slice(bigintMark.length)) : value));
}
const bigintMark = 'bigint: ';

async function caseProblem(driver: VectorDriver, vector: VectorCase, selfCheck: boolean): Promise<string | null> {
  const relevant = without(vector.want, driver.informative ?? []);
  const want = selfCheck ? altered(relevant, vector.id) : relevant;
  let found: Difference[];
  try {
    const got = await (driver.run(vector.input as never) as unknown);
    // Through JSON: what a caller would see on the wire, without undefined members.
    const plain: unknown = got === undefined ? undefined : JSON.parse(JSON.stringify(got));
    found = driver.compare === undefined ? differences(plain, want) : driver.compare(plain as never, want);
  } catch (error) {
    if (selfCheck) return `the driver threw: ${String(error)}`;
    return error instanceof Error ? (error.stack ?? error.message) : String(error);
  }
  if (selfCheck) return found.length === 0 ? 'one value of `want` was altered and the comparison did not notice' : null;
  return found.length === 0 ? null : found.slice(0, 8).map(show).join('\n');
}

function without(want: Json, informative: readonly string[]): Json {
  if (informative.length === 0 || !isObject(want)) return want;
  return Object.fromEntries(Object.entries(want).filter(([name]) => !informative.includes(name))) as Json;
}

function show(difference: Difference): string {
  return `${difference.path === '' ? '(whole)' : difference.path}: got ${text(difference.got)}, want ${text(difference.want)}`;
}

function text(value: unknown): string {
  const json = value === undefined ? 'nothing' : JSON.stringify(value);
  return json.length > 300 ? `${json.slice(0, 300)}…` : json;
}
