// flags: command lines as the daemon reads them, and the table of all flags.
import { parseYaml } from '../../../src/adapters/yaml/index.js';
import { optionFlags, optionValue } from '../../../src/domain/configuration/apply-flags.js';
import { showConfiguration } from '../../../src/domain/configuration/draft.js';
import { type Flag, flagTable, setInFile } from '../../../src/domain/configuration/flag-table.js';
import { type LoadedConfiguration, loadConfiguration } from '../../../src/domain/configuration/load-configuration.js';
import type { ConfigurationSource } from '../../../src/ports/outbound/configuration-source.js';
import { differences, isObject, type Json } from '../compare.js';
import type { VectorDriver } from '../driver.js';

type Input =
  | { readonly kind: 'parse'; readonly args: readonly string[]; readonly configFile?: string }
  | { readonly kind: 'table'; readonly firstLetterFrom: string; readonly firstLetterTo: string };

type Shown = Readonly<Record<string, unknown>>;

export const driver: VectorDriver = {
  run(input: Input): unknown {
    return input.kind === 'table' ? table(input.firstLetterFrom, input.firstLetterTo) : parse(input.args, input.configFile ?? null);
  },
  /** Whole values are wanted once, their changes everywhere else. */
  compare(got: Record<string, unknown>, want: Json) {
    const wanted = isObject(want) ? want : {};
    const kept = Object.entries(got).filter(([key]) => key in wanted || !['flags', 'config', 'changedFlags', 'changedConfig'].includes(key));
    return differences(Object.fromEntries(kept), want);
  },
};

function table(from: string, to: string): unknown {
  const rows = flagTable.filter(({ name }) => name.slice(0, 1) >= from && name.slice(0, 1) <= to);
  return {
    flags: rows.map((flag) => ({
      name: flag.name,
      type: flag.type.name,
      default: flag.type.show(flag.fallback),
      ...(flag.shorthand === null ? {} : { shorthand: flag.shorthand }),
      ...(flag.type.bare === null ? {} : { valueWhenBare: flag.type.bare }),
      ...(flag.deprecation === null ? {} : { deprecation: flag.deprecation === setInFile ? 'config-file' : flag.deprecation }),
    })),
  };
}

function source(text: string): ConfigurationSource {
  return {
    readFile: (path) => ({ ok: true, path, text, parsed: parseYaml(text) }),
    readDropIns: () => ({ files: [], skipped: [], error: null }),
  };
}

const emptyFile = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n';

function parse(args: readonly string[], configFile: string | null): unknown {
  const words = configFile === null ? args : ['--config=<dir>/config.yaml', ...args];
  const result = loadConfiguration(words, source(configFile ?? ''), { cgroupVersion: 2 });
  if (result.kind === 'refused') return { error: result.error };
  if (result.kind === 'help') return { help: true };
  if (result.kind === 'version') return { printsVersion: result.format };
  const baseline = loadConfiguration(configFile === null ? [] : ['--config=<dir>/config.yaml'], source(emptyFile), { cgroupVersion: 2 });
  if (baseline.kind !== 'loaded') throw new Error('the baseline must load');
  const config: Shown = showConfiguration(result.configuration);
  const flags = options(result);
  return {
    flags,
    config,
    changedFlags: changes(flags, options(baseline)),
    changedConfig: changes(config, showConfiguration(baseline.configuration)),
    deprecatedFlagsUsed: result.deprecatedFlags,
    ...(args.some((word) => word.startsWith('--version=')) ? { versionFlag: result.options.version } : {}),
  };
}

/** Options of the process, but for those that have done their work when it runs. */
function options({ options }: LoadedConfiguration): Shown {
  const shown = optionFlags.filter(({ name }) => name !== 'help' && name !== 'version');
  return Object.fromEntries(shown.map((flag) => [flag.name, optionText(flag, optionValue(options, flag))]));
}

function optionText(flag: Flag, value: unknown): unknown {
  return flag.type.name === 'duration' ? flag.type.show(value) : value;
}

/** The path of the file is where the case put it: no change. */
function changes(values: Shown, baseline: Shown): Record<string, unknown> {
  const changed: Record<string, unknown> = {};
  for (const key of new Set([...Object.keys(baseline), ...Object.keys(values)])) {
    if (key !== 'config' && JSON.stringify(values[key]) !== JSON.stringify(baseline[key])) changed[key] = values[key] ?? null;
  }
  return changed;
}
