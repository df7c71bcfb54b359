// `kubelet-ctl check-config FILE [FLAG...]`: the agent's effective configuration, without running it.
// Invariant: the configuration goes to standard output, everything else to standard error; a refusal is one line and exit status 1.
import { formatYaml } from '../../adapters/yaml/index.js';
import { unusedSettings } from '../../domain/configuration/acted-on.js';
import { showConfiguration } from '../../domain/configuration/draft.js';
import { type LoadedConfiguration, loadConfiguration } from '../../domain/configuration/load-configuration.js';
import { checkStartup } from '../../domain/configuration/startup-checks.js';
import { badNameServers, shortPeriods } from '../../domain/configuration/taken-values.js';
import type { CpuSet } from '../../domain/values/cpu-set.js';
import type { ConfigurationSource } from '../../ports/outbound/configuration-source.js';

export interface CheckConfigContext {
  readonly source: ConfigurationSource;
  readonly cgroupVersion: 1 | 2;
  /** CPUs of this machine, for reservedSystemCPUs. */
  readonly onlineCpus: CpuSet;
  writeOut(text: string): void;
  writeError(text: string): void;
}

export const checkConfigUsage = `usage: kubelet-ctl check-config FILE [FLAG...]

Shows what a kubelet would run with on this machine, from the configuration FILE and a kubelet's flags (--config-dir DIR for drop-in files), with
every default filled in. Nothing is started or changed. What is odd is a note on standard error. Exit status: 0 a kubelet would start with it,
1 it would not (one line says why), 2 the command line is wrong.`;

/** The exit status. */
export function checkConfig(words: readonly string[], context: CheckConfigContext): 0 | 1 | 2 {
  const [file, ...flags] = words;
  if (file === undefined || file === '' || file.startsWith('-')) {
    context.writeError(`${checkConfigUsage}\n`);
    return 2;
  }
  const loaded = loadConfiguration([`--config=${file}`, ...flags], context.source, { cgroupVersion: context.cgroupVersion });
  if (loaded.kind === 'refused') return refuse(loaded.error, context);
  if (loaded.kind !== 'loaded') {
    context.writeError(`${checkConfigUsage}\n`);
    return 2;
  }
  const started = checkStartup(loaded.configuration, loaded.options, context.onlineCpus);
  if (!started.ok) return refuse(started.error, context);
  for (const note of notes(loaded)) context.writeError(`note: ${oneLine(note)}\n`);
  context.writeOut(formatYaml(showConfiguration(loaded.configuration)));
  return 0;
}

function refuse(error: string, context: CheckConfigContext): 1 {
  context.writeError(`${oneLine(error)}\n`);
  return 1;
}

function notes(loaded: LoadedConfiguration): string[] {
  return [
    ...(loaded.strictDecodingError === null ? [] : [loaded.strictDecodingError]),
    ...loaded.deprecations,
    ...loaded.skippedDropIns.map((path) => `${path} does not end in .conf and is skipped`),
    ...loaded.gateWarnings,
    ...badNameServers(loaded.configuration).map((text) => `clusterDNS: ${JSON.stringify(text)} is no IP address and is left out`),
    ...shortPeriods(loaded.configuration).map((setting) => `${setting} is too short a period, 100ms is taken`),
    ...unusedSettings(loaded.configuration, true).map((setting) => `${setting} is set, and nothing acts on it yet`),
  ];
}

/** Messages may quote a whole file. */
const maxLine = 2000;

function oneLine(text: string): string {
  const line = text.replaceAll('\r', '\\r').replaceAll('\n', '\\n');
  return line.length > maxLine ? `${line.slice(0, maxLine)}...` : line;
}
