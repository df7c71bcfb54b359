// `kubelet-ctl mock-apiserver`: the mock apiserver as a program of its own.
import { writeFileSync } from 'node:fs';
import { type MockApiserver, mockVersion, startMockApiserver } from '../../adapters/mock-apiserver/index.js';
import type { ViewOutput } from '../dev/pod-view.js';

const usage = `usage: kubelet-ctl mock-apiserver [--bind HOST:PORT] [--http HOST:PORT] [--kubeconfig-out FILE] [--node-kubeconfig NODE=FILE]
                                  [--token TOKEN=USER[:GROUP...]] [--no-scheduler] [--no-authorization] [--speed N] [--seed N]
                                  [--server-version vX.Y.Z] [--without RESOURCE]

An apiserver in memory, for kubectl, agents and tests. What it stores is gone with it.

  --bind HOST:PORT             HTTPS (default 127.0.0.1:6443; port 0: any that is free)
  --http HOST:PORT             plain HTTP beside it, where each client is the administrator
  --kubeconfig-out FILE        writes the administrator's kubeconfig (default: none)
  --node-kubeconfig NODE=FILE  writes a kubeconfig with which a kubelet is that node; may be given several times
  --token TOKEN=USER[:GROUP..] a bearer token that is good from the start; may be given several times
  --no-scheduler               pods wait for a scheduler of yours
  --no-authorization           each client may do everything
  --speed N                    N seconds of the server in one (default 1)
  --seed N                     what uids are drawn from (default 1)
  --server-version vX.Y.Z      what it says it is (default ${mockVersion})
  --without RESOURCE           a collection that it hasn't, as leases.coordination.k8s.io; may be given several times
`;

interface Given {
  bind: string;
  http: string | null;
  kubeconfig: string | null;
  readonly nodes: [node: string, file: string][];
  readonly tokens: Map<string, { readonly name: string; readonly groups: readonly string[] }>;
  scheduler: boolean;
  authorization: boolean;
  speed: number;
  seed: number;
  version: string;
  readonly without: string[];
}

export async function mockApiserver(words: readonly string[], output: ViewOutput, error: ViewOutput): Promise<number> {
  if (words.includes('--help') || words.includes('-h')) {
    output.write(usage);
    return 0;
  }
  const given = parse(words);
  if (typeof given === 'string') {
    error.write(`kubelet-ctl mock-apiserver: ${given}\n\n${usage}`);
    return 2;
  }
  const ended = new Promise<void>((resolve) => {
    process.once('SIGINT', () => resolve());
    process.once('SIGTERM', () => resolve());
  });
  try {
    const server = await start(given);
    output.write(`listening on ${server.url}${server.httpUrl === null ? '' : ` and ${server.httpUrl}`}\n`);
    if (given.kubeconfig !== null) output.write(`export KUBECONFIG=${given.kubeconfig}\n`);
    await ended;
    await server.stop();
    return 0;
  } catch (failure) {
    error.write(`kubelet-ctl mock-apiserver: ${failure instanceof Error ? failure.message : String(failure)}\n`);
    return 1;
  }
}

async function start({ bind, http, kubeconfig, nodes, tokens, scheduler, authorization, speed, seed, version, without }: Given): Promise<MockApiserver> {
  const controllers = (['namespaces', 'scheduler', 'certificates', 'garbage', 'taints', 'heartbeats', 'events'] as const).filter((name) => scheduler || name !== 'scheduler');
  const settings = { seed, authorization, controllers, without };
  const server = await startMockApiserver({ bind, speed, tokens, settings, version, ...(http === null ? {} : { httpBind: http }) });
  // Keys are in them: for their owner alone.
  const write = (file: string, text: string): void => writeFileSync(file, text, { mode: 0o600 });
  if (kubeconfig !== null) write(kubeconfig, server.kubeconfig());
  for (const [node, file] of nodes) write(file, server.kubeconfig({ commonName: `system:node:${node}`, organizations: ['system:nodes'] }));
  return server;
}

/** A text: the error. */
function parse(words: readonly string[]): Given | string {
  const given: Given = {
    bind: '127.0.0.1:6443',
    http: null,
    kubeconfig: null,
    nodes: [],
    tokens: new Map(),
    scheduler: true,
    authorization: true,
    speed: 1,
    seed: 1,
    version: mockVersion,
    without: [],
  };
  const rest = words.flatMap((word) => (/^--[a-z-]+=/.test(word) ? [word.slice(0, word.indexOf('=')), word.slice(word.indexOf('=') + 1)] : [word])).reverse();
  for (let word = rest.pop(); word !== undefined; word = rest.pop()) {
    if (word === '--no-scheduler') given.scheduler = false;
    else if (word === '--no-authorization') given.authorization = false;
    else {
      const problem = takeValue(given, word, rest);
      if (problem !== null) return problem;
    }
  }
  return given;
}

function takeValue(given: Given, word: string, rest: string[]): string | null {
  if (!['--bind', '--http', '--kubeconfig-out', '--node-kubeconfig', '--token', '--speed', '--seed', '--server-version', '--without'].includes(word))
    return `unknown option ${word}`;
  const value = rest.pop() ?? '';
  if (value === '') return `${word} needs a value`;
  const [first = '', ...others] = value.split('=');
  switch (word) {
    case '--bind':
      given.bind = value;
      return null;
    case '--http':
      given.http = value;
      return null;
    case '--kubeconfig-out':
      given.kubeconfig = value;
      return null;
    case '--server-version':
      given.version = value;
      return null;
    case '--without':
      given.without.push(value);
      return null;
    case '--node-kubeconfig':
      if (others.length === 0 || others.join('=') === '') return `${word} needs NODE=FILE`;
      given.nodes.push([first, others.join('=')]);
      return null;
    case '--token': {
      const [name = '', ...groups] = others.join('=').split(':');
      if (name === '') return `${word} needs TOKEN=USER`;
      given.tokens.set(first, { name, groups });
      return null;
    }
    default: {
      const number = Number(value);
      if (!Number.isFinite(number) || number <= 0) return `${word} needs a positive number`;
      given[word === '--speed' ? 'speed' : 'seed'] = number;
      return null;
    }
  }
}
