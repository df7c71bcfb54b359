// Volumes for embedders: their paths, checks of host paths against their type, payloads of API data volumes, and the atomic writer.
import { instantOf } from '../../domain/values/instant.js';
import type { Micros } from '../../ports/micros.js';
import type { Pod } from '../../ports/model/pod.js';
import type { Volume } from '../../ports/model/volume.js';
import type { MountedVolume } from '../containers/mounts.js';
import { AssertionFailed } from '../kernel/assert.js';
import type { ApiDataFacts } from '../volumes/api-data-volume.js';
import * as apiData from '../volumes/api-data-volume.js';
import type { AtomicWritePlan, VolumeDirectory } from '../volumes/atomic-writer.js';
import * as atomicWriter from '../volumes/atomic-writer.js';
import type { HostPathCheck, HostPathEntry } from '../volumes/host-path-type.js';
import * as hostPaths from '../volumes/host-path-type.js';
import * as nodeVolumes from '../volumes/node-volumes.js';
import type { PayloadResult, VolumePayload } from '../volumes/volume-payload.js';
import { labelsShape, podShape, resourceListShape, volumeShape } from './api-object-shapes.js';
import {
  bytes,
  checkArgument,
  dictionaryOf,
  expected,
  flag,
  isRecord,
  listOf,
  mapOf,
  measured,
  moment,
  nullable,
  oneOf,
  recordOf,
  type Shape,
  text,
  wholeNumber,
} from './shape.js';

const metadata = recordOf({}, { name: text, namespace: text, labels: labelsShape, annotations: labelsShape });
const texts = dictionaryOf(text);
/** Of a requested object. */
function lookupOf(object: Shape): Shape {
  return (value, path) => {
    const problem = recordOf({ kind: oneOf(['found', 'absent', 'failed']) })(value, path);
    if (problem !== null || !isRecord(value)) return problem;
    return value.kind === 'found' ? object(value.object, `${path}.object`) : value.kind === 'failed' ? text(value.message, `${path}.message`) : null;
  };
}
const tokenShape: Shape = (value, path) => (isRecord(value) && value.ok === false ? recordOf({ message: text })(value, path) : recordOf({ ok: flag, token: text })(value, path));
const factsShape = recordOf({
  secrets: mapOf(lookupOf(recordOf({ metadata }, { type: text, data: texts }))),
  configMaps: mapOf(lookupOf(recordOf({ metadata }, { data: texts, binaryData: texts }))),
  ...{ tokens: listOf(tokenShape), nodeAllocatable: resourceListShape, fsGroup: nullable(measured), fsUser: nullable(measured) },
});
const modeShape = wholeNumber(0, 0o7777);
const payloadShape = mapOf(recordOf({ bytes, mode: modeShape, fsUser: nullable(measured) }));
const entryShape: Shape = (value, path) =>
  isRecord(value) && value.kind === 'symlink' ? recordOf({ target: text })(value, path) : recordOf({ kind: oneOf(['file', 'directory', 'other', 'symlink']) })(value, path);
const readingShape: Shape = (value, path) => {
  const problem = recordOf({ kind: oneOf(['file', 'absent', 'failed']) })(value, path);
  if (problem !== null || !isRecord(value)) return problem;
  return value.kind === 'file' ? bytes(value.bytes, `${path}.bytes`) : value.kind === 'failed' ? text(value.message, `${path}.message`) : null;
};
const directoryShape = recordOf({ path: text, entries: mapOf(entryShape), generationPaths: nullable(listOf(text)), readings: mapOf(readingShape) });
const digitsShape: Shape = (value, path) => (typeof value === 'string' && /^[0-9]{1,20}$/.test(value) ? null : expected(path, 'up to 20 decimal digits', value));

/**
 * A pod's volumes that need only the node: the host path of each, and how it may be mounted.
 * @param rootDirectory the kubelet's, e.g. `/var/lib/kubelet`
 * @returns by the volume's name; omits those that no container uses, or that need more than the node
 * @throws AssertionFailed where an argument has another type
 */
export function mountedVolumes(pod: Pod, rootDirectory: string): Readonly<Record<string, MountedVolume>> {
  checkArgument('pod', pod, podShape);
  checkArgument('rootDirectory', rootDirectory, text);
  return nodeVolumes.mountedVolumes(pod, rootDirectory);
}

/**
 * Whether a host path matches a hostPath volume's `type`, or must be created.
 * @param type of the volume; null or `''`: no requirement
 * @param entry the path's entry, links followed
 * @returns a refusal has the kubelet's message
 * @throws AssertionFailed where an argument has another type
 */
export function checkHostPath(path: string, type: string | null, entry: HostPathEntry): HostPathCheck {
  checkArgument('path', path, text);
  checkArgument('type', type, nullable(text));
  checkArgument('entry', entry, oneOf(['absent', 'directory', 'file', 'socket', 'char-device', 'block-device', 'other']));
  return hostPaths.checkHostPath(path, type, entry);
}

/**
 * The files of a secret, configMap, downwardAPI or projected volume, by their paths in it; or everything that is wrong, and then none.
 * @param volume one of those four
 * @param facts the objects of the pod's namespace by name, and the tokens in the order of the volume's sources
 * @throws AssertionFailed where an argument has another type, or the volume another source
 */
export function apiDataPayload(volume: Volume, pod: Pod, facts: ApiDataFacts): PayloadResult {
  checkArgument('volume', volume, volumeShape);
  checkArgument('pod', pod, podShape);
  checkArgument('facts', facts, factsShape);
  if (apiData.apiDataSource(volume) === null) throw new AssertionFailed('volume: expected a secret, configMap, downwardAPI or projected volume');
  const wanted = apiData.tokenRequests(volume, pod).length;
  if (facts.tokens.length < wanted) throw new AssertionFailed(`facts.tokens: expected ${wanted}, got ${facts.tokens.length}`);
  return apiData.apiDataPayload(volume, pod, facts);
}

/**
 * The name of a new payload's directory, as the kubelet's atomic writer names it.
 * @param now microseconds since the epoch
 * @param digits decimal digits that distinguish payloads of one second
 * @throws AssertionFailed where an argument has another type
 */
export function generationName(now: Micros, digits: string): string {
  checkArgument('now', now, moment);
  checkArgument('digits', digits, digitsShape);
  return atomicWriter.generationName(instantOf(now), digits);
}

/**
 * The file operations that write a payload into a volume's directory atomically: readers see the old files or the new ones.
 * After any step, one complete payload is visible.
 * @param directory the present directory, with the content of its files
 * @param generation of `generationName`; doesn't exist yet
 * @param fsGroup group id of the new files; null: none
 * @returns the steps, or why nothing may be changed
 * @throws AssertionFailed where an argument has another type
 */
export function planAtomicWrite(payload: VolumePayload, directory: VolumeDirectory, generation: string, fsGroup: number | null): AtomicWritePlan {
  checkArgument('payload', payload, payloadShape);
  checkArgument('directory', directory, directoryShape);
  checkArgument('generation', generation, text);
  checkArgument('fsGroup', fsGroup, nullable(measured));
  if (!atomicWriter.isGenerationName(generation)) throw new AssertionFailed('generation: expected a name of generationName');
  if (directory.entries.has(generation)) throw new AssertionFailed('generation: expected one that the directory does not have');
  return atomicWriter.planAtomicWrite(payload, directory, generation, fsGroup);
}
