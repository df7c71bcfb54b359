// Situations for tests of the configuration: a file, drop-ins and flags without a file system.
import { parseYaml } from '../../src/adapters/yaml/index.js';
import { type LoadResult, loadConfiguration } from '../../src/domain/configuration/load-configuration.js';
import type { ConfigurationFile, ConfigurationSource } from '../../src/ports/outbound/configuration-source.js';

export const header = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n';

function fileOf(path: string, text: string): ConfigurationFile {
  return { ok: true, path, text, parsed: parseYaml(text) };
}

export function sourceOf(file: string, dropIns: readonly string[] = []): ConfigurationSource {
  return {
    readFile: () => fileOf('/etc/k/config.yaml', file),
    readDropIns: () => ({ files: dropIns.map((text, i) => fileOf(`/etc/k/d/${i}.conf`, text)), skipped: [], error: null }),
  };
}

export interface Situation {
  readonly file?: string;
  readonly dropIns?: readonly string[];
  readonly flags?: readonly string[];
  readonly cgroupVersion?: 1 | 2;
}

/** Texts of files without their header. */
export function load({ file, dropIns, flags = [], cgroupVersion = 2 }: Situation): LoadResult {
  const words = [...(file === undefined ? [] : ['--config=/etc/k/config.yaml']), ...(dropIns === undefined ? [] : ['--config-dir=/etc/k/d']), ...flags];
  const source = sourceOf(
    header + (file ?? ''),
    dropIns?.map((text) => header + text),
  );
  return loadConfiguration(words, source, { cgroupVersion });
}
