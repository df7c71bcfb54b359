// The secrets and config maps that a container's variables come from: read before its configuration is made, and kept until it is started, so
// that sub paths and the container see the same values.
import type { ConfigMap, Secret } from '../../ports/model/config-objects.js';
import type { Container } from '../../ports/model/container.js';
import type { ObjectAnswer, ObjectKind } from '../api-data/object-manager.js';
import type { ConfigObjects, ObjectLookup } from '../containers/config-objects.js';
import type { ContainerStart, EnvObjects } from './container-start-state.js';
import { podAddress, type SyncContext } from './sync-context.js';
import type { SyncRun } from './sync-run.js';

/** Whether all objects are read; if not, a later object wakes the run. */
export function areEnvObjectsRead(start: ContainerStart, run: SyncRun, { apiData, turn }: SyncContext): boolean {
  if (apiData === null || start.envObjects !== null) return true;
  start.envSince ??= turn.now;
  const read = new Map<string, ObjectAnswer>();
  let isPending = false;
  let until: number | null = null;
  for (const [kind, name] of namesOf(start.container)) {
    const answer = apiData.object(kind, run.pod.metadata.namespace ?? '', name, start.envSince);
    read.set(`${kind}/${name}`, answer);
    if (answer.kind !== 'pending') continue;
    isPending = true;
    if (answer.until !== null && (until === null || answer.until < until)) until = answer.until;
  }
  if (isPending) {
    turn.wakeAt(podAddress(run.uid), until);
    return false;
  }
  start.envObjects = read;
  return true;
}

/** null: no API. */
export function envObjectsOf({ envObjects }: ContainerStart, { apiData }: SyncContext): ConfigObjects | null {
  if (apiData === null) return null;
  return { configMap: (name) => lookup<ConfigMap>(envObjects, 'configMap', name), secret: (name) => lookup<Secret>(envObjects, 'secret', name) };
}

function lookup<T>(read: EnvObjects | null, kind: ObjectKind, name: string): ObjectLookup<T> {
  const answer = read?.get(`${kind}/${name}`);
  if (answer?.kind === 'found') return { kind: 'found', value: answer.object as unknown as T };
  if (answer?.kind === 'absent') return { kind: 'notFound', message: answer.message };
  return answer?.kind === 'failed' ? answer : { kind: 'notFound' };
}

function namesOf({ envFrom = [], env = [] }: Container): (readonly [ObjectKind, string])[] {
  const named: (readonly [ObjectKind, string | undefined])[] = [];
  for (const { configMapRef, secretRef } of envFrom) named.push(['configMap', configMapRef?.name], ['secret', secretRef?.name]);
  for (const { valueFrom } of env) named.push(['configMap', valueFrom?.configMapKeyRef?.name], ['secret', valueFrom?.secretKeyRef?.name]);
  return named.filter((pair): pair is readonly [ObjectKind, string] => pair[1] !== undefined && pair[1] !== '');
}
