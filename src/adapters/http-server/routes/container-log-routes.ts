// /containerLogs/{namespace}/{pod}/{container}: a container's log, complete or followed (spec/config-and-api.md, 10.5).

import { goQuote } from '../../../domain/values/go-text.js';
import type { LogChunk, LogReadOptions } from '../../../domain/values/log-read-options.js';
import type { LogFile, NodeContainerOperations } from '../../../ports/inbound/node-containers.js';
import type { Instant } from '../../../ports/instant.js';
import type { Pod } from '../../../ports/model/pod.js';
import type { PortOf } from '../../../ports/operation.js';
import { plainText } from '../http-answer.js';
import type { KubeletAnswer, KubeletQuestion, KubeletRoute } from '../kubelet-routes.js';
import { logQueryOf } from './log-options.js';

export interface ContainerLogParts {
  readonly pod: (namespace: string, name: string) => Pod | null;
  readonly containers: Pick<PortOf<NodeContainerOperations>, 'logs'>;
  readonly read: (file: LogFile, podUid: string, options: LogReadOptions, signal: AbortSignal) => AsyncIterable<LogChunk>;
  readonly wall: () => Instant;
  /** The feature gate PodLogsQuerySplitStreams. */
  readonly splitStreams: boolean;
}

export function containerLogRoutes(parts: ContainerLogParts): readonly KubeletRoute[] {
  return [{ pattern: '/containerLogs/', methods: ['GET'], produces: null, answer: (question) => answer(parts, question) }];
}

async function answer({ pod: podOf, containers, read, wall, splitStreams }: ContainerLogParts, question: KubeletQuestion): Promise<KubeletAnswer | null> {
  const [, namespace = '', podName = '', containerName = '', ...more] = question.elements;
  if (containerName === '' || more.length > 0) return null;
  const asked = logQueryOf(question.query, wall());
  if ('status' in asked) return asked;
  const pod = podOf(namespace, podName);
  if (pod === null) return plainText(404, `pod ${goQuote(podName)} does not exist`);
  const { containers: regular, initContainers = [], ephemeralContainers = [] } = pod.spec;
  if (![...initContainers, ...regular, ...ephemeralContainers].some(({ name }) => name === containerName)) {
    return plainText(404, `container ${goQuote(containerName)} not found in pod ${goQuote(podName)}`);
  }
  if (asked.stream !== 'All' && !splitStreams) {
    return plainText(400, `unable to return the given log stream: ${goQuote(asked.stream)}. Please enable PodLogsQuerySplitStreams feature gate in kubelet`);
  }
  const podUid = pod.metadata.uid ?? '';
  const found = await containers.logs({ namespace, podName, podUid, containerName, previous: asked.previous }, { signal: question.signal, timeoutMicros: null });
  // As the Go kubelet's over HTTP/1.1: the log's answer has begun there, for which Go sets no content type.
  if (found.kind === 'refused') return { status: found.status, headers: {}, body: found.message };
  return { kind: 'stream', status: 200, headers: {}, chunks: bytesOf(read(found.value, podUid, asked.options, question.signal)) };
}

async function* bytesOf(chunks: AsyncIterable<LogChunk>): AsyncGenerator<Uint8Array> {
  for await (const { bytes } of chunks) yield bytes;
}
