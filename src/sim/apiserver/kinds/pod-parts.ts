// The two subresources of a pod that change its spec: resizing containers, and adding ephemeral containers.
import { canonicalJson } from '../../../domain/kernel/canonical.js';
import { forbidden, type Problems } from '../../../domain/pod-sources/validation/field-problem.js';
import { computeQosClass } from '../../../domain/qos/qos-class.js';
import type { Container } from '../../../ports/model/container.js';
import type { Pod } from '../../../ports/model/pod.js';
import type { StoredObject } from '../object-store.js';
import type { ObjectDraft } from './kind-rules.js';

/** Keeps only the resized fields of the new object, and the metadata that a client may change. */
export function keepAllButResources(draft: ObjectDraft, old: StoredObject): void {
  const [after, before] = [draft as unknown as Pod, old as unknown as Pod];
  const merged = (given: readonly Container[] | undefined, kept: readonly Container[] | undefined) =>
    kept?.map((container) => {
      const wanted = given?.find(({ name }) => name === container.name);
      return wanted === undefined ? container : { ...container, ...part('resources', wanted.resources), ...part('resizePolicy', wanted.resizePolicy) };
    });
  const initContainers = merged(after.spec.initContainers, before.spec.initContainers);
  draft.spec = {
    ...before.spec,
    containers: merged(after.spec.containers, before.spec.containers) ?? [],
    ...part('initContainers', initContainers),
    ...part('resources', after.spec.resources),
  };
  draft.status = old.status;
}

export function checkResize(problems: Problems, object: ObjectDraft, old: StoredObject): void {
  const [after, before] = [object as unknown as Pod, old as unknown as Pod];
  if (computeQosClass(after) !== computeQosClass(before)) forbidden(problems, 'spec', 'Pod QOS Class may not change as a result of resizing');
  for (const [i, container] of after.spec.containers.entries()) {
    for (const side of ['requests', 'limits'] as const) {
      const [now, then] = [container.resources?.[side] ?? {}, before.spec.containers[i]?.resources?.[side] ?? {}];
      for (const name of new Set([...Object.keys(now), ...Object.keys(then)])) {
        if (name !== 'cpu' && name !== 'memory' && now[name] !== then[name])
          forbidden(problems, `spec.containers[${i}].resources.${side}`, 'only cpu and memory resources are mutable');
        if (now[name] === undefined) forbidden(problems, `spec.containers[${i}].resources.${side}`, `resource ${side} cannot be removed`);
      }
    }
  }
}

export function keepAllButEphemeral(draft: ObjectDraft, old: StoredObject): void {
  const given = (draft as unknown as Pod).spec.ephemeralContainers;
  draft.spec = { ...(old.spec as Pod['spec']), ...part('ephemeralContainers', given) };
  draft.status = old.status;
}

export function checkEphemeral(problems: Problems, object: ObjectDraft, old: StoredObject): void {
  const before = (old as unknown as Pod).spec.ephemeralContainers ?? [];
  const after = (object as unknown as Pod).spec.ephemeralContainers ?? [];
  for (const container of before) {
    const now = after.find(({ name }) => name === container.name);
    const field = 'spec.ephemeralContainers';
    if (now === undefined) forbidden(problems, field, `existing ephemeral containers "${container.name}" may not be removed\n`);
    else if (canonicalJson(now) !== canonicalJson(container)) forbidden(problems, field, `existing ephemeral containers "${container.name}" may not be changed\n`);
  }
}

function part<Value>(name: string, value: Value | undefined): { readonly [name: string]: Value } {
  return value === undefined ? {} : { [name]: value };
}
