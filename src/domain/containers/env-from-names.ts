// Names of environment variables that `envFrom` makes of the keys of an object: by the rule of v1.36 for names, printable ASCII without `=`.
// Invariant: a name outside of the rule never reaches a container, where `k=v` would be another variable, and an event names it.
import type { Container, EnvFromSource } from '../../ports/model/container.js';
import type { Pod } from '../../ports/model/pod.js';
import { envVarNameProblems } from '../values/dns-names.js';
import type { ConfigObjects } from './config-objects.js';

/** The name of an entry; null: it can't be one of a variable. */
export function envFromName({ prefix = '' }: EnvFromSource, key: string): string | null {
  const name = prefix + key;
  return envVarNameProblems(name).length === 0 ? name : null;
}

/** The messages of the events of type InvalidEnvironmentVariableNames, one for each source with keys that are left out. */
export function skippedEnvFromKeys(pod: Pod, container: Container, objects: ConfigObjects | null): string[] {
  if (objects === null) return [];
  return (container.envFrom ?? []).flatMap((source) => {
    const { configMapRef, secretRef, prefix = '' } = source;
    const [kind, name] = configMapRef !== undefined ? ['configMap', configMapRef.name ?? ''] : ['secret', secretRef?.name ?? ''];
    if (name === '') return [];
    const found = kind === 'configMap' ? objects.configMap(name) : objects.secret(name);
    if (found.kind !== 'found') return [];
    const keys = Object.keys(found.value.data ?? {}).filter((key) => envFromName(source, key) === null);
    if (keys.length === 0) return [];
    const names = keys.map((key) => prefix + key).sort();
    return [
      `Keys [${names.join(', ')}] from the EnvFrom ${kind} ${pod.metadata.namespace ?? ''}/${name} were skipped since they are considered invalid environment variable names.`,
    ];
  });
}
