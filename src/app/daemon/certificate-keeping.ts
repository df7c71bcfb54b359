// Manages one certificate beside the agent: its machine, its files, and the apiserver that signs.
import { randomInt } from 'node:crypto';
import type { ApiClients } from '../../adapters/apiserver/index.js';
import { type FileCertificateStore, FileCertificates, type KeyPair } from '../../adapters/certificates/index.js';
import { certificateKeeperMachine } from '../../domain/certificates/certificate-keeper.js';
import {
  type CertificateKeeper,
  type CertificateKeeperEvent,
  type CertificateKeeperOperations,
  type CertificateKeeperSettings,
  newCertificateKeeper,
} from '../../domain/certificates/certificate-keeper-state.js';
import { Kernel } from '../../domain/kernel/kernel.js';
import type { ApiWatchEvents } from '../../ports/outbound/apiserver.js';
import type { CertificateTemplate } from '../../ports/outbound/certificates.js';
import type { Logger } from '../../ports/outbound/logger.js';
import type { Clock } from '../clock.js';
import { Shell } from '../shell/shell.js';

export interface CertificateKeepingOptions extends CertificateKeeperSettings {
  readonly template: CertificateTemplate | null;
  readonly store: FileCertificateStore;
  readonly keptKeyPath: string;
  readonly logger: Logger;
  readonly clock: Clock;
  /** The clients for certificate requests; called for each request. */
  clients(): Pick<ApiClients, 'reader' | 'writer'>;
  /** A pair was put in use. */
  changed(pair: KeyPair): void;
  giveUp(reason: string): void;
  fatal(error: unknown): void;
}

export class CertificateKeeping {
  private readonly shell: Shell<CertificateKeeper, CertificateKeeperEvent, CertificateKeeperOperations>;

  /** For metrics: read only. */
  readonly state: Readonly<Pick<CertificateKeeper, 'purpose' | 'facts' | 'failedAttempts'>>;

  constructor(options: CertificateKeepingOptions) {
    const { purpose, issueTimeout, once, endsWithout, template, store, keptKeyPath, clock } = options;
    const logger = options.logger.named('certificates');
    const state = newCertificateKeeper({ purpose, issueTimeout, once, endsWithout }, template);
    this.state = state;
    const kernel = new Kernel<CertificateKeeper, CertificateKeeperEvent, CertificateKeeperOperations>(certificateKeeperMachine, state, randomInt(0, 2 ** 31));
    const certificates = new FileCertificates({
      stores: { [purpose]: store },
      keptKeyPath,
      problem: (err) => logger.log('error', 'Certificate can not be used', { err }),
      changed: (_purpose, pair) => options.changed(pair),
      giveUp: (reason) => options.giveUp(reason),
    });
    this.shell = new Shell<CertificateKeeper, CertificateKeeperEvent, CertificateKeeperOperations>(kernel, {
      perform: (command, call) => {
        const { reader, writer } = options.clients();
        const [port = '', operation = ''] = command.op.split('.');
        const adapter = { certificates, apiReader: reader, apiWriter: writer }[port] as unknown as Record<string, (request: unknown, call: unknown) => Promise<unknown>>;
        return (adapter[operation] as (request: unknown, call: unknown) => Promise<unknown>).call(adapter, command.request, call);
      },
      now: () => clock.now(),
      wall: () => clock.wall(),
      log: (level, message, fields) => logger.log(level, message, fields),
      fatal: (error) => options.fatal(error),
    });
  }

  /** @param renews renews at once, even if the current pair is valid */
  begin(renews = false): void {
    if (renews) this.shell.deliver({ type: 'renew' });
    this.shell.deliver({ type: 'begin' });
  }

  /** Watches of keepers are named `certificate-...`. */
  saw(events: ApiWatchEvents): void {
    this.shell.deliver(events);
  }

  /** The template for new certificates; null: not known yet. */
  setTemplate(template: CertificateTemplate | null): void {
    this.shell.deliver({ type: 'template', template });
  }

  stop(): void {
    this.shell.stop();
  }
}
