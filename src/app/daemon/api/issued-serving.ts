// The serving certificate that the cluster issues (serverTLSBootstrap): requested once the node's addresses are known, again when they change,
// and renewed in time. Invariant: until it is issued, no certificate is presented and handshakes fail: an untrusted one could be mistaken for it.
import { FileCertificateStore, type ServingPair } from '../../../adapters/certificates/index.js';
import { issueTimeout } from '../../../domain/certificates/certificate-keeper.js';
import { servingTemplate } from '../../../domain/certificates/certificate-rules.js';
import type { NodeAddress } from '../../../ports/model/node.js';
import type { Resolver } from '../../bind-to.js';
import { tokens } from '../../tokens.js';
import { certificateDirectory } from '../certificate-directory.js';
import { CertificateKeeping } from '../certificate-keeping.js';
import type { DaemonContext } from '../daemon-context.js';
import type { Teardown } from '../teardown.js';

/** As often as the Go kubelet compares the addresses with the certificate. */
const lookMillis = 1_000;

/** Whether the cluster issues the certificate of this start. */
export function isIssued({ loaded }: DaemonContext): boolean {
  return loaded.configuration.serverTLSBootstrap && loaded.options.kubeconfig !== '';
}

/** The pair of an earlier life; null: none yet. */
export function issuedPair(context: DaemonContext): ServingPair | null {
  const stored = storeOf(context).current();
  return stored.kind === 'found' ? { certificatePem: stored.pair.certificate, keyPem: stored.pair.key } : null;
}

/** Keeps the pair right from now on. @param serve takes each new one */
export function keepIssued(context: DaemonContext, resolver: Resolver, teardown: Teardown, nodeName: string, serve: (pair: ServingPair) => void): void {
  const { clients, keepers, measuring } = resolver.get(tokens.apiAccess);
  if (clients === null) return;
  const { logger, clock, loaded } = context;
  const keeping: CertificateKeeping = new CertificateKeeping({
    purpose: 'server',
    issueTimeout,
    once: false,
    endsWithout: false,
    template: null,
    store: storeOf(context),
    keptKeyPath: '',
    logger,
    clock,
    clients: () => clients,
    changed: ({ certificate, key }) => {
      measuring.servingReplaced(keeping.state.facts);
      serve({ certificatePem: certificate, keyPem: key });
    },
    giveUp: () => {},
    fatal: (error) => resolver.get(tokens.ending).fatal(error),
  });
  keepers.add((events) => keeping.saw(events));
  measuring.keeps(keeping.state);
  const allowsDnsOnly = loaded.features.allowsDnsOnlyRequests;
  const addresses = (): readonly NodeAddress[] => resolver.get(tokens.kernel).state.agent.nodeStatus?.overlay?.nodeAddresses ?? [];
  const timer = setInterval(() => keeping.setTemplate(servingTemplate(nodeName, addresses(), allowsDnsOnly)), lookMillis).unref();
  teardown.add('serving certificate', () => {
    clearInterval(timer);
    keeping.stop();
  });
  keeping.begin();
}

function storeOf({ loaded }: DaemonContext): FileCertificateStore {
  return new FileCertificateStore(certificateDirectory(loaded.options), 'kubelet-server');
}
