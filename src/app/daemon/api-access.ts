// The daemon's access to the apiserver: the clients behind the agent's ports, from `--kubeconfig` and `--bootstrap-kubeconfig`, and the
// certificates of these clients and of the node's server. Without a kubeconfig the node is standalone.
//
// | the kubeconfig                                        | the start                                                     |
// |-------------------------------------------------------|---------------------------------------------------------------|
// | is not given                                          | continues without an apiserver                                |
// | is unusable or has no valid certificate, and there is a bootstrap kubeconfig | requests a certificate: in the background with rotateCertificates, before the agent without |
// | is unreadable, has no context, no server, a bad field | is refused                                                    |
// | has unusable authorities, certificates or files       | is refused                                                    |
// | is valid, and the server is unreachable or refuses    | continues; the agent retries, as with every request           |
import { join } from 'node:path';
import {
  type ApiClients,
  type ClientConfig,
  clientPairOf,
  nodeConfigOf,
  openApiClients,
  type RequestRate,
  serverAnswers,
  stateOf,
  type TraceRequest,
  tryKubeconfig,
  unusableCredentials,
  writeKubeconfig,
} from '../../adapters/apiserver/index.js';
import { certificatesOf, FileCertificateStore, factsOf, type KeyPair } from '../../adapters/certificates/index.js';
import { bootstrapDecision } from '../../domain/certificates/bootstrap-decision.js';
import { issueTimeout } from '../../domain/certificates/certificate-keeper.js';
import { clientTemplate } from '../../domain/certificates/certificate-rules.js';
import type { LoadedConfiguration } from '../../domain/configuration/load-configuration.js';
import { ClientMeasuring } from '../../domain/kubelet-metrics/client-measuring.js';
import { microsPerSecond } from '../../domain/values/time.js';
import type { Micros } from '../../ports/micros.js';
import type { ApiWatchEvents } from '../../ports/outbound/apiserver.js';
import type { Logger } from '../../ports/outbound/logger.js';
import { StartRefusal } from '../../ports/start-refusal.js';
import { reportedVersion } from '../cli/version.js';
import type { Clock } from '../clock.js';
import { CertificateKeeping } from './certificate-keeping.js';
import { architectureName } from './cluster-node.js';
import { micros } from './kubelet-settings.js';

/** null: the node is standalone. */
export interface ApiAccess {
  readonly clients: ApiClients | null;
  /** Take what watches named `certificate-...` see; each knows its own. */
  readonly keepers: Set<(events: ApiWatchEvents) => void>;
  readonly measuring: ClientMeasuring;
}

export interface ApiAccessOptions {
  readonly loaded: LoadedConfiguration;
  readonly nodeName: string;
  /** The directory of certificates. */
  readonly certificateDirectory: string;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly trace: TraceRequest | null;
  /** Receives the events of the agent's watches. */
  deliver(events: ApiWatchEvents): void;
  /** To be stopped with the daemon. */
  stopped(name: string, stop: () => void): void;
  /** The daemon can't continue. */
  end(error: unknown): void;
}

const unlimited: RequestRate = { perSecond: -1, burst: 0 };
const blockingTimeout: Micros = 3600 * microsPerSecond;

export async function openApiAccess(options: ApiAccessOptions): Promise<ApiAccess> {
  const keepers: ApiAccess['keepers'] = new Set();
  const measuring = new ClientMeasuring(() => options.clock.wall());
  return { clients: options.loaded.options.kubeconfig === '' ? null : await new Opening(options, keepers, measuring).open(), keepers, measuring };
}

class Opening {
  private pair: KeyPair | null = null;

  constructor(
    private readonly options: ApiAccessOptions,
    private readonly keepers: ApiAccess['keepers'],
    private readonly measuring: ClientMeasuring,
  ) {}

  async open(): Promise<ApiClients> {
    const { loaded, clock, logger } = this.options;
    const { kubeconfig, bootstrapKubeconfig } = loaded.options;
    const { rotateCertificates } = loaded.configuration;
    // Completes an interrupted switch, before the pair is read.
    this.store(null);
    const found = tryKubeconfig(kubeconfig);
    const bootstrap = bootstrapKubeconfig === '' ? null : tryKubeconfig(bootstrapKubeconfig);
    const decision = bootstrapDecision(stateOf(found), rotateCertificates, bootstrap, clock.wall());
    if (decision.kind === 'refuse') throw new StartRefusal(`failed to run Kubelet: ${decision.error}`);
    const asking = decision.kind === 'bootstrap' ? (bootstrap?.config ?? null) : null;
    if (asking !== null) {
      this.refuseUnusable(asking);
      logger.log('info', 'Bootstrapping a client certificate', { bootstrapKubeconfig, server: asking.server });
      return rotateCertificates ? this.rotating(nodeConfigOf(asking, kubeconfig, this.store(null).currentPath), asking) : this.blocking(asking);
    }
    const config = found.config as ClientConfig;
    logger.log('info', 'Using kubeconfig', { path: config.path, server: config.server });
    if (rotateCertificates && config.user.certificate !== null) return this.rotating(config, null);
    if (rotateCertificates) logger.log('warn', 'There is no client certificate to rotate in the kubeconfig', { path: config.path });
    this.refuseUnusable(config);
    return this.clients(config);
  }

  /** A certificate that is renewed in the background. @param asking the client config that requests the first one, if there is none yet */
  private rotating(config: ClientConfig, asking: ClientConfig | null): ApiClients {
    const material = config.user.certificate as NonNullable<ClientConfig['user']['certificate']>;
    const files = material.certificate.kind === 'file' && material.key.kind === 'file' ? { certificate: material.certificate.path, key: material.key.path } : null;
    const store = this.store(asking === null ? files : null);
    if (asking !== null) writeKubeconfig(config, store.currentPath);
    const embedded = files === null ? clientPairOf(config) : null;
    if (asking === null) this.refuseUnusable(config);
    const stored = store.current();
    if (stored.kind === 'broken' && asking === null && embedded === null)
      throw new StartRefusal(`failed to run Kubelet: failed to initialize kubelet client certificate manager: ${stored.reason}`);
    const isSeeded = embedded !== null && !(stored.kind === 'found' && this.isValid(stored.pair));
    if (isSeeded) store.update(embedded);
    this.pair = isSeeded ? embedded : stored.kind === 'found' ? stored.pair : null;
    const main = this.clients(config, () => this.pair);
    const first = asking === null ? null : this.clients(asking);
    this.keep(store, false, () => (first === null || (this.pair !== null && this.isValid(this.pair)) ? main : first), isSeeded);
    return main;
  }

  /** The first certificate before anything else; this process renews none. */
  private async blocking(asking: ClientConfig): Promise<ApiClients> {
    const { loaded, logger } = this.options;
    const first = this.clients(asking);
    const aborted = new AbortController();
    this.options.stopped('bootstrap', () => aborted.abort());
    if (!(await serverAnswers(first, aborted.signal))) logger.log('error', 'The apiserver does not answer, asking for a certificate all the same', { server: asking.server });
    const store = this.store(null);
    await new Promise<void>((resolve, reject) => {
      const late = setTimeout(
        () => reject(new StartRefusal('failed to run Kubelet: cannot create certificate signing request: timed out waiting for the condition')),
        blockingTimeout / 1000,
      );
      aborted.signal.addEventListener('abort', () => {
        clearTimeout(late);
        reject(new StartRefusal('failed to run Kubelet: stopped while waiting for a client certificate'));
      });
      this.keep(
        store,
        true,
        () => first,
        // An existing pair may belong to another cluster, or to a process that was killed before it wrote the kubeconfig: it is ignored.
        true,
        () => {
          clearTimeout(late);
          resolve();
        },
      );
    });
    writeKubeconfig(nodeConfigOf(asking, loaded.options.kubeconfig, store.currentPath), store.currentPath);
    const { config, problem } = tryKubeconfig(loaded.options.kubeconfig);
    if (config === null) throw new StartRefusal(`failed to run Kubelet: ${problem}`);
    first.close();
    return this.clients(config);
  }

  private keep(store: FileCertificateStore, once: boolean, clients: () => ApiClients, renews: boolean, done = (): void => {}): void {
    const { nodeName, certificateDirectory, logger, clock } = this.options;
    const keeping = new CertificateKeeping({
      purpose: 'client',
      issueTimeout: once ? blockingTimeout : issueTimeout,
      once,
      endsWithout: !once,
      template: clientTemplate(nodeName),
      store,
      keptKeyPath: join(certificateDirectory, 'kubelet-client.key.tmp'),
      logger,
      clock,
      clients,
      changed: (pair) => {
        this.pair = pair;
        done();
      },
      giveUp: (reason) => {
        logger.log('error', reason);
        this.options.end(new Error(reason));
      },
      fatal: (error) => this.options.end(error),
    });
    this.keepers.add((events) => keeping.saw(events));
    this.measuring.keeps(keeping.state);
    this.options.stopped('client certificate', () => keeping.stop());
    keeping.begin(renews);
  }

  private clients(config: ClientConfig, rotated: (() => KeyPair | null) | null = null): ApiClients {
    const { loaded, logger, clock, environment } = this.options;
    const { configuration: c } = loaded;
    const clients = openApiClients({
      // The managed pair takes precedence: the files of the kubeconfig are its source.
      config: rotated === null ? config : { ...config, user: { ...config.user, certificate: null } },
      userAgent: userAgent(),
      main: c.kubeAPIQPS < 0 ? unlimited : { perSecond: c.kubeAPIQPS, burst: c.kubeAPIBurst },
      events: { perSecond: c.eventRecordQPS, burst: c.eventBurst },
      // A heartbeat that takes longer than either is of no use.
      heartbeatTimeoutMicros: Math.min(micros(c.nodeStatusUpdateFrequency), c.nodeLeaseDurationSeconds * microsPerSecond),
      environment,
      now: () => clock.now(),
      wall: () => clock.wall(),
      deliver: (events) => {
        if (!events.watch.startsWith('certificate-')) this.options.deliver(events);
        else for (const take of this.keepers) take(events);
      },
      problem: (err) => logger.log('error', 'Client credentials can not be used', { err }),
      rotated,
      observe: (happening) => this.measuring.happened(happening),
      trace: this.options.trace,
    });
    this.options.stopped('apiserver connections', () => clients.close());
    return clients;
  }

  private store(files: { readonly certificate: string; readonly key: string } | null): FileCertificateStore {
    return new FileCertificateStore(this.options.certificateDirectory, 'kubelet-client', files);
  }

  private isValid({ certificate }: KeyPair): boolean {
    const [leaf] = certificatesOf(certificate);
    const now = this.options.clock.wall();
    return leaf !== undefined && factsOf(leaf).notBefore <= now && now < factsOf(leaf).notAfter;
  }

  private refuseUnusable(config: ClientConfig): void {
    const unusable = unusableCredentials(config);
    if (unusable !== null) throw new StartRefusal(`failed to run Kubelet: failed to initialize kubelet client: ${unusable}`);
  }
}

/** The user agent of the Go kubelet's clients; servers use the part before the slash as the field manager. */
function userAgent(): string {
  return `kubelet/${reportedVersion()} (${process.platform}/${architectureName()}) kubernetes/unknown`;
}
