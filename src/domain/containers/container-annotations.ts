// The part of a container's spec in its annotations: enough to recognize and to stop it gracefully when its pod is gone.
// Invariant: `restorePod` reads it back; the JSON is that of a Go encoder, so that another kubelet can take over.
import type { Container, ContainerPort, Handler, IntOrString, LifecycleHandler } from '../../ports/model/container.js';
import type { Pod } from '../../ports/model/pod.js';
import { containerHash } from '../values/container-hash.js';
import { containerAnnotations } from '../values/container-labels.js';

export interface Annotation {
  readonly name: string;
  readonly value: string;
}

/** @param fromDevices what device plugins add; it never overrides the kubelet's own */
export function annotationsOf(pod: Pod, container: Container, restartCount: number, fromDevices: readonly Annotation[]): Readonly<Record<string, string>> {
  const { deletionGracePeriodSeconds } = pod.metadata;
  const { terminationGracePeriodSeconds } = pod.spec;
  const preStop = container.lifecycle?.preStop;
  const ports = container.ports ?? [];
  return {
    ...Object.fromEntries(fromDevices.map(({ name, value }) => [name, value])),
    [containerAnnotations.hash]: containerHash(container),
    [containerAnnotations.restartCount]: String(restartCount),
    [containerAnnotations.terminationMessagePath]: container.terminationMessagePath ?? '',
    [containerAnnotations.terminationMessagePolicy]: container.terminationMessagePolicy ?? '',
    ...(deletionGracePeriodSeconds === undefined ? {} : { [containerAnnotations.podDeletionGracePeriod]: String(deletionGracePeriodSeconds) }),
    ...(terminationGracePeriodSeconds === undefined ? {} : { [containerAnnotations.podTerminationGracePeriod]: String(terminationGracePeriodSeconds) }),
    ...(preStop === undefined ? {} : { [containerAnnotations.preStopHandler]: goJson(handlerFields(preStop)) }),
    ...(ports.length === 0 ? {} : { [containerAnnotations.ports]: goJson(ports.map(portFields)) }),
  };
}

function portFields(port: ContainerPort): unknown {
  return {
    ...text('name', port.name),
    ...(port.hostPort === undefined || port.hostPort === 0 ? {} : { hostPort: port.hostPort }),
    containerPort: port.containerPort,
    ...text('protocol', port.protocol),
    ...text('hostIP', port.hostIP),
  };
}

function handlerFields(handler: LifecycleHandler): unknown {
  const { exec, httpGet, tcpSocket, sleep } = handler;
  return {
    ...(exec === undefined ? {} : { exec: (exec.command ?? []).length === 0 ? {} : { command: exec.command } }),
    ...(httpGet === undefined ? {} : { httpGet: httpFields(httpGet) }),
    ...(tcpSocket === undefined ? {} : { tcpSocket: { port: portValue(tcpSocket.port), ...text('host', tcpSocket.host) } }),
    ...(sleep === undefined ? {} : { sleep: { seconds: sleep.seconds } }),
  };
}

function httpFields(action: NonNullable<Handler['httpGet']>): unknown {
  const headers = action.httpHeaders ?? [];
  return {
    ...text('path', action.path),
    port: portValue(action.port),
    ...text('host', action.host),
    ...text('scheme', action.scheme),
    ...(headers.length === 0 ? {} : { httpHeaders: headers.map(({ name, value }) => ({ name, value })) }),
  };
}

function portValue(port: IntOrString | undefined): IntOrString {
  return port ?? 0;
}

function text(name: string, value: string | undefined): Record<string, string> {
  return value === undefined || value === '' ? {} : { [name]: value };
}

/** JSON as Go writes it, which escapes what HTML gives a meaning. */
function goJson(value: unknown): string {
  return JSON.stringify(value).replace(/[<>&\u2028\u2029]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
