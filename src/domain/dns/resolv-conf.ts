// Reads resolv.conf as the kubelet does, which is not quite as the C library does: only `#` begins a comment, and `options` lines add up.
// Invariant: total; the one text that is refused has a nameserver line without a value.
import { goTrimSpace } from '../values/go-text.js';

export interface ResolvConf {
  readonly servers: readonly string[];
  readonly searches: readonly string[];
  /** `name` or `name:value`, one for each name. */
  readonly options: readonly string[];
}

export type ResolvConfParse = { readonly ok: true; readonly value: ResolvConf } | { readonly ok: false; readonly message: string };

export function parseResolvConf(text: string): ResolvConfParse {
  const servers: string[] = [];
  let searches: readonly string[] = [];
  const options: string[] = [];
  for (const line of text.split('\n')) {
    // A comment is a line whose first word is none of the three.
    const [keyword, ...values] = goTrimSpace(line).split(innerSpace);
    switch (keyword) {
      case 'nameserver':
        // The Go kubelet prints an empty error after the blank.
        if (values[0] === undefined) return { ok: false, message: 'nameserver list is empty ' };
        servers.push(values[0]);
        break;
      case 'search':
        // One name with and without the final dot must not count twice against the limits.
        searches = values.filter((name) => name !== '.').map((name) => name.replace(/\.$/, ''));
        break;
      case 'options':
        options.push(...values);
        break;
      default:
        break;
    }
  }
  return { ok: true, value: { servers, searches, options: mergeOptions([], options) } };
}

/** Go's white space. */
const innerSpace = /[\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/;

/** One option for each name; a later one takes the place of an earlier. */
export function mergeOptions(base: readonly string[], overrides: readonly string[]): readonly string[] {
  const byName = new Map<string, string>();
  for (const option of [...base, ...overrides]) byName.set(optionName(option), option);
  return [...byName.values()];
}

function optionName(option: string): string {
  const colon = option.indexOf(':');
  return colon < 0 ? option : option.slice(0, colon);
}
