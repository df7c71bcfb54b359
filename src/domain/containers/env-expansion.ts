// `$(NAME)` in environment values, commands, arguments and subPathExpr.
// Invariant: total, one pass: a replacement is not expanded again; text without `$` stays as it is.
import type { Container, EnvVar } from '../../ports/model/container.js';
import { byCodeUnits } from '../values/text-order.js';

export interface EnvVariable {
  readonly name: string;
  readonly value: string;
}

/** The value of a name; null: unknown, so that the reference stays as written. */
export type Lookup = (name: string) => string | null;

/** `$$` is a `$`; `$x` and a reference without its `)` stay. A name is everything up to the next `)`. */
export function expand(text: string, lookup: Lookup): string {
  let result = '';
  let from = 0;
  // Without a further `)` no later reference can close; searching again each time would cost n^2.
  let mayClose = true;
  for (let at = text.indexOf('$'); at >= 0; at = text.indexOf('$', from)) {
    result += text.slice(from, at);
    const next = text[at + 1];
    const close = mayClose && next === '(' ? text.indexOf(')', at + 2) : -1;
    if (next === '(' && close < 0) mayClose = false;
    if (close >= 0) {
      result += lookup(text.slice(at + 2, close)) ?? text.slice(at, close + 1);
      from = close + 1;
    } else {
      result += '$';
      from = next === '$' ? at + 2 : at + 1;
    }
  }
  return result + text.slice(from);
}

/** The last of several variables of one name counts, as it does for the process. */
function lookupIn(env: readonly EnvVariable[]): Lookup {
  const values = new Map(env.map(({ name, value }) => [name, value]));
  return (name) => values.get(name) ?? null;
}

/** A container's command and arguments with its final environment. */
export function expandCommandAndArgs(
  container: Pick<Container, 'command' | 'args'>,
  env: readonly EnvVariable[],
): { readonly command: readonly string[]; readonly args: readonly string[] } {
  const lookup = lookupIn(env);
  const all = (texts: readonly string[] | undefined): string[] => (texts ?? []).map((text) => expand(text, lookup));
  return { command: all(container.command), args: all(container.args) };
}

/**
 * An exec probe's command. Only the container's own `env` counts, as written: values are not expanded, and those from other sources are
 * empty, since a probe can't look them up.
 */
export function expandProbeCommand(command: readonly string[], containerEnv: readonly EnvVar[]): readonly string[] {
  const lookup = lookupIn(containerEnv.map(({ name, value }) => ({ name, value: value ?? '' })));
  return command.map((text) => expand(text, lookup));
}

export type SubPathExpansion = { readonly ok: true; readonly subPath: string } | { readonly ok: false; readonly message: string };

/** A path must not lose a part unnoticed: each variable it names must be there and not be empty. */
export function expandSubPath(text: string, env: readonly EnvVariable[]): SubPathExpansion {
  const lookup = lookupIn(env);
  const missing = new Set<string>();
  const subPath = expand(text, (name) => {
    const value = lookup(name);
    if (value === null || value === '') missing.add(name);
    return value;
  });
  if (missing.size > 0) return { ok: false, message: `missing value for ${[...missing].sort(byCodeUnits).join(', ')}` };
  return { ok: true, subPath };
}
