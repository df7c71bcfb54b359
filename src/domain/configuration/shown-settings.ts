// Settings and flags for display: the effective ones, without secrets. The Go kubelet shows headers of
// the manifest URL; they are credentials, so /configz omits their values.

import { optionValue } from './apply-flags.js';
import { showConfiguration } from './draft.js';
import { flagTable } from './flag-table.js';
import type { LoadedConfiguration } from './load-configuration.js';
import { type KubeletConfiguration, valueAt } from './schema.js';

const masked = '<masked>';

export function shownConfiguration(configuration: KubeletConfiguration): ReturnType<typeof showConfiguration> {
  return showConfiguration(withoutSecrets(configuration));
}

/** Every flag's effective value, in the flag's form. */
export function shownFlags({ configuration, options }: Pick<LoadedConfiguration, 'configuration' | 'options'>): ReadonlyMap<string, string> {
  const shown = withoutSecrets(configuration);
  const rows = flagTable.flatMap((flag): [string, string][] => {
    if (flag.purpose.kind === 'ignored') return [];
    const value = flag.purpose.kind === 'setting' ? valueAt(shown, flag.purpose.path) : optionValue(options, flag);
    return [[flag.name, value === null || value === undefined ? '' : flag.type.show(value)]];
  });
  return new Map(rows);
}

function withoutSecrets(configuration: KubeletConfiguration): KubeletConfiguration {
  const { staticPodURLHeader } = configuration;
  const headers = Object.fromEntries(Object.entries(staticPodURLHeader ?? {}).map(([name, values]) => [name, values.map(() => masked)]));
  return { ...configuration, staticPodURLHeader: headers } as KubeletConfiguration;
}
