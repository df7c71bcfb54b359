// The output of --help: every flag of the table, with its type, default, deprecation and meaning.
// Invariant: made from the table alone, so it is never outdated.

import { knownFeatureGates } from '../../domain/configuration/feature-gates.js';
import { type Flag, flagTable } from '../../domain/configuration/flag-table.js';

const introduction = `The node agent of Kubernetes: it runs the pods that the apiserver binds to this node, and those of static
manifests, through a container runtime (CRI), and reports how they and the node are.

Settings belong into the file named by --config; the flags that stand for one win over it and are deprecated.`;

export function helpText(program: string): string {
  const columns = flagTable.map((flag) => [leftColumn(flag), rightColumn(flag)] as const);
  const width = Math.max(...columns.map(([left]) => left.length)) + 3;
  const lines = columns.map(([left, right]) => `${left.padEnd(width)}${right.replaceAll('\n', `\n${' '.repeat(width)}`)}`);
  return `${introduction}\n\nUsage:\n  ${program} [flags]\n\nFlags:\n${lines.join('\n')}\n`;
}

function leftColumn(flag: Flag): string {
  const name = flag.shorthand === null ? `      --${flag.name}` : `  -${flag.shorthand}, --${flag.name}`;
  const { bare } = flag.type;
  if (bare !== null) return flag.type.name === 'bool' ? name : `${name} ${flag.type.name}[=${bare}]`;
  return `${name} ${shownType(flag)}`;
}

/** The name of its value type in help texts. */
export function shownType({ type }: Flag): string {
  return type.name === 'stringSlice' ? 'strings' : type.name;
}

/** The meaning, a non-empty default, the deprecation, and the gate names of --feature-gates. */
function rightColumn(flag: Flag): string {
  const gates = flag.name === 'feature-gates' ? `\nOptions are:\n${gateLines().join('\n')}` : '';
  return `${flag.doc}${gates}${defaultText(flag)}${flag.deprecation === null ? '' : ` (DEPRECATED: ${flag.deprecation})`}`;
}

export function defaultText(flag: Flag): string {
  const text = flag.type.show(flag.fallback);
  if (['', '0', '0s', 'false', '[]'].includes(text)) return '';
  return ` (default ${flag.type.name === 'string' ? JSON.stringify(text) : text})`;
}

/** Gates that can still be switched on or off. */
export function gateLines(): string[] {
  return [...knownFeatureGates.values()]
    .filter(({ stage }) => stage === 'ALPHA' || stage === 'BETA')
    .map(({ name, stage, enabledByDefault }) => `${name}=true|false (${stage} - default=${enabledByDefault})`);
}
