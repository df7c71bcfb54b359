// The text of resize events: a sentence, and the requested resources as JSON, in a fixed order.
import type { Container } from '../../ports/model/container.js';
import type { Pod } from '../../ports/model/pod.js';
import { jsonList, jsonRecord, jsonText } from '../checkpoints/checkpoint-text.js';
import { requirementsJson } from '../checkpoints/pod-resources-checkpoint.js';
import { type ResizeGates, recordedContainers } from './allocated-pod.js';

/** @param what `started`, `completed`, `error`, or why it waits */
export function resizeMessage(what: string, pod: Pod, gates: ResizeGates, generation: number, error = ''): string {
  const init = new Set((pod.spec.initContainers ?? []).map(({ name }) => name));
  const recorded = recordedContainers(pod, gates);
  const text = jsonRecord([
    ['initContainers', listed(recorded.filter(({ name }) => init.has(name)))],
    ['containers', listed(recorded.filter(({ name }) => !init.has(name)))],
    ['generation', generation === 0 ? null : String(generation)],
    ['error', error === '' ? null : jsonText(error)],
  ]);
  return `Pod resize ${what}: ${text}`;
}

function listed(containers: readonly Container[]): string | null {
  if (containers.length === 0) return null;
  return jsonList(containers, ({ name, resources }) =>
    jsonRecord([
      ['name', jsonText(name)],
      ['resources', requirementsJson(resources ?? {})],
    ]),
  );
}
