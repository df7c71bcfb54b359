// `kubelet-ctl logs`: the log of a container on a node without an apiserver. The kubelet's loopback listener resolves the
// container; the log is read from the node's files, so the user needs permission to read them.

import { join } from 'node:path';
import { type ContainerLogFile, FileLogReader } from '../../adapters/container-logs/index.js';
import { Drain, type DrainingOutput } from '../../adapters/http-server/index.js';
import { openNativeLinux } from '../../adapters/native-linux/index.js';
import { containerOfLogs } from '../../domain/logs/log-container.js';
import { parseGoDuration } from '../../domain/values/go-duration.js';
import { instantOf } from '../../domain/values/instant.js';
import { legacyContainerLogsDirectory, legacyLogSymlink } from '../../domain/values/log-paths.js';
import type { LogReadOptions } from '../../domain/values/log-read-options.js';
import { formatRfc3339Micros, parseRfc3339 } from '../../domain/values/time.js';
import type { PodList } from '../../ports/inbound/agent-queries.js';
import type { Pod } from '../../ports/model/pod.js';
import { agentUrl, guardedPods } from './agent-url.js';

const defaultAgent = 'http://127.0.0.1:10248';
const answerMillis = 5_000;

const usage = `usage: kubelet-ctl logs POD [-c CONTAINER] [-f] [-p] [--tail N] [--since 5m | --since-time TIME] [--limit-bytes N] [--timestamps]

  POD                  as in its manifest, or with the node's name
  -n, --namespace NS   (default default)
  -c, --container C    (default the first one)
  -f, --follow         continue with what is written later, until the container ends or Ctrl-C
  -p, --previous       the container before its last restart
  --tail N             the last lines only
  --since, --since-time, --limit-bytes, --timestamps
                       as kubectl has them
  --agent URL          the loopback listener of the kubelet (default ${defaultAgent})
  --links DIR          where the kubelet makes links to logs (default ${legacyContainerLogsDirectory})
`;

interface LogsOptions {
  pod: string;
  namespace: string;
  container: string | null;
  previous: boolean;
  agent: string;
  links: string;
  read: { -readonly [Field in keyof LogReadOptions]: LogReadOptions[Field] };
}

/** The output stream; false: wait for `drain`. */
export interface LogOutput extends DrainingOutput {
  write(bytes: string | Uint8Array): boolean;
}

export async function logs(
  words: readonly string[],
  output: LogOutput,
  error: { write(text: string): unknown },
  signal: AbortSignal = new AbortController().signal,
): Promise<number> {
  const options = parse(words);
  if (options === 'help') {
    output.write(usage);
    return 0;
  }
  if (typeof options === 'string') {
    error.write(`kubelet-ctl logs: ${options}\n\n${usage}`);
    return 2;
  }
  const native = options.read.follow ? openNativeLinux({ kernelLogPath: '/dev/null', service: { notifySocket: null, watchdogMicros: null, watchdogPid: null } }, false) : null;
  const drain = new Drain(output);
  try {
    const reader = new FileLogReader({ openFileWatch: native === null ? null : (listener) => native.openFileWatch(listener) });
    for await (const { bytes } of reader.read({ log: await findLog(options), options: options.read, signal })) {
      if (!output.write(bytes)) await drain.next();
      if (output.destroyed) break;
    }
    return 0;
  } catch (failure) {
    const cause = failure instanceof Error && failure.cause instanceof Error && failure.message === 'fetch failed' ? `${options.agent}: ${failure.cause.message}` : null;
    error.write(`kubelet-ctl logs: ${cause ?? (failure instanceof Error ? failure.message : String(failure))}\n`);
    return 1;
  } finally {
    drain.end();
  }
}

async function findLog(options: LogsOptions): Promise<ContainerLogFile> {
  const pod = await findPod(options);
  const { spec, metadata, status = {} } = pod;
  const name = options.container ?? spec.containers[0]?.name ?? '';
  const named = [...(spec.initContainers ?? []), ...spec.containers, ...(spec.ephemeralContainers ?? [])].some((container) => container.name === name);
  if (!named) throw new Error(`container ${JSON.stringify(name)} not found in pod ${JSON.stringify(metadata.name)}`);
  const found = containerOfLogs(metadata.name, status, name, options.previous);
  if (found.kind === 'refused') throw new Error(found.message);
  const id = found.containerId.replace(/^[^/]*:\/\//, '');
  const link = legacyLogSymlink(id, name, metadata.name, metadata.namespace ?? '');
  return { path: join(options.links, link.slice(link.lastIndexOf('/') + 1)), mayGrow: () => isRunning(options, name, found.containerId) };
}

async function findPod({ agent, pod, namespace }: LogsOptions): Promise<Pod> {
  const response = await fetch(`${agent}/pods`, { signal: AbortSignal.timeout(answerMillis) });
  if (response.status === 404) throw new Error(`${agent}: ${guardedPods('kubectl logs asks for them there')}`);
  if (!response.ok) throw new Error(`${agent}: ${response.status} ${response.statusText}`);
  const pods = (((await response.json()) as PodList).items ?? []).filter(({ metadata }) => (metadata.namespace ?? '') === namespace);
  const exact = pods.find(({ metadata }) => metadata.name === pod);
  const [only, ...more] = exact === undefined ? pods.filter(({ metadata }) => metadata.name.startsWith(`${pod}-`)) : [exact];
  if (only === undefined) throw new Error(`pod ${JSON.stringify(pod)} does not exist`);
  if (more.length > 0) throw new Error(`more than one pod is called so: ${[only, ...more].map(({ metadata }) => metadata.name).join(', ')}`);
  return only;
}

/** Without the kubelet's answer the container may run. */
async function isRunning(options: LogsOptions, containerName: string, containerId: string): Promise<boolean> {
  try {
    const { status } = await findPod(options);
    const all = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? []), ...(status?.ephemeralContainerStatuses ?? [])];
    const container = all.find(({ name }) => name === containerName);
    return container?.state?.running !== undefined && container.containerID === containerId;
  } catch (failure) {
    return failure instanceof TypeError;
  }
}

function parse(words: readonly string[]): LogsOptions | 'help' | string {
  const read: LogsOptions['read'] = { tailLines: null, limitBytes: null, since: null, timestamps: false, streams: ['stdout', 'stderr'], follow: false };
  const options: LogsOptions = { pod: '', namespace: 'default', container: null, previous: false, agent: defaultAgent, links: legacyContainerLogsDirectory, read };
  const rest = words.flatMap((word) => (/^--[a-z-]+=/.test(word) ? [word.slice(0, word.indexOf('=')), word.slice(word.indexOf('=') + 1)] : [word])).reverse();
  for (let word = rest.pop(); word !== undefined; word = rest.pop()) {
    if (word === '-h' || word === '--help') return 'help';
    if (flags[word]?.(options) !== undefined) continue;
    const take = values[word];
    if (take !== undefined) {
      const value = rest.pop();
      if (value === undefined) return `${word} needs a value`;
      const problem = take(options, value);
      if (problem !== null) return `${word}: ${problem}`;
    } else if (word.startsWith('-')) return `unknown option ${word}`;
    else if (options.pod !== '') return 'one pod at a time';
    else options.pod = word;
  }
  return options.pod === '' ? 'which pod?' : options;
}

const flags: Readonly<Record<string, (options: LogsOptions) => true>> = {
  '-f': following,
  '--follow': following,
  '-p': previous,
  '--previous': previous,
  '--timestamps': ({ read }) => {
    read.timestamps = true;
    return true;
  },
};

function following({ read }: LogsOptions): true {
  read.follow = true;
  return true;
}

function previous(options: LogsOptions): true {
  options.previous = true;
  return true;
}

/** Each returns the error of the value, or null. */
const values: Readonly<Record<string, (options: LogsOptions, value: string) => string | null>> = {
  '-n': namespace,
  '--namespace': namespace,
  '-c': container,
  '--container': container,
  '--agent': (options, value) => {
    options.agent = agentUrl(value);
    return null;
  },
  '--links': (options, value) => {
    options.links = value;
    return null;
  },
  '--tail': ({ read }, value) => {
    read.tailLines = wholeNumber(value);
    return read.tailLines === null ? 'a number of lines, 0 or more' : null;
  },
  '--limit-bytes': ({ read }, value) => {
    read.limitBytes = wholeNumber(value);
    return (read.limitBytes ?? 0) < 1 ? 'a number of bytes, 1 or more' : null;
  },
  '--since': ({ read }, value) => {
    const duration = parseGoDuration(value);
    if (duration === null || duration <= 0) return 'a time such as 30s, 5m or 2h';
    read.since = formatRfc3339Micros(instantOf(Date.now() * 1_000 - duration));
    return null;
  },
  '--since-time': ({ read }, value) => {
    read.since = value;
    return parseRfc3339(value) === null ? 'a time such as 2026-01-01T00:00:00Z' : null;
  },
};

function namespace(options: LogsOptions, value: string): null {
  options.namespace = value;
  return null;
}

function container(options: LogsOptions, value: string): null {
  options.container = value;
  return null;
}

function wholeNumber(text: string): number | null {
  return /^\d{1,15}$/.test(text) ? Number(text) : null;
}
