// Selectors of queries: `labelSelector=app in (a,b),!canary`, `fieldSelector=spec.nodeName=n1,status.phase!=Failed`.
// Invariant: an accepted text equals its object form; an invalid text is an error, never "everything".
import { qualifiedNameProblems } from './dns-names.js';
import { type GoParse, goQuote } from './go-text.js';
import { type LabelRequirement, type Labels, matchesLabelRequirement } from './label-requirement.js';

export interface FieldRequirement {
  readonly path: string;
  readonly operator: '=' | '!=';
  readonly value: string;
}

/** Names, operators and punctuation of a label selector. */
const labelToken = /\s*(?:(==|!=|[=!(),<>])|([^\s=!(),<>]+))/y;

type Token = { readonly kind: 'sign'; readonly text: string } | { readonly kind: 'word'; readonly text: string } | { readonly kind: 'end'; readonly text: '' };

/** An empty text selects everything. */
export function parseLabelSelectorText(text: string): GoParse<readonly LabelRequirement[]> {
  const tokens = tokensOf(text);
  const requirements: LabelRequirement[] = [];
  if (tokens.length === 1) return { ok: true, value: requirements };
  let at = 0;
  const [first] = tokens as [Token];
  if (first.kind === 'sign' && first.text !== '!') return { ok: false, error: `found '${first.text}', expected: !, identifier, or 'end of string'` };
  for (;;) {
    const parsed = parseRequirement(tokens, at);
    if (!parsed.ok) return { ok: false, error: `unable to parse requirement: ${parsed.error}` };
    const { requirement, next } = parsed.value;
    if (matchesLabelRequirement(requirement, {}) === null) return { ok: false, error: `unable to parse requirement: ${requirementProblem(requirement)}` };
    requirements.push(requirement);
    const token = tokens[next] as Token;
    if (token.kind === 'end') return { ok: true, value: requirements };
    if (token.text !== ',') return { ok: false, error: `found '${token.text}', expected: ',' or 'end of string'` };
    at = next + 1;
    const after = tokens[at] as Token;
    if (after.kind !== 'word' && after.text !== '!') return { ok: false, error: `found '${after.text}', expected: identifier after ','` };
  }
}

/** Whether all hold. */
export function matchesFieldRequirements(requirements: readonly FieldRequirement[], fields: Labels): boolean {
  return requirements.every(({ path, operator, value }) => ((Object.hasOwn(fields, path) ? fields[path] : '') === value) === (operator === '='));
}

/** A backslash keeps commas, equal signs and backslashes of a value from being read as signs. An empty text selects everything. */
export function parseFieldSelectorText(text: string): GoParse<readonly FieldRequirement[]> {
  const requirements: FieldRequirement[] = [];
  for (const term of text.match(/(?:\\.|[^\\,]|\\$)+/gs) ?? []) {
    const match = /^([^=!]*)(!=|==|=)(.*)$/s.exec(term);
    if (match === null) return { ok: false, error: `invalid selector: '${text}'; can't understand '${term}'` };
    const [, path, sign, escaped] = match as unknown as [string, string, string, string];
    const value = unescaped(escaped);
    if (value === null) return { ok: false, error: `invalid field selector: value ${goQuote(escaped)} has an unescaped sign or an unknown escape` };
    requirements.push({ path, operator: sign === '!=' ? '!=' : '=', value });
  }
  return { ok: true, value: requirements };
}

function unescaped(text: string): string | null {
  return /^(?:[^\\,=]|\\[\\,=])*$/.test(text) ? text.replace(/\\([\\,=])/g, '$1') : null;
}

/** Ends in one `end`. */
function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  labelToken.lastIndex = 0;
  for (let match = labelToken.exec(text); match !== null; match = labelToken.exec(text)) {
    tokens.push(match[1] === undefined ? { kind: 'word', text: match[2] as string } : { kind: 'sign', text: match[1] });
  }
  return [...tokens, { kind: 'end', text: '' }];
}

function requirementProblem({ key, operator, values = [] }: LabelRequirement): string {
  if (operator === 'Gt' || operator === 'Lt') return `values[0]: Invalid value: ${goQuote(values[0] ?? '')}: for 'Gt', 'Lt' operators, the value must be an integer`;
  return `${goQuote(key)} ${operator} is not valid`;
}

interface Parsed {
  readonly requirement: LabelRequirement;
  readonly next: number;
}

/** One of `!a`, `a`, `a=b`, `a==b`, `a!=b`, `a>1`, `a<1`, `a in (b,c)`, `a notin (b,c)`. */
function parseRequirement(tokens: readonly Token[], start: number): GoParse<Parsed> {
  const isNegated = tokens[start]?.text === '!';
  const keyAt = isNegated ? start + 1 : start;
  const key = tokens[keyAt] as Token;
  if (key.kind !== 'word' || qualifiedNameProblems(key.text).length > 0) return { ok: false, error: `found '${key.text}', expected: identifier` };
  const operator = tokens[keyAt + 1] as Token;
  const done = (name: string, values: readonly string[], next: number): GoParse<Parsed> => ({ ok: true, value: { requirement: { key: key.text, operator: name, values }, next } });
  if (isNegated) return done('DoesNotExist', [], keyAt + 1);
  if (operator.kind === 'end' || operator.text === ',') return done('Exists', [], keyAt + 1);
  if (operator.text === 'in' || operator.text === 'notin') {
    const values = parseValues(tokens, keyAt + 2);
    return values.ok ? done(operator.text === 'in' ? 'In' : 'NotIn', values.value.values, values.value.next) : values;
  }
  const name = { '=': 'In', '==': 'In', '!=': 'NotIn', '>': 'Gt', '<': 'Lt' }[operator.text];
  if (operator.kind !== 'sign' || name === undefined) return { ok: false, error: `found '${operator.text}', expected: in, notin, =, ==, !=, gt, lt` };
  const value = tokens[keyAt + 2] as Token;
  if (value.kind === 'word') return done(name, [value.text], keyAt + 3);
  // `a=` and `a!=` compare with the empty value.
  if (name === 'Gt' || name === 'Lt' || (value.kind === 'sign' && value.text !== ',')) return { ok: false, error: `found '${value.text}', expected: identifier` };
  return done(name, [''], keyAt + 2);
}

/** `(b,c)`; an empty element is the empty value. */
function parseValues(tokens: readonly Token[], start: number): GoParse<{ readonly values: readonly string[]; readonly next: number }> {
  if (tokens[start]?.text !== '(') return { ok: false, error: `found '${tokens[start]?.text ?? ''}' expected: '('` };
  const values = new Set<string>();
  for (let at = start + 1; ; at++) {
    const token = tokens[at] as Token;
    if (token.kind === 'word') {
      values.add(token.text);
      at++;
    } else values.add('');
    const after = tokens[at] as Token;
    if (after.text === ')') return { ok: true, value: { values: [...values].sort(), next: at + 1 } };
    if (after.text !== ',') return { ok: false, error: `found '${after.text}', expected: ',' or ')'` };
  }
}
