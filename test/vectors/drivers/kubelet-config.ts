// kubelet-config: a file, drop-ins and flags in a temporary directory, loaded as the daemon does it.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { FileConfigurationSource } from '../../../src/adapters/config-files/index.js';
import { parseYaml } from '../../../src/adapters/yaml/index.js';
import { showConfiguration } from '../../../src/domain/configuration/draft.js';
import { type LoadedConfiguration, loadConfiguration } from '../../../src/domain/configuration/load-configuration.js';
import { checkStartup, type Reservation } from '../../../src/domain/configuration/startup-checks.js';
import { shortestSingle } from '../../../src/domain/eviction/threshold-text.js';
import { quantityText } from '../../../src/domain/values/quantity.js';
import { differences, isObject, type Json } from '../compare.js';
import type { VectorDriver } from '../driver.js';

interface Input {
  readonly configFile: string | null;
  readonly dropIns?: Readonly<Record<string, string>>;
  readonly args: readonly string[];
  readonly hostCgroupVersion?: 1 | 2;
  readonly startupChecks?: boolean;
}

export const driver: VectorDriver = {
  run(input: Input): unknown {
    const parent = mkdtempSync(join(tmpdir(), 'kubelet-config-'));
    const directory = join(parent, 'etc');
    try {
      mkdirSync(directory);
      const answer = load(input, directory);
      const placed = JSON.stringify(answer).replaceAll(directory, '<dir>').replaceAll(parent, '<parent>');
      return JSON.parse(placed) as unknown;
    } finally {
      rmSync(parent, { recursive: true });
    }
  },
  /** The whole configuration is wanted once; elsewhere its changes say it all. */
  compare(got: Record<string, unknown>, want: Json) {
    const { effective: _effective, ...rest } = got;
    return differences(isObject(want) && 'effective' in want ? got : rest, want);
  },
};

function load(input: Input, directory: string): unknown {
  const words: string[] = [];
  if (input.configFile !== null) {
    writeFileSync(join(directory, 'kubelet.yaml'), input.configFile);
    words.push(`--config=${directory}/kubelet.yaml`);
  }
  if (input.dropIns !== undefined) {
    const dropInDirectory = join(directory, 'kubelet.conf.d');
    mkdirSync(dropInDirectory);
    for (const [name, text] of Object.entries(input.dropIns)) {
      mkdirSync(dirname(join(dropInDirectory, name)), { recursive: true });
      writeFileSync(join(dropInDirectory, name), text);
    }
    words.push(`--config-dir=${dropInDirectory}`);
  }
  words.push(...input.args.map((word) => word.replaceAll('<dir>', directory)));
  const result = loadConfiguration(words, new FileConfigurationSource(directory), { cgroupVersion: input.hostCgroupVersion ?? 2 });
  if (result.kind === 'refused') return { error: result.error, ...(result.phase === 'validation' || result.phase === 'defaulting' ? { phase: result.phase } : {}) };
  if (result.kind !== 'loaded') return result;
  const effective = showConfiguration(result.configuration);
  return {
    effective,
    changed: changes(effective),
    ...(result.strictDecodingError === null ? {} : { strictDecodingError: result.strictDecodingError }),
    ...(result.skippedDropIns.length === 0 ? {} : { skippedDropIns: result.skippedDropIns }),
    ...(input.startupChecks === true ? startup(result) : {}),
  };
}

function startup({ configuration, options }: LoadedConfiguration): object {
  const checked = checkStartup(configuration, options, [0, 1, 2, 3, 4, 5, 6, 7]);
  if (!checked.ok) return { effective: undefined, changed: undefined, error: checked.error };
  const amounts = (reservation: Reservation): object | null =>
    reservation === null ? null : Object.fromEntries(Object.entries(reservation).map(([name, quantity]) => [name, quantityText(quantity)]));
  const { kubeReserved, systemReserved, hardEviction } = checked.values;
  const thresholds = [...hardEviction].map(([signal, value]) => [signal, value.kind === 'quantity' ? quantityText(value.quantity) : shortestSingle(value.fraction)]);
  return { startup: { kubeReserved: amounts(kubeReserved), systemReserved: amounts(systemReserved), hardEviction: Object.fromEntries(thresholds) } };
}

const minimalFile = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n';

/** What differs at the top from a file with nothing set; null for what is gone. */
function changes(effective: { readonly [key: string]: unknown }): Record<string, unknown> {
  const file = { ok: true as const, path: '/kubelet.yaml', text: minimalFile, parsed: parseYaml(minimalFile) };
  const loaded = loadConfiguration(['--config=/kubelet.yaml'], { readFile: () => file, readDropIns: () => ({ files: [], skipped: [], error: null }) }, { cgroupVersion: 2 });
  if (loaded.kind !== 'loaded') throw new Error('the minimal file must load');
  const baseline: { readonly [key: string]: unknown } = showConfiguration(loaded.configuration);
  const changed: Record<string, unknown> = {};
  for (const key of new Set([...Object.keys(baseline), ...Object.keys(effective)])) {
    if (JSON.stringify(effective[key]) !== JSON.stringify(baseline[key])) changed[key] = effective[key] ?? null;
  }
  return changed;
}
