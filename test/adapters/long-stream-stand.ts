// The paths of long streams: a runtime's streaming server itself, the kubelet's port before it, and the mock apiserver before that, whose node declares
// ExtendWebSocketsToKubelet or doesn't. A function opens the sessions, so any runtime may be used.
import type { Test } from 'tap';
import { type KubeletRoute, KubeletServer, streamRoutes } from '../../src/adapters/http-server/index.js';
import type { ServerTls } from '../../src/adapters/http-server/tls-context.js';
import { startMockApiserver } from '../../src/adapters/mock-apiserver/index.js';
import { requestPolicy } from '../../src/domain/authorization/request-policy.js';
import type { NodeContainerOperations, StreamWishes } from '../../src/ports/inbound/node-containers.js';
import type { PortOf } from '../../src/ports/operation.js';
import { serving } from './kubelet-server-peer.js';

/** Each opens a session and returns its URL. */
export interface Sessions {
  exec(command: readonly string[], wishes: StreamWishes): Promise<string>;
  attach(wishes: StreamWishes): Promise<string>;
  forward(ports: readonly number[]): Promise<string>;
}

export type Place = 'runtime' | 'kubelet' | 'apiserver' | 'apiserver without the feature';
export const places: readonly Place[] = ['runtime', 'kubelet', 'apiserver', 'apiserver without the feature'];

const pair = { certificatePem: serving.cert, keyPem: serving.key };
const tls: ServerTls = { pair, clientCertificates: null, minVersion: 'TLSv1.2', ciphers: [], groups: [] };
const found = (url: string) => ({ kind: 'found', value: { url } }) as const;

function containersOf(sessions: Sessions): PortOf<NodeContainerOperations> {
  return {
    exec: async ({ command, ...wishes }: { readonly command: readonly string[] } & StreamWishes) => found(await sessions.exec(command, wishes)),
    attach: async (wishes: StreamWishes) => found(await sessions.attach(wishes)),
    portForward: async ({ ports }: { readonly ports: readonly number[] }) => found(await sessions.forward(ports)),
  } as unknown as PortOf<NodeContainerOperations>;
}

/** The same sessions as each place offers them. */
export async function everyPlace(t: Test, sessions: Sessions): Promise<Readonly<Record<Place, Sessions>>> {
  const routes: readonly KubeletRoute[] = streamRoutes(containersOf(sessions), true);
  const kubelet = async (tls: ServerTls | null): Promise<number> => {
    const server = await KubeletServer.listen({
      address: '127.0.0.1',
      port: 0,
      policy: requestPolicy('n'),
      routes,
      tls,
      access: null,
      onError: (error) => t.fail(String(error)),
    });
    t.teardown(() => server.close(0));
    return server.port;
  };
  const [plain, secure] = [await kubelet(null), await kubelet(tls)];
  const apiserver = await startMockApiserver({ kubeletHost: '127.0.0.1', httpBind: '127.0.0.1:0' });
  t.teardown(() => apiserver.stop());
  const api = apiserver.httpUrl ?? '';
  const post = async (path: string, body: object): Promise<void> => {
    const answer = await fetch(`${api}${path}`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  };
  for (const [name, declaredFeatures] of [
    ['with', ['ExtendWebSocketsToKubelet']],
    ['without', []],
  ] as const) {
    const status = { addresses: [{ type: 'InternalIP', address: '127.0.0.1' }], daemonEndpoints: { kubeletEndpoint: { Port: secure } }, declaredFeatures };
    await post('/api/v1/nodes', { apiVersion: 'v1', kind: 'Node', metadata: { name }, status });
    const spec = { nodeName: name, automountServiceAccountToken: false, containers: [{ name: 'c', image: 'busybox' }] };
    await post('/api/v1/namespaces/default/pods', { apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec });
  }
  return {
    runtime: sessions,
    kubelet: {
      exec: async (command, wishes) => `http://127.0.0.1:${plain}/exec/ns/p/c?${query(kubeletNames, wishes, command)}`,
      attach: async (wishes) => `http://127.0.0.1:${plain}/attach/ns/p/c?${query(kubeletNames, wishes, [])}`,
      forward: async (ports) => `http://127.0.0.1:${plain}/portForward/ns/p?${repeated('port', ports)}`,
    },
    apiserver: ofApiserver(api, 'with'),
    'apiserver without the feature': ofApiserver(api, 'without'),
  };
}

function ofApiserver(api: string, pod: string): Sessions {
  const at = `${api}/api/v1/namespaces/default/pods/${pod}`;
  return {
    exec: async (command, wishes) => `${at}/exec?${query(apiNames, wishes, command)}`,
    attach: async (wishes) => `${at}/attach?${query(apiNames, wishes, [])}`,
    forward: async (ports) => `${at}/portforward?${repeated('ports', ports)}`,
  };
}

function repeated(key: string, ports: readonly number[]): string {
  return ports.map((port) => `${key}=${port}`).join('&');
}

const kubeletNames = { stdin: 'input', stdout: 'output', stderr: 'error', tty: 'tty', yes: '1', no: '0' } as const;
const apiNames = { stdin: 'stdin', stdout: 'stdout', stderr: 'stderr', tty: 'tty', yes: 'true', no: 'false' } as const;

function query(names: typeof kubeletNames | typeof apiNames, wishes: StreamWishes, command: readonly string[]): URLSearchParams {
  const asked = new URLSearchParams();
  for (const wish of ['stdin', 'stdout', 'stderr', 'tty'] as const) asked.append(names[wish], wishes[wish] ? names.yes : names.no);
  for (const word of command) asked.append('command', word);
  return asked;
}
