// Redaction of log values: plain data of bounded size without secrets. Both formats use it.
// Invariant: values of tokens, passwords, keys and environment variables are never in the result, under any key.

const withheld = '[redacted]';
const textLengthMax = 16_384;
const itemsMax = 100;
const levelsMax = 8;

const secretKey = /(token|passw(or)?d|passphrase|secret|credentials?|authorization|cookie|private[_-]?key|api[_-]?key)s?$/i;
const environmentKey = /^env(s|ironment|vars?|variables)?$/i;

/** The last one: a volume may be called `token`, and what follows `failed to fetch token:` is the reason. */
const secretTexts: readonly (readonly [RegExp, string])[] = [
  [/-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[^-]*(-----END [A-Z ]{0,40}PRIVATE KEY-----)?/g, withheld],
  [/\b(Bearer|Basic)\s+[\w.~+/-]+=*/gi, `$1 ${withheld}`],
  [/\beyJ[\w-]+\.[\w-]+\.[\w-]*/g, withheld],
  [/:\/\/[^/\s:@]{1,256}:[^/\s@]{1,1024}@/g, `://${withheld}@`],
  [
    /((?<!\bvolume "[\w.-]{0,253})(?<!\b(?:fetch|request|get|create|renew) )[\w-]{0,64}(?:token|password|passwd|secret|api[-_]?key)["']?\s?[=:]\s?["']?)[^\s&"',;}]+/gi,
    `$1${withheld}`,
  ],
];

/** A text with what looks like a secret withheld, cut when it is very long. */
export function redactedText(text: string): string {
  let shown = text.length > textLengthMax ? `${text.slice(0, textLengthMax)}... (${text.length} characters)` : text;
  for (const [pattern, replacement] of secretTexts) shown = shown.replace(pattern, replacement);
  return shown;
}

/** Fields as plain JSON data; undefined ones are omitted. */
export function redactedFields(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return redactedObject(fields, 0, false);
}

function redactedValue(key: string, value: unknown, level: number): unknown {
  if (value === null || typeof value === 'boolean' || typeof value === 'number') return value;
  if (secretKey.test(key) && isSecretItself(value)) return withheld;
  if (typeof value === 'string') return redactedText(value);
  if (typeof value === 'bigint') return value.toString();
  if (typeof value !== 'object') return `(${typeof value})`;
  if (value instanceof Error) return redactedText(value.message);
  if (ArrayBuffer.isView(value)) return `(${value.byteLength} bytes)`;
  if (level >= levelsMax) return '(...)';
  if (value instanceof Map) return redactedObject(Object.fromEntries(value) as Record<string, unknown>, level + 1, environmentKey.test(key) || secretKey.test(key));
  if (value instanceof Set || Array.isArray(value)) return redactedItems(key, [...value], level + 1);
  return redactedObject(value as Record<string, unknown>, level + 1, environmentKey.test(key));
}

/** A secret is a text, bytes, or a list of them; an object of that name (a volume's `secret`) is redacted field by field. */
function isSecretItself(value: unknown): boolean {
  if (value instanceof Set || Array.isArray(value)) return [...value].every((item) => typeof item !== 'object');
  return typeof value === 'string' || ArrayBuffer.isView(value);
}

function redactedItems(key: string, items: readonly unknown[], level: number): unknown[] {
  const isEnvironment = environmentKey.test(key);
  const shown = items.slice(0, itemsMax).map((item, i) => {
    if (isEnvironment && typeof item === 'string') return item.includes('=') ? `${item.slice(0, item.indexOf('='))}=${withheld}` : withheld;
    if (isEnvironment && typeof item === 'object' && item !== null) return environmentVariable(item as Record<string, unknown>, level);
    // Arguments of a command: `--token`, and the next one is it.
    const before = items[i - 1];
    if (typeof item === 'string' && typeof before === 'string' && before.startsWith('-') && secretKey.test(before)) return withheld;
    return redactedValue('', item, level);
  });
  return items.length > itemsMax ? [...shown, `(${items.length} items)`] : shown;
}

/** Its name and where it comes from may be shown, its value may not. */
function environmentVariable(variable: Readonly<Record<string, unknown>>, level: number): Record<string, unknown> {
  return redactedObject('value' in variable ? { ...variable, value: withheld } : variable, level, false);
}

function redactedObject(object: Readonly<Record<string, unknown>>, level: number, isEnvironment: boolean): Record<string, unknown> {
  const holdsSecrets = object.kind === 'Secret';
  const shown: Record<string, unknown> = {};
  let count = 0;
  for (const [key, value] of Object.entries(object)) {
    if (value === undefined) continue;
    if (++count > itemsMax) break;
    shown[key] = isEnvironment || (holdsSecrets && (key === 'data' || key === 'stringData')) ? withheld : redactedValue(key, value, level);
  }
  return shown;
}
