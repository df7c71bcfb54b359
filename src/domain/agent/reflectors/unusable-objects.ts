// API objects that can't be used because a field has the wrong type: a log line and an event name the field.
import type { UnusableObject } from '../../../ports/model/api-object.js';
import { objectKey, type ReflectorState } from '../../api-cache/reflector.js';
import type { ReflectorsContext } from './slice.js';

/** If the list or watch didn't name it: `pods` -> `Pod`. */
const kinds: Readonly<Record<string, string>> = { nodes: 'Node', pods: 'Pod', services: 'Service', secrets: 'Secret', configmaps: 'ConfigMap' };

/** Reports each problem of an object once; its last known version stays in use. */
export function reportUnusable({ turn }: ReflectorsContext, { name: reflector, selection }: ReflectorState, object: UnusableObject): void {
  const { apiVersion, namespace, name, uid, resourceVersion, problem } = object;
  const kind = object.kind ?? kinds[selection.resource.plural] ?? selection.resource.plural;
  const shownName = namespace === null ? (name ?? '') : objectKey(namespace, name ?? '');
  turn.log('warn', 'Ignoring an object of the API that cannot be decoded', { reflector, kind, object: shownName, err: problem });
  if (name === null) return;
  const reference = { kind, name, ...(apiVersion === null ? {} : { apiVersion }), ...(namespace === null ? {} : { namespace }) };
  const version = { ...(uid === null ? {} : { uid }), ...(resourceVersion === null ? {} : { resourceVersion }) };
  const message = `Error decoding ${kind} ${shownName} from the API, ignoring this version of it: ${problem}`;
  turn.emit('events.record', { involvedObject: { ...reference, ...version }, type: 'Warning', reason: 'FailedValidation', message });
}
