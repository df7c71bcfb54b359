// The environment of a daemon under test: a mock runtime, directories and a configuration of its own, all removed afterwards.
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FileConfigurationSource } from '../../src/adapters/config-files/index.js';
import { type MockCriOptions, type MockCriServer, startMockCri } from '../../src/adapters/mock-cri/index.js';
import { type DirectoryProjects, type NativeLinux, type NativeLinuxOptions, openNativeLinux } from '../../src/adapters/native-linux/index.js';
import { WallAnchoredClock } from '../../src/adapters/time/index.js';
import type { DaemonProfile } from '../../src/app/daemon/daemon-profile.js';
import { type Daemon, startDaemon } from '../../src/app/daemon/start-daemon.js';
import { type LoadedConfiguration, loadConfiguration } from '../../src/domain/configuration/load-configuration.js';
import type { Pod } from '../../src/ports/model/pod.js';
import type { KernelLog } from '../../src/ports/outbound/kernel-log.js';
import type { LogFields, Logger, LogLevel } from '../../src/ports/outbound/logger.js';
import type { SimContainer } from '../../src/sim/index.js';

const quick = { look: 500, runSandbox: 5_000, createContainer: 1_000, startContainer: 1_000, stop: 1_000, remove: 1_000, pull: 1_000 };

export class LogLines implements Logger {
  readonly lines: string[] = [];

  log(level: LogLevel, message: string, fields: LogFields = {}): void {
    this.lines.push(`${level} ${message} ${JSON.stringify(fields)}`);
  }

  shows(): boolean {
    return true;
  }

  named(): Logger {
    return this;
  }

  find(text: string): string | undefined {
    return this.lines.find((line) => line.includes(text));
  }
}

export class Stage {
  readonly directory = mkdtempSync(join(tmpdir(), 'kubelet-ts-test-'));
  readonly manifests = join(this.directory, 'manifests');
  readonly log = new LogLines();
  /** The result of the log's health check. */
  logFailure: string | null = null;
  /** In place of the kernel's log, which is empty here. */
  kernelLog: (() => KernelLog) | null = null;
  /** In place of the kernel's projects of directories. */
  projects: DirectoryProjects | null = null;
  /** In place of the addon. */
  native: ((options: NativeLinuxOptions) => NativeLinux) | null = null;
  /** YAML on top of the configuration of daemons in this process. */
  configurationMore = '';
  /** Variables of the process, as daemons in it see them. */
  environment: Readonly<Record<string, string>> = {};
  /** More words for the command line of each start. */
  readonly flags: string[] = [];
  private readonly daemons: Daemon[] = [];

  private constructor(
    readonly runtime: MockCriServer,
    readonly clock: WallAnchoredClock,
  ) {
    mkdirSync(this.manifests);
  }

  static async open(options: Partial<MockCriOptions> = {}, clock = new WallAnchoredClock(() => {})): Promise<Stage> {
    const sockets = mkdtempSync(join(tmpdir(), 'kubelet-ts-test-'));
    return new Stage(await startMockCri({ listen: `unix://${sockets}/runtime.sock`, seed: 1, registry: 'any', latencies: quick, pullBytesPerSecond: 1e10, ...options }), clock);
  }

  get root(): string {
    return join(this.directory, 'root');
  }

  async close(): Promise<void> {
    for (const daemon of this.daemons) await daemon.stop();
    await this.runtime.stop();
    rmSync(this.directory, { recursive: true, force: true });
    rmSync(this.runtime.endpoint.slice('unix://'.length).replace(/\/[^/]*$/, ''), { recursive: true, force: true });
  }

  /** Writes a manifest as editors do: whole, under another name, then in its place. */
  manifest(file: string, text: string): void {
    const draft = join(this.directory, `${file}.draft`);
    writeFileSync(draft, text);
    renameSync(draft, join(this.manifests, file));
  }

  pod(name: string, image = 'busybox', script = 'run=forever', more = ''): string {
    return `apiVersion: v1
kind: Pod
metadata: {name: ${name}, annotations: {"sim.kubelet-ts/c": "${script}"}}
spec:
  dnsPolicy: Default
  enableServiceLinks: false
  terminationGracePeriodSeconds: 1
  containers: [{name: c, image: ${image}, imagePullPolicy: IfNotPresent}]
${more}`;
  }

  remove(file: string): void {
    rmSync(join(this.manifests, file));
  }

  /** Writes the configuration file; `more` is YAML that comes on top. Returns its path. */
  configurationFile(more = ''): string {
    const path = join(this.directory, 'config.yaml');
    const overridden = new Set([...more.matchAll(/^(\w+):/gm)].map(([, key]) => key));
    const lines = [
      'apiVersion: kubelet.config.k8s.io/v1beta1',
      'kind: KubeletConfiguration',
      'staticPodPath: manifests',
      'podLogsDir: logs',
      `containerRuntimeEndpoint: ${this.runtime.endpoint}`,
      'cgroupsPerQOS: false',
      'enforceNodeAllocatable: [none]',
      'failSwapOn: false',
      'failCgroupV1: false',
      'evictionHard: {}',
      'healthzPort: 0',
      'enableServer: false',
      'authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}',
      'authorization: {mode: AlwaysAllow}',
    ].filter((line) => !overridden.has(line.slice(0, line.indexOf(':'))));
    writeFileSync(path, `${lines.join('\n')}\n${more}`);
    return path;
  }

  /** Words of a command line for this stage. */
  words(root = this.root, more = this.configurationMore): string[] {
    return [`--config=${this.configurationFile(more)}`, `--root-dir=${root}`, '--hostname-override=n1', ...this.flags];
  }

  loaded(root = this.root): LoadedConfiguration {
    const loaded = loadConfiguration(this.words(root), new FileConfigurationSource(), { cgroupVersion: 1 });
    if (loaded.kind !== 'loaded') throw new Error(loaded.kind === 'refused' ? loaded.error : loaded.kind);
    return loaded;
  }

  async start(profile: Partial<DaemonProfile> = {}, root = this.root): Promise<Daemon> {
    const options = { kernelLogPath: '/dev/null', service: { notifySocket: null, watchdogMicros: null, watchdogPid: null } };
    const native = this.native?.(options) ?? openNativeLinux(options, false);
    const full: DaemonProfile = {
      containerLogLinks: join(this.directory, 'links'),
      ownsNode: false,
      ownsImages: false,
      projectFilesDirectory: null,
      takeOver: false,
      adoptsByManifest: true,
      takeOverAdvice: 'Advice.',
      listenPort: 0,
      apiPort: 0,
      apiAddress: '127.0.0.1',
      flightRecord: null,
      livePage: null,
      probing: null,
      apparmorEnabled: true,
      logind: { dropIn: null, inhibitor: null },
      ...profile,
    };
    const daemon = await startDaemon({
      loaded: this.loaded(root),
      profile: full,
      logger: this.log,
      setVerbosity: () => {},
      logFailure: () => this.logFailure,
      clock: this.clock,
      native: { ...native, openKernelLog: this.kernelLog ?? native.openKernelLog, projects: this.projects ?? native.projects },
      environment: this.environment,
    });
    this.daemons.push(daemon);
    return daemon;
  }

  get containers(): SimContainer[] {
    return [...this.runtime.runtime.state.containers.values()];
  }

  /** Nothing runs in the runtime. What is dead may still be listed: it is collected within a minute. */
  get isIdle(): boolean {
    return this.running.length === 0 && [...this.runtime.runtime.state.sandboxes.values()].every(({ state }) => state !== 'ready');
  }

  /** Ids of running containers, sorted. */
  get running(): string[] {
    return this.containers
      .filter(({ state }) => state === 'running')
      .map(({ id }) => id)
      .sort();
  }
}

/** The pod of that name, as the daemon reports it. */
export function podNamed(daemon: Daemon, name: string): Pod | undefined {
  return daemon.queries.pods().items?.find(({ metadata }) => metadata.name === name);
}

export function phaseOf(daemon: Daemon, name: string): string | undefined {
  return podNamed(daemon, name)?.status?.phase;
}
