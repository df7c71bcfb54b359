// The `exec` stanza of a kubeconfig's user: the credential plugin.
import { resolve } from 'node:path';
import { goQuote } from '../../domain/values/go-text.js';
import type { PlainMap, PlainValue } from '../yaml/index.js';

export interface ExecConfig {
  readonly command: string;
  readonly args: readonly string[];
  /** On top of the agent's own environment. */
  readonly env: Readonly<Record<string, string>>;
  readonly apiVersion: string;
  /** Shown if the program is missing. */
  readonly installHint: string;
  readonly provideClusterInfo: boolean;
}

const versions: readonly string[] = ['client.authentication.k8s.io/v1', 'client.authentication.k8s.io/v1beta1'];
const modes: readonly string[] = ['Never', 'IfAvailable', 'Always'];

/** Adds errors to `problems`. @param field path within the file; @param user name of the user */
export function execConfigOf(exec: PlainMap, field: string, user: string, directory: string, problems: string[]): ExecConfig {
  const command = textOf(exec.command);
  const apiVersion = textOf(exec.apiVersion);
  const mode = textOf(exec.interactiveMode);
  if (command === '') problems.push(`command must be specified for ${user} to use exec authentication plugin`);
  if (apiVersion === '') problems.push(`apiVersion must be specified for ${user} to use exec authentication plugin`);
  else if (!versions.includes(apiVersion)) problems.push(`${field}.apiVersion: exec plugin: invalid apiVersion ${goQuote(apiVersion)}, expected one of ${versions.join(', ')}`);
  if (mode === '' && apiVersion === versions[0]) problems.push(`interactiveMode must be specified for ${user} to use exec authentication plugin`);
  else if (mode !== '' && !modes.includes(mode)) problems.push(`invalid interactiveMode for ${user}: ${goQuote(mode)}`);
  if (mode === 'Always') problems.push(`${field}.interactiveMode: an agent has no terminal: expected Never or IfAvailable`);
  return {
    command: command.includes('/') ? resolve(directory, command) : command,
    args: listOf(exec.args).map(textOf),
    env: Object.fromEntries(listOf(exec.env).map((item) => [textOf((item as PlainMap | null)?.name), textOf((item as PlainMap | null)?.value)])),
    apiVersion,
    installHint: textOf(exec.installHint),
    provideClusterInfo: exec.provideClusterInfo === true,
  };
}

function textOf(value: PlainValue | undefined): string {
  return typeof value === 'string' ? value : '';
}

function listOf(value: PlainValue | undefined): readonly PlainValue[] {
  return Array.isArray(value) ? (value as readonly PlainValue[]) : [];
}
