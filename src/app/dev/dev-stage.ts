// The environment of a demonstration: private directories, the pods' manifests, a configuration that touches nothing else, and the mock runtime.
// Invariant: everything is below one directory that only this process uses, and is removed with it.
import { cpSync, existsSync, mkdirSync, mkdtempSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { FileConfigurationSource } from '../../adapters/config-files/index.js';
import { readHost } from '../../adapters/linux/index.js';
import { type MockApiserver, startMockApiserver } from '../../adapters/mock-apiserver/index.js';
import { type MockCriServer, startMockCri } from '../../adapters/mock-cri/index.js';
import { removeWithMounts } from '../../adapters/storage/index.js';
import { type LoadedConfiguration, loadConfiguration } from '../../domain/configuration/load-configuration.js';
import type { KubeletConfiguration } from '../../domain/configuration/schema.js';
import { StartRefusal } from '../../ports/start-refusal.js';
import { packageDirectory } from '../cli/version.js';
import type { DaemonProfile } from '../daemon/daemon-profile.js';
import type { DevOptions } from './dev-options.js';

const nodeName = 'dev';
const loopback = '127.0.0.1';
/** For display only: a demonstration must also run on a disk that is nearly full. */
const demonstratedThresholds = { 'memory.available': '100Mi', 'nodefs.available': '1%', 'nodefs.inodesFree': '1%', 'imagefs.available': '1%', 'pid.available': '1%' };
/** Pods of a mock runtime query no name server; without an address each pod created by kubectl would get a warning event. */
const mockClusterDns = '10.96.0.10';
export const devCgroup = 'kubelet-ts-dev';
/** The examples' images are small, so that a demonstration is not about waiting. */
const mockImages = [{ reference: 'docker.io/library/busybox:1.36', sizeBytes: 4_300_000 }];
const mockPullBytesPerSecond = 20_000_000;

export class DevStage {
  private apiPort = 0;
  readonly directory: string;
  readonly manifests: string;

  /** Throws StartRefusal when the manifests aren't there. */
  constructor(private readonly options: DevOptions) {
    const given = options.manifests === null ? null : resolve(options.manifests);
    if (given !== null && !existsSync(given)) throw new StartRefusal(`${given}: no such directory`);
    if (given !== null && !statSync(given).isDirectory()) throw new StartRefusal(`${given}: not a directory`);
    this.directory = mkdtempSync(join(tmpdir(), 'kubelet-ts-dev-'));
    this.manifests = given ?? join(this.directory, 'manifests');
    if (given === null) cpSync(join(packageDirectory(), 'examples', 'pods'), this.manifests, { recursive: true });
    mkdirSync(this.logsDirectory);
  }

  get rootDirectory(): string {
    return join(this.directory, 'root');
  }

  get linksDirectory(): string {
    return join(this.directory, 'container-logs');
  }

  get logsDirectory(): string {
    return join(this.directory, 'logs');
  }

  /** Path from the root of the cgroup trees; pods have cgroups of their own only if configured. */
  get cgroupRoot(): string {
    return `/${devCgroup}/${process.pid}`;
  }

  /** null when a real runtime is used. */
  async startRuntime(): Promise<MockCriServer | null> {
    if (this.options.runtime !== null) return null;
    const listen = `unix://${join(this.directory, 'runtime.sock')}`;
    return startMockCri({ listen, seed: 1, registry: 'any', images: mockImages, pullBytesPerSecond: mockPullBytesPerSecond });
  }

  /** For kubectl. */
  get kubeconfig(): string {
    return join(this.directory, 'kubeconfig');
  }

  /** null when the kubelet is to be alone. */
  async startApiserver(): Promise<MockApiserver | null> {
    if (this.options.standalone) return null;
    const server = await startMockApiserver({ kubeletHost: loopback });
    this.apiPort = await freePort();
    const write = (file: string, text: string): void => writeFileSync(file, text, { mode: 0o600 });
    write(this.kubeconfig, server.kubeconfig());
    write(this.clientAuthorities, server.caCertificate);
    write(this.nodeKubeconfig, server.kubeconfig({ commonName: `system:node:${nodeName}`, organizations: ['system:nodes'] }));
    return server;
  }

  private get clientAuthorities(): string {
    return join(this.directory, 'client-ca.crt');
  }

  private get nodeKubeconfig(): string {
    return join(this.directory, 'node.kubeconfig');
  }

  configuration(endpoint: string): LoadedConfiguration {
    const cluster = this.options.standalone ? [] : [`--kubeconfig=${this.nodeKubeconfig}`];
    const words = [...cluster, `--root-dir=${this.rootDirectory}`, `--hostname-override=${nodeName}`, '--fail-swap-on=false', '--fail-cgroupv1=false'];
    const loaded = loadConfiguration(words, new FileConfigurationSource(), { cgroupVersion: readHost().cgroupVersion });
    if (loaded.kind !== 'loaded') throw new Error(loaded.kind === 'refused' ? loaded.error : `unexpected: ${loaded.kind}`);
    const configuration = {
      ...loaded.configuration,
      ...this.server(loaded.configuration),
      staticPodPath: this.manifests,
      podLogsDir: this.logsDirectory,
      containerRuntimeEndpoint: endpoint,
      cgroupsPerQOS: this.options.cgroups,
      cgroupRoot: this.options.cgroups ? this.cgroupRoot : '',
      evictionHard: demonstratedThresholds,
      clusterDNS: this.options.runtime === null ? [mockClusterDns] : loaded.configuration.clusterDNS,
    };
    return { ...loaded, configuration };
  }

  /** The kubelet's own port, for the apiserver and users that it authenticates; without an apiserver nothing could authorize requests. */
  private server({ authentication, authorization }: KubeletConfiguration): Partial<KubeletConfiguration> {
    if (this.options.standalone) return { enableServer: false };
    const x509 = { clientCAFile: this.clientAuthorities };
    const own = { ...authentication, x509, anonymous: { enabled: false }, webhook: { ...authentication.webhook, enabled: true } };
    // The read-only port would be a fixed one, which another demonstration or the node's own kubelet has.
    return { address: loopback, port: this.apiPort, readOnlyPort: 0, authentication: own, authorization: { ...authorization, mode: 'Webhook' } };
  }

  /** @param mock answers probes and hooks for its running pods */
  profile(mock: MockCriServer | null): DaemonProfile {
    return {
      containerLogLinks: this.linksDirectory,
      ownsNode: false,
      ownsImages: false,
      projectFilesDirectory: null,
      takeOver: this.options.takeOver,
      // The root directory is always new, so pods of the same manifests are those of another demonstration.
      adoptsByManifest: false,
      takeOverAdvice: 'With --take-over it is taken over: those pods are STOPPED then.',
      listenPort: 0,
      apiPort: null,
      apiAddress: null,
      flightRecord: null,
      livePage: { address: loopback, port: 0 },
      probing: mock?.probing ?? null,
      apparmorEnabled: mock === null ? null : true,
      logind: { dropIn: null, inhibitor: null },
    };
  }

  /** Returns what remains, and why; null: nothing does. */
  remove(): string | null {
    const why = removeWithMounts(this.directory);
    return why === null ? null : `${this.directory} (${why})`;
  }
}

/** A free port. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, loopback, resolve);
  });
  const address = server.address();
  await new Promise<void>((resolve) => server.close(() => resolve()));
  return typeof address === 'object' && address !== null ? address.port : 0;
}
