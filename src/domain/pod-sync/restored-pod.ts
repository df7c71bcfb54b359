// Restores a pod whose object is gone (deleted while the kubelet was down) from its containers' labels and
// annotations, as far as needed to stop them gracefully.
// Invariant: an unreadable annotation counts as missing; it never prevents a kill.
import type { Container, LifecycleHandler } from '../../ports/model/container.js';
import type { Pod } from '../../ports/model/pod.js';
import type { AnnotatedPreStop } from '../../ports/model/runtime-status.js';
import { containerAnnotations, containerLabels } from '../values/container-labels.js';

type Texts = Readonly<Record<string, string>>;

/** A pod with this one container. */
export function restorePod(labels: Texts, annotations: Texts): Pod {
  const deletionGrace = wholeNumber(annotations[containerAnnotations.podDeletionGracePeriod]);
  const terminationGrace = wholeNumber(annotations[containerAnnotations.podTerminationGracePeriod]);
  return {
    metadata: {
      name: labels[containerLabels.podName] ?? '',
      namespace: labels[containerLabels.podNamespace] ?? '',
      uid: labels[containerLabels.podUid] ?? '',
      ...(deletionGrace === null ? {} : { deletionGracePeriodSeconds: deletionGrace }),
    },
    spec: {
      containers: [
        restoreContainer(labels[containerLabels.containerName] ?? '', {
          handler: annotations[containerAnnotations.preStopHandler] ?? '',
          ports: annotations[containerAnnotations.ports] ?? '',
        }),
      ],
      ...(terminationGrace === null ? {} : { terminationGracePeriodSeconds: terminationGrace }),
    },
  };
}

/** @param annotated its hook; left out for none */
export function restoreContainer(name: string, annotated: AnnotatedPreStop | undefined): Container {
  const preStop = json(annotated?.handler);
  const ports = json(annotated?.ports);
  return {
    name,
    ...(typeof preStop === 'object' && preStop !== null && !Array.isArray(preStop) ? { lifecycle: { preStop: preStop as LifecycleHandler } } : {}),
    ...(Array.isArray(ports) ? { ports: ports as NonNullable<Container['ports']> } : {}),
  };
}

function wholeNumber(text: string | undefined): number | null {
  return text !== undefined && /^[+-]?[0-9]+$/.test(text) && Number.isSafeInteger(Number(text)) ? Number(text) : null;
}

function json(text: string | undefined): unknown {
  if (text === undefined || text === '') return null;
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
