// Flags on top of a configuration, and the options of the process that only flags give.
// Invariant: a flag replaces its setting as a whole, except --feature-gates, which wins gate by gate, and --vmodule, which adds its patterns.
import { type Flag, flagTable } from './flag-table.js';
import type { VModuleItem } from './record-kinds.js';
import { type KubeletConfiguration, withValue } from './schema.js';

/** Options that have no place in the file. Durations are nanoseconds. */
export interface ProcessOptions {
  readonly bootstrapKubeconfig: string;
  readonly certDir: string;
  readonly cloudProvider: string;
  readonly config: string;
  readonly configDir: string;
  readonly exitOnLockContention: boolean;
  readonly experimentalAllocatableIgnoreEviction: boolean;
  readonly experimentalMounterPath: string;
  readonly help: boolean;
  readonly hostnameOverride: string;
  readonly imageCredentialProviderBinDir: string;
  readonly imageCredentialProviderConfig: string;
  readonly kubeconfig: string;
  readonly lockFile: string;
  readonly maximumDeadContainers: number;
  readonly maximumDeadContainersPerContainer: number;
  readonly minimumContainerTtlDuration: number;
  readonly nodeIp: string;
  readonly nodeLabels: Readonly<Record<string, string>>;
  readonly rootDir: string;
  readonly runtimeCgroups: string;
  readonly seccompDefault: boolean;
  readonly version: string;
}

/** `node-ip` is `nodeIp`. */
function optionKey(name: string): string {
  return name.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** Every option with its value or default. */
export function processOptions(values: ReadonlyMap<string, unknown>): ProcessOptions {
  const options = optionFlags.map((flag) => [optionKey(flag.name), values.get(flag.name) ?? flag.fallback]);
  return Object.fromEntries(options) as unknown as ProcessOptions;
}

/** The flags behind ProcessOptions. */
export const optionFlags: readonly Flag[] = flagTable.filter((flag) => flag.purpose.kind === 'option');

/** The value of one option flag, in the form its type prints. */
export function optionValue(options: ProcessOptions, flag: Flag): unknown {
  return (options as unknown as Record<string, unknown>)[optionKey(flag.name)];
}

export function applyFlags(configuration: KubeletConfiguration, values: ReadonlyMap<string, unknown>): KubeletConfiguration {
  let changed = configuration;
  for (const flag of flagTable) {
    if (flag.purpose.kind !== 'setting' || !values.has(flag.name)) continue;
    changed = withValue(changed, flag.purpose.path, combined(flag.name, configuration, values.get(flag.name)));
  }
  return changed;
}

function combined(name: string, configuration: KubeletConfiguration, value: unknown): unknown {
  if (name === 'feature-gates') return { ...configuration.featureGates, ...(value as Record<string, boolean>) };
  if (name === 'vmodule') return [...configuration.logging.vmodule, ...(value as readonly VModuleItem[])];
  return value;
}
