// `kubelet-ctl ps`: pods and containers, from a running kubelet's loopback listener or from a container runtime.

import { setTimeout as delay } from 'node:timers/promises';
import { CriConnection, CriRuntimeState } from '../../adapters/cri/index.js';
import { containerRows, podCells, podHeader, podRows, tableText } from '../../domain/live-page/pod-rows.js';
import { instantOf } from '../../domain/values/instant.js';
import { formatRfc3339 } from '../../domain/values/time.js';
import type { PodList } from '../../ports/inbound/agent-queries.js';
import type { Pod } from '../../ports/model/pod.js';
import type { ContainerState } from '../../ports/model/pod-status.js';
import type { PodRuntimeStatus, RuntimeContainerStatus } from '../../ports/model/runtime-status.js';
import type { ViewOutput } from '../dev/pod-view.js';
import { agentUrl, guardedPods } from './agent-url.js';

const defaultAgent = 'http://127.0.0.1:10248';
const watchMillis = 1_000;
const answerMillis = 5_000;
const defaultWidth = 200;
const containerHeader: readonly string[] = ['POD', 'CONTAINER', 'STATE', 'RESTARTS', 'ID', 'IMAGE'];

const usage = `usage: kubelet-ctl ps [--agent URL | --runtime unix:///path] [-o table|json] [-w]

  --agent URL             the loopback listener of a kubelet (default ${defaultAgent})
  --runtime unix:///path  the runtime's own view, without a kubelet
  -o json                 the pods as JSON
  -w                      again each time something has changed, until Ctrl-C
`;

interface PsOptions {
  agent: string;
  runtime: string | null;
  json: boolean;
  watch: boolean;
}

export async function ps(words: readonly string[], output: ViewOutput, error: ViewOutput): Promise<number> {
  const options = parse(words);
  if (options === 'help') {
    output.write(usage);
    return 0;
  }
  if (typeof options === 'string') {
    error.write(`kubelet-ctl ps: ${options}\n\n${usage}`);
    return 2;
  }
  try {
    const source = sourceOf(options);
    for (let last = ''; ; await delay(watchMillis)) {
      const pods = await source();
      const key = JSON.stringify(pods);
      if (key !== last) output.write(options.json ? `${JSON.stringify(pods, null, options.watch ? 0 : 2)}\n` : `${last === '' ? '' : '\n'}${text(pods, output)}`);
      last = key;
      if (!options.watch) return 0;
    }
  } catch (failure) {
    const where = options.runtime ?? options.agent;
    const cause = failure instanceof Error && failure.cause instanceof Error ? `: ${failure.cause.message}` : '';
    error.write(`kubelet-ctl ps: ${where}: ${failure instanceof Error ? failure.message : String(failure)}${cause}\n`);
    return 1;
  }
}

function parse(words: readonly string[]): PsOptions | string {
  const options: PsOptions = { agent: defaultAgent, runtime: null, json: false, watch: false };
  const rest = words.flatMap((word) => (/^--[a-z]+=/.test(word) ? [word.slice(0, word.indexOf('=')), word.slice(word.indexOf('=') + 1)] : [word])).reverse();
  for (let word = rest.pop(); word !== undefined; word = rest.pop()) {
    switch (word) {
      case '--help':
      case '-h':
        return 'help';
      case '-w':
      case '--watch':
        options.watch = true;
        break;
      case '-o':
      case '--output': {
        const format = rest.pop();
        if (format !== 'json' && format !== 'table') return '-o takes table or json';
        options.json = format === 'json';
        break;
      }
      case '--agent':
      case '--runtime': {
        const value = rest.pop();
        if (value === undefined) return `${word} needs a value`;
        if (word === '--agent') options.agent = agentUrl(value);
        else options.runtime = value;
        break;
      }
      default:
        return `unknown option ${word}`;
    }
  }
  return options;
}

function sourceOf({ agent, runtime }: PsOptions): () => Promise<readonly Pod[]> {
  if (runtime === null) {
    return async () => {
      const response = await fetch(`${agent}/pods`, { signal: AbortSignal.timeout(answerMillis) });
      if (response.status === 404) throw new Error(guardedPods('--runtime unix:///... asks the runtime'));
      if (!response.ok) throw new Error(`${response.status} ${response.statusText}`);
      return ((await response.json()) as PodList).items ?? [];
    };
  }
  const connection = new CriConnection({ endpoint: runtime, requestTimeoutMicros: answerMillis * 1000 });
  const state = new CriRuntimeState(connection, () => Date.now() * 1000);
  return () => podsOfRuntime(state);
}

async function podsOfRuntime(state: CriRuntimeState): Promise<Pod[]> {
  const call = { signal: new AbortController().signal, timeoutMicros: null };
  const { pods } = await state.listPods({ uid: null }, call);
  const inspected = await Promise.all(pods.map(({ uid }) => state.inspectPod({ uid }, call)));
  return inspected.filter((pod) => pod !== null).map(podOfRuntime);
}

/** A pod of the runtime as an API object, so that it is shown in the same way. */
function podOfRuntime({ uid, name, namespace, ips, sandboxes, containers }: PodRuntimeStatus): Pod {
  const newest = new Map<string, RuntimeContainerStatus>();
  for (const container of containers) if (!newest.has(container.name)) newest.set(container.name, container);
  const [sandbox] = sandboxes;
  const shown = [...newest.values()].reverse();
  return {
    metadata: { name, namespace, uid },
    spec: { containers: shown.map((container) => ({ name: container.name, image: container.image })) },
    status: {
      phase: sandbox?.state === 'ready' ? 'Running' : 'Unknown',
      ...(sandbox === undefined ? {} : { startTime: formatRfc3339(sandbox.createdAt) }),
      ...(ips[0] === undefined ? {} : { podIP: ips[0] }),
      containerStatuses: shown.map((container) => ({
        name: container.name,
        state: stateOf(container),
        ready: container.state === 'running',
        restartCount: container.restartCount,
        image: container.image,
        imageID: container.imageRef,
        containerID: container.id,
      })),
    },
  };
}

function stateOf({ state, startedAt, finishedAt, exitCode, reason, message }: RuntimeContainerStatus): ContainerState {
  switch (state) {
    case 'running':
      return { running: { startedAt: formatRfc3339(startedAt ?? instantOf(0)) } };
    case 'exited':
      return { terminated: { exitCode, reason, message, startedAt: formatRfc3339(startedAt ?? instantOf(0)), finishedAt: formatRfc3339(finishedAt ?? instantOf(0)) } };
    default:
      return { waiting: { reason: state } };
  }
}

function text(pods: readonly Pod[], output: ViewOutput): string {
  if (pods.length === 0) return 'No pods.\n';
  const width = output.columns ?? defaultWidth;
  const rows = podRows(pods, instantOf(Date.now() * 1000));
  const containers = containerRows(pods).map(({ pod, name, state, restarts, image, id }) => [pod, name, state, String(restarts), id, image]);
  const aside = rows.flatMap(({ namespace, name, setAside }) => (setAside === null ? [] : ['', `${namespace}/${name} is set aside. ${setAside}`]));
  return `${[...tableText(podHeader, rows.map(podCells), width), '', ...tableText(containerHeader, containers, width), ...aside].join('\n')}\n`;
}
