// The node's state: /pods, /runningpods/, /healthz, /configz, /checkpoint/ (spec/config-and-api.md, 10.2 and 11).
import type { AgentQueries } from '../../../ports/inbound/agent-queries.js';
import type { ContainerCheckpointOperations } from '../../../ports/inbound/container-checkpoints.js';
import type { PortOf } from '../../../ports/operation.js';
import { healthRoutes } from '../health-routes.js';
import { goJson, type HttpAnswer, plainText } from '../http-answer.js';
import type { KubeletAnswer, KubeletQuestion, KubeletRoute } from '../kubelet-routes.js';
import { podsAnswer } from '../pods-route.js';

const json = 'application/json';
/** The time limit for listing everything in the runtime. */
const listMillis = 30_000;

export function podRoutes(queries: Pick<AgentQueries, 'pods'>): readonly KubeletRoute[] {
  const answer = () => podsAnswer(queries.pods());
  return ['/pods', '/pods/'].map((pattern) => ({ pattern, methods: ['GET'], produces: json, answer: ({ elements }) => (elements.length === 1 ? answer() : null) }));
}

export interface RunningPod {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  readonly containers: readonly { readonly name: string; readonly image: string }[];
}

/** Pods as the runtime knows them: names and images only. */
export function runningPodsRoute(running: (signal: AbortSignal) => Promise<readonly RunningPod[]>): KubeletRoute {
  const answer = async ({ elements, signal }: KubeletQuestion): Promise<KubeletAnswer | null> => {
    if (elements.length > 1) return null;
    const pods = (await running(AbortSignal.any([signal, AbortSignal.timeout(listMillis)]))).map(({ uid, name, namespace, containers }) => ({
      metadata: { name, namespace, uid },
      spec: { containers: containers.map((container) => ({ name: container.name, image: container.image, resources: {} })) },
      status: {},
    }));
    return podsAnswer({ kind: 'PodList', apiVersion: 'v1', metadata: {}, items: pods.length === 0 ? null : pods });
  };
  return { pattern: '/runningpods/', methods: ['GET'], produces: json, answer };
}

export function healthKubeletRoutes(queries: Pick<AgentQueries, 'health'>): readonly KubeletRoute[] {
  const [summary, single] = healthRoutes(() => queries.health());
  if (summary === undefined || single === undefined) return [];
  const asked = (question: KubeletQuestion) => ({ method: question.method, path: question.path, query: question.query, accept: question.headers.accept ?? '' });
  const names = ['ping', 'log', 'syncloop', 'device-plugin'];
  return [
    { pattern: '/healthz', methods: null, produces: null, answer: (question) => summary.answer(asked(question)) },
    ...names.map((name): KubeletRoute => ({ pattern: `/healthz/${name}`, methods: null, produces: null, answer: (question) => single.answer(asked(question)) })),
  ];
}

/** @param configuration the complete effective configuration, without secrets */
export function configzRoute(configuration: () => unknown): KubeletRoute {
  const headers = { 'Content-Type': json, 'X-Content-Type-Options': 'nosniff' };
  return { pattern: '/configz', methods: null, produces: null, answer: () => ({ status: 200, headers, body: goJson({ kubeletconfig: configuration() }) }) };
}

export function checkpointRoute(checkpoints: PortOf<ContainerCheckpointOperations>): KubeletRoute {
  const answer = async ({ elements, query, signal }: KubeletQuestion): Promise<HttpAnswer | null> => {
    const [, namespace = '', podName = '', containerName = '', ...more] = elements;
    if (containerName === '' || more.length > 0) return null;
    const timeout = query.getAll('timeout').at(-1) ?? '0';
    if (!/^[+-]?\d+$/.test(timeout) || !Number.isSafeInteger(Number(timeout))) return plainText(404, 'cannot parse value of timeout parameter');
    const outcome = await checkpoints.checkpoint({ namespace, podName, containerName, timeoutSeconds: Number(timeout) }, { signal, timeoutMicros: null });
    switch (outcome.kind) {
      case 'no-pod':
        return plainText(404, 'pod does not exist');
      case 'no-container':
        return plainText(404, `container ${containerName} does not exist`);
      case 'failed':
        return plainText(500, `checkpointing of ${namespace}/${podName}/${containerName} failed (${outcome.message})`);
      case 'done':
        return { status: 200, headers: { 'Content-Type': json }, body: goJson({ items: [outcome.path] }) };
    }
  };
  return { pattern: '/checkpoint/', methods: ['POST'], produces: json, answer };
}
