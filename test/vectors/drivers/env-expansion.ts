// env-expansion: `$(NAME)` in values, commands, arguments and subPathExpr.
import { type EnvVariable, expand, expandCommandAndArgs, expandProbeCommand, expandSubPath } from '../../../src/domain/containers/env-expansion.js';
import type { EnvVar } from '../../../src/ports/model/container.js';
import type { VectorDriver } from '../driver.js';

type Input =
  | { readonly kind: 'expand'; readonly text: string; readonly variables: Readonly<Record<string, string>> }
  | { readonly kind: 'commandAndArgs'; readonly command?: readonly string[]; readonly args?: readonly string[]; readonly env?: readonly EnvVariable[] }
  | { readonly kind: 'execProbeCommand'; readonly command: readonly string[]; readonly containerEnv?: readonly EnvVar[] }
  | { readonly kind: 'subPathExpr'; readonly text: string; readonly env?: readonly EnvVariable[] };

export const driver: VectorDriver = {
  run(input: Input) {
    switch (input.kind) {
      case 'expand':
        return { text: expand(input.text, (name) => (Object.hasOwn(input.variables, name) ? input.variables[name]! : null)) };
      case 'commandAndArgs':
        return expandCommandAndArgs({ command: input.command ?? [], args: input.args ?? [] }, input.env ?? []);
      case 'execProbeCommand':
        return { command: expandProbeCommand(input.command, input.containerEnv ?? []) };
      default: {
        const expanded = expandSubPath(input.text, input.env ?? []);
        return expanded.ok ? { subPath: expanded.subPath } : { error: expanded.message };
      }
    }
  },
};
