// TLS bootstrap: from a kubeconfig that may request a certificate to one that presents it.
import { chmodSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { KubeconfigState } from '../../ports/outbound/certificates.js';
import { PortError } from '../../ports/port-error.js';
import { certificatesOf, factsOf, pairProblem } from '../certificates/index.js';
import { formatYaml } from '../yaml/index.js';
import type { ApiClients } from './api-clients.js';
import type { ClientConfig } from './kubeconfig.js';
import { KubeconfigError, loadKubeconfig } from './kubeconfig.js';
import { clientPairOf } from './usable-credentials.js';

export type Loaded = { readonly config: ClientConfig; readonly problem: null } | { readonly config: null; readonly problem: string };

/** Reads a kubeconfig; its error is a value. */
export function tryKubeconfig(path: string): Loaded {
  try {
    return { config: loadKubeconfig(path), problem: null };
  } catch (error) {
    if (!(error instanceof KubeconfigError)) throw error;
    return { config: null, problem: error.message };
  }
}

/** The inputs of the bootstrap decision. */
export function stateOf({ config, problem }: Loaded): KubeconfigState {
  if (config === null) return { kind: 'unusable', reason: problem };
  if (config.user.certificate === null) return { kind: 'loaded', pair: null };
  const pair = clientPairOf(config);
  if (pair === null || pairProblem(pair.certificate, pair.key) !== null) return { kind: 'loaded', pair: 'broken' };
  return { kind: 'loaded', pair: certificatesOf(pair.certificate).map(factsOf) };
}

/** The kubeconfig of a node whose pair is at `pemPath`, as a file and as the parsed configuration. */
export function nodeConfigOf(bootstrap: ClientConfig, path: string, pemPath: string): ClientConfig {
  const pem = { kind: 'file', path: pemPath } as const;
  return { ...bootstrap, path, user: { certificate: { certificate: pem, key: pem }, token: null, basic: null, exec: null } };
}

/** Writes it as the Go kubelet does, atomically, for its owner only. */
export function writeKubeconfig({ path, server, serverName, insecure, authority, proxyUrl }: ClientConfig, pemPath: string): void {
  const trust =
    authority === null
      ? {}
      : authority.kind === 'file'
        ? { 'certificate-authority': authority.path }
        : { 'certificate-authority-data': Buffer.from(authority.pem).toString('base64') };
  const cluster = {
    ...trust,
    ...(insecure ? { 'insecure-skip-tls-verify': true } : {}),
    ...(proxyUrl === null ? {} : { 'proxy-url': proxyUrl }),
    server,
    ...(serverName === null ? {} : { 'tls-server-name': serverName }),
  };
  const text = formatYaml({
    apiVersion: 'v1',
    clusters: [{ cluster, name: 'default-cluster' }],
    contexts: [{ context: { cluster: 'default-cluster', namespace: 'default', user: 'default-auth' }, name: 'default-context' }],
    'current-context': 'default-context',
    kind: 'Config',
    users: [{ name: 'default-auth', user: { 'client-certificate': pemPath, 'client-key': pemPath } }],
  });
  mkdirSync(dirname(path), { recursive: true, mode: 0o755 });
  const draft = `${path}.new`;
  writeFileSync(draft, text, { mode: 0o600 });
  chmodSync(draft, 0o600);
  renameSync(draft, path);
}

const healthTries = 30;
const healthPauseMillis = 2_000;
const healthTimeoutMicros = 1_000_000;

/** Waits up to a minute for any answer of the server, including refusals. False: none came. */
export async function serverAnswers({ reader }: ApiClients, signal: AbortSignal): Promise<boolean> {
  const kubeSystem = { resource: { group: '', version: 'v1', plural: 'namespaces' }, namespace: null, name: 'kube-system', client: 'main', resourceVersion: '0' } as const;
  for (let tries = 0; tries < healthTries; tries++) {
    try {
      await reader.get(kubeSystem, { signal, timeoutMicros: healthTimeoutMicros });
      return true;
    } catch (error) {
      if (error instanceof PortError && error.kind !== 'unavailable' && error.kind !== 'deadline-exceeded') return true;
    }
    await delay(healthPauseMillis, undefined, { signal });
  }
  return false;
}
