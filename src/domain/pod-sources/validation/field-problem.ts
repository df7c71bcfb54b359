// A problem of one field, with the types and texts of the API (field.Error of the API machinery), which users and tools know.

export type FieldProblemType =
  | 'FieldValueNotFound'
  | 'FieldValueRequired'
  | 'FieldValueDuplicate'
  | 'FieldValueInvalid'
  | 'FieldValueNotSupported'
  | 'FieldValueForbidden'
  | 'FieldValueTooLong'
  | 'FieldValueTooMany';

export interface FieldProblem {
  readonly type: FieldProblemType;
  /** e.g. `spec.containers[0].ports[1].hostPort`. */
  readonly field: string;
  /** The whole text, field first. */
  readonly message: string;
}

/** The output of checks; plain functions append to it. */
export type Problems = FieldProblem[];

/** Longer values are truncated, to keep the message readable. */
const maxShownValue = 200;

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? 'null';
  return text.length > maxShownValue ? `${text.slice(0, maxShownValue)}…` : text;
}

function add(problems: Problems, type: FieldProblemType, field: string, what: string, detail: string): void {
  problems.push({ type, field, message: `${field}: ${what}${detail === '' ? '' : `: ${detail}`}` });
}

export function required(problems: Problems, field: string, detail = ''): void {
  add(problems, 'FieldValueRequired', field, 'Required value', detail);
}
export function invalid(problems: Problems, field: string, value: unknown, detail: string): void {
  add(problems, 'FieldValueInvalid', field, `Invalid value: ${shown(value)}`, detail);
}
/** One problem for each text of a naming rule's answer. */
export function invalidFor(problems: Problems, field: string, value: unknown, details: readonly string[]): void {
  for (const detail of details) invalid(problems, field, value, detail);
}
export function duplicate(problems: Problems, field: string, value: unknown): void {
  add(problems, 'FieldValueDuplicate', field, `Duplicate value: ${shown(value)}`, '');
}
export function forbidden(problems: Problems, field: string, detail: string): void {
  add(problems, 'FieldValueForbidden', field, 'Forbidden', detail);
}
export function notFound(problems: Problems, field: string, value: unknown): void {
  add(problems, 'FieldValueNotFound', field, `Not found: ${shown(value)}`, '');
}
export function tooLong(problems: Problems, field: string, maxBytes: number): void {
  add(problems, 'FieldValueTooLong', field, 'Too long', `may not be more than ${maxBytes} bytes`);
}
export function tooMany(problems: Problems, field: string, count: number, max: number): void {
  add(problems, 'FieldValueTooMany', field, `Too many: ${count}`, `must have at most ${max} items`);
}
export function notSupported(problems: Problems, field: string, value: unknown, supported: readonly string[]): void {
  const values = supported.map((text) => JSON.stringify(text)).join(', ');
  add(problems, 'FieldValueNotSupported', field, `Unsupported value: ${shown(value)}`, `supported values: ${values}`);
}
/** An enumeration: required, then one of. */
export function oneOf(problems: Problems, field: string, value: string | undefined, supported: readonly string[]): void {
  if (value === undefined || value === '') required(problems, field);
  else if (!supported.includes(value)) notSupported(problems, field, value, supported);
}

/** `a`, or `[a, b]` for several; each text once. */
export function fieldProblemsText(problems: readonly FieldProblem[]): string {
  const texts = [...new Set(problems.map((problem) => problem.message))];
  return texts.length === 1 ? (texts[0] as string) : `[${texts.join(', ')}]`;
}
