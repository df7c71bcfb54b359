// A container's environment: `envFrom`, `env` with its sources, and services.
// Invariant: a variable sees only those declared before it (and services); variables are in order of declaration, services last,
// one for each name. An unavailable source prevents the container's start unless it is optional.
import type { Container, EnvFromSource, EnvVarSource, KeySelector, ResourceList } from '../../ports/model/container.js';
import type { Pod } from '../../ports/model/pod.js';
import type { Service } from '../../ports/model/service.js';
import { bytesOf } from '../values/base64.js';
import { goQuote } from '../values/go-text.js';
import { isStaticPod } from '../values/pod-kind.js';
import { joinPath } from '../values/slash-paths.js';
import type { ConfigObjects } from './config-objects.js';
import { type AddressFacts, envFieldValue } from './downward-fields.js';
import { envResourceValue } from './downward-resources.js';
import { type EnvVariable, expand } from './env-expansion.js';
import { envFileValue } from './env-file.js';
import { envFromName } from './env-from-names.js';
import { envValueOf, envValueOfText } from './env-value.js';
import type { Resolved } from './namespaces.js';
import { serviceEnv } from './service-env.js';

export interface EnvSources extends AddressFacts {
  /** null: services aren't watched (standalone), so there are no variables for them. */
  readonly services: readonly Service[] | null;
  /** Whether all services have been read once. */
  readonly servicesSynced: boolean;
  /** null: no API server. */
  readonly objects: ConfigObjects | null;
  readonly allocatable: ResourceList;
  /** Host directories of the pod's mounted volumes, by volume name. */
  readonly volumeDirectories: Readonly<Record<string, string>>;
  /** Text of a file that a variable is read from, by its path on the host; null when it can't be read. */
  envFile(path: string): string | null;
}

/** The message of a failure becomes the container's waiting message, with reason CreateContainerConfigError. */
export function containerEnv(pod: Pod, container: Container, sources: EnvSources): Resolved<readonly EnvVariable[]> {
  const links = pod.spec.enableServiceLinks;
  if (links === undefined || links === null) return refused('nil pod.spec.enableServiceLinks encountered, cannot construct envvars');
  if (sources.services !== null && !sources.servicesSynced && !isStaticPod(pod)) {
    return refused('services have not yet been read at least once, cannot construct envvars');
  }
  const services = serviceEnv(sources.services ?? [], pod.metadata.namespace ?? '', links);
  const ofServices = new Map(services.map(({ name, value }) => [name, value]));
  const env = new Map<string, string>();
  for (const source of container.envFrom ?? []) {
    const problem = addFrom(env, pod, source, sources.objects);
    if (problem !== null) return refused(problem);
  }
  for (const { name, value, valueFrom } of container.env ?? []) {
    if ((value ?? '') !== '' || valueFrom === undefined) {
      env.set(
        name,
        expand(envValueOfText(value ?? ''), (known) => env.get(known) ?? ofServices.get(known) ?? null),
      );
      continue;
    }
    const resolved = sourceValue(pod, container, valueFrom, sources);
    if (!resolved.ok) return resolved;
    if (resolved.value !== null) env.set(name, resolved.value);
  }
  for (const [name, value] of ofServices) if (!env.has(name)) env.set(name, value);
  return { ok: true, value: [...env].map(([name, value]) => ({ name, value })) };
}

type Kind = 'configMap' | 'secret';

/** Adds all entries of an object; answers with a problem. */
function addFrom(env: Map<string, string>, pod: Pod, source: EnvFromSource, objects: ConfigObjects | null): string | null {
  const kind: Kind | null = source.configMapRef !== undefined ? 'configMap' : source.secretRef !== undefined ? 'secret' : null;
  if (kind === null) return null;
  const reference = kind === 'configMap' ? source.configMapRef! : source.secretRef!;
  const entries = entriesOf(pod, kind, reference.name ?? '', reference.optional === true, objects);
  if (!entries.ok) return entries.message;
  for (const [key, value] of entries.value ?? []) {
    const variable = envFromName(source, key);
    if (variable !== null) env.set(variable, value);
  }
  return null;
}

/** The value; null leaves the variable out. */
function sourceValue(pod: Pod, container: Container, from: EnvVarSource, sources: EnvSources): Resolved<string | null> {
  if (from.fieldRef !== undefined) return envFieldValue(pod, from.fieldRef, sources);
  if (from.resourceFieldRef !== undefined) return envResourceValue(pod, container, from.resourceFieldRef, sources.allocatable);
  if (from.configMapKeyRef !== undefined) return keyOf(pod, 'configMap', from.configMapKeyRef, sources.objects);
  if (from.secretKeyRef !== undefined) return keyOf(pod, 'secret', from.secretKeyRef, sources.objects);
  if (from.fileKeyRef !== undefined) return fileKey(from.fileKeyRef, sources);
  return { ok: true, value: '' };
}

function keyOf(pod: Pod, kind: Kind, selector: KeySelector, objects: ConfigObjects | null): Resolved<string | null> {
  const name = selector.name ?? '';
  const optional = selector.optional === true;
  const entries = entriesOf(pod, kind, name, optional, objects);
  if (!entries.ok) return entries;
  const value = entries.value?.get(selector.key);
  if (value !== undefined) return { ok: true, value };
  if (optional) return { ok: true, value: null };
  return refused(`couldn't find key ${selector.key} in ${kind === 'configMap' ? 'ConfigMap' : 'Secret'} ${pod.metadata.namespace ?? ''}/${name}`);
}

/** An object's entries; null when it is missing and may be. Binary data of config maps never reaches the environment. */
function entriesOf(pod: Pod, kind: Kind, name: string, optional: boolean, objects: ConfigObjects | null): Resolved<ReadonlyMap<string, string> | null> {
  if (objects === null) return refused(`couldn't get ${kind} ${pod.metadata.namespace ?? ''}/${name}, no kubeClient defined`);
  const found = kind === 'configMap' ? objects.configMap(name) : objects.secret(name);
  if (found.kind === 'failed') return refused(found.message);
  if (found.kind === 'notFound') return optional ? { ok: true, value: null } : refused(found.message ?? `${kind.toLowerCase()} ${goQuote(name)} not found`);
  const decode = (text: string): string => (kind === 'configMap' ? envValueOfText(text) : envValueOf(bytesOf(text)));
  return { ok: true, value: new Map(Object.entries(found.value.data ?? {}).map(([key, text]) => [key, decode(text)])) };
}

function fileKey(reference: NonNullable<EnvVarSource['fileKeyRef']>, sources: EnvSources): Resolved<string | null> {
  const { volumeName, key } = reference;
  const directory = Object.hasOwn(sources.volumeDirectories, volumeName) ? sources.volumeDirectories[volumeName] : undefined;
  if (directory === undefined) return refused(`cannot find the volume ${goQuote(volumeName)} referenced by FileKeyRef`);
  // `..` ends at the volume's root: the path is cleaned as an absolute one first.
  const path = joinPath(directory, joinPath('/', reference.path));
  const text = sources.envFile(path);
  const read = text === null ? null : envFileValue(text, key);
  if (read === null || read.kind === 'malformed') return refused("couldn't parse env file");
  if (read.kind === 'found' && read.value !== '') return { ok: true, value: envValueOfText(read.value) };
  return reference.optional === true ? { ok: true, value: null } : refused(`environment variable key ${goQuote(key)} not found in file ${goQuote(path)}`);
}

function refused(message: string): Resolved<never> {
  return { ok: false, message };
}
