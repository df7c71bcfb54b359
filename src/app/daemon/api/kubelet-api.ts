// Opens the kubelet's ports (spec/config-and-api.md, 8 to 10): the authenticated one, and the read-only one if configured.
// Invariant: the authenticated port never opens without authentication; a failure to open a port ends the start.

import { certificatesOf, ownServingPair, readServingPair, type ServingFiles, type ServingPair, servingFilesIn } from '../../../adapters/certificates/index.js';
import { systemError } from '../../../adapters/config-files/index.js';
import {
  type AccessRules,
  ApiAccessReviews,
  Authenticator,
  alwaysAllow,
  ClientCertificates,
  KubeletServer,
  type ServerTls,
  supportedTls,
  WebhookAuthorizer,
} from '../../../adapters/http-server/index.js';
import { ReplacedFiles, type ReplacedFilesOptions } from '../../../adapters/storage/index.js';
import { readTextFileSync } from '../../../adapters/text/index.js';
import { requestPolicy } from '../../../domain/authorization/request-policy.js';
import { opennessWarning, tlsWarnings } from '../../../domain/configuration/server-warnings.js';
import type { StartupValues } from '../../../domain/configuration/startup-checks.js';
import { nanosPerMillisecond } from '../../../domain/values/go-duration.js';
import { parseIp } from '../../../domain/values/ip-address.js';
import { PortError } from '../../../ports/port-error.js';
import { SetupFailure, StartRefusal } from '../../../ports/start-refusal.js';
import type { Resolver } from '../../bind-to.js';
import { tokens } from '../../tokens.js';
import { certificateDirectory } from '../certificate-directory.js';
import type { DaemonContext } from '../daemon-context.js';
import { type OwnMetrics, openOwnMetrics } from '../open-kubelet-metrics.js';
import type { NodeNumbers } from '../open-node-stats.js';
import type { Teardown } from '../teardown.js';
import { allRoutes, readOnlyRoutes } from './api-routes.js';
import { isIssued, issuedPair, keepIssued } from './issued-serving.js';

/** The time for requests in progress when the daemon stops. */
const closeMillis = 400;

export interface KubeletApi {
  /** The port that it listens on; null: nowhere. */
  readonly port: number | null;
}

export async function openKubeletApi(
  context: DaemonContext,
  resolver: Resolver,
  teardown: Teardown,
  nodeName: string,
  startup: StartupValues,
  nodeNumbers: () => Promise<NodeNumbers>,
): Promise<KubeletApi> {
  const { configuration } = context.loaded;
  const { apiPort, apiAddress } = context.profile;
  if (!configuration.enableServer) return { port: null };
  if (parseIp(configuration.address) === null) throw new StartRefusal(`failed to run Kubelet: address ${JSON.stringify(configuration.address)} is not an IP address`);
  const certificates = clientCertificates(context);
  const tls = servingTls(context, certificates, nodeName, startup);
  const startedMillis = Date.now();
  const common = {
    address: apiAddress ?? configuration.address,
    policy: requestPolicy(nodeName),
    streamIdleMillis: configuration.streamingConnectionIdleTimeout / nanosPerMillisecond,
    onIdleStream: (path: string) => context.logger.log('info', 'Stream ended: nothing has moved on it for streamingConnectionIdleTimeout', { path }),
    onError: (error: unknown, path: string) => context.logger.log('error', 'Request failed', { path, err: error instanceof Error ? error.message : String(error) }),
  };
  const port = apiPort ?? configuration.port;
  const stats = await nodeNumbers();
  const own = await openOwnMetrics(context, resolver, teardown, { nodeName, startedMillis, diskUsage: stats.diskUsage });
  const access = accessRules(context, resolver, certificates, own);
  const numbers = [...own.routes, ...stats.routes];
  const { tracing } = resolver.get(tokens.tracing);
  const traced = (serverType: 'readwrite' | 'readonly') => (tracing === null ? {} : { trace: tracing.request(serverType) });
  const readable = [...readOnlyRoutes(resolver), ...numbers];
  let boundPort: number | null = null;
  const { driver: cgroupDriver } = resolver.get(tokens.cgroupDriving);
  const factsOfStart = () => ({ cgroupDriver, reservedSystemCpus: startup.reservedSystemCpus, ownServingFiles: ownServingFiles(context), port: boundPort });
  const routes = configuration.enableDebuggingHandlers ? [...allRoutes(context, resolver, startedMillis, factsOfStart), ...numbers] : readable;
  const server = await listening({ ...common, port, tls, access, routes, ...own.watching('readwrite'), ...traced('readwrite') }, teardown);
  boundPort = server.port;
  watchCredentials(context, resolver, teardown, nodeName, server, tls);
  if (configuration.readOnlyPort !== 0)
    await listening({ ...common, port: configuration.readOnlyPort, tls: null, access: null, routes: readable, ...own.watching('readonly'), ...traced('readonly') }, teardown);
  const open = opennessWarning(configuration);
  if (open !== null) context.logger.log('warn', open);
  context.logger.log('info', 'Starting to listen', { address: common.address, port: server.port });
  return { port: server.port };
}

async function listening(options: Parameters<typeof KubeletServer.listen>[0], teardown: Teardown): Promise<KubeletServer> {
  try {
    const server = await KubeletServer.listen(options);
    teardown.add(`port ${server.port}`, () => server.close(closeMillis), 2 * closeMillis);
    return server;
  } catch (error) {
    if (error instanceof PortError) throw new StartRefusal(`failed to run Kubelet: failed to listen and serve: ${error.message}`);
    throw error;
  }
}

function clientCertificates({ loaded }: DaemonContext): ClientCertificates | null {
  const { clientCAFile } = loaded.configuration.authentication.x509;
  return clientCAFile === '' ? null : new ClientCertificates(readAuthorities(clientCAFile), () => Date.now());
}

/** Errors: SetupFailure. */
function readAuthorities(file: string): string {
  let text: string;
  try {
    text = readTextFileSync(file);
  } catch (error) {
    throw new SetupFailure(`unable to load client CA file ${file}: ${systemError(error, 'open', file)}`);
  }
  if (certificatesOf(text).length === 0) throw new SetupFailure(`unable to load client CA file ${file}: data does not contain any valid RSA or ECDSA certificates`);
  return text;
}

function servingTls(context: DaemonContext, certificates: ClientCertificates | null, nodeName: string, startup: StartupValues): ServerTls {
  const { minVersion } = startup.tls;
  for (const warning of tlsWarnings(context.loaded.configuration)) context.logger.log('warn', warning);
  const { ciphers, groups, missing } = supportedTls(startup.tls);
  if (missing.length > 0)
    context.logger.log('warn', 'Cipher suites and key exchange groups that this OpenSSL does not have are left out', { missing, openssl: process.versions.openssl });
  return { pair: servingPair(context, nodeName), clientCertificates: certificates, minVersion, ciphers, groups };
}

function servingPair(context: DaemonContext, nodeName: string): ServingPair | null {
  const { loaded } = context;
  if (isIssued(context)) return issuedPair(context);
  const own = ownServingFiles(context);
  if (own !== null) return ownServingPair(own, nodeName, Date.now());
  const { tlsCertFile, tlsPrivateKeyFile } = loaded.configuration;
  return readServingPair(tlsCertFile, tlsPrivateKeyFile);
}

/** Of the pair that the agent makes for itself; null: it serves one that it was given, or that the apiserver issues. */
function ownServingFiles(context: DaemonContext): ServingFiles | null {
  const { tlsCertFile, tlsPrivateKeyFile } = context.loaded.configuration;
  return isIssued(context) || (tlsCertFile !== '' && tlsPrivateKeyFile !== '') ? null : servingFilesIn(certificateDirectory(context.loaded.options));
}

function accessRules(
  { loaded, logger }: DaemonContext,
  resolver: Resolver,
  certificates: ClientCertificates | null,
  { certificateShown: onCertificate, reviewed }: Pick<OwnMetrics, 'certificateShown' | 'reviewed'>,
): AccessRules {
  const { authentication, authorization } = loaded.configuration;
  // A wall clock that is set neither keeps an answer longer nor ends it.
  const nowMillis = () => performance.now();
  const reviews = new ApiAccessReviews(resolver.get(tokens.apiWriter), reviewed);
  const { webhook, anonymous } = authentication;
  if (certificates === null && !webhook.enabled && !anonymous.enabled) throw new StartRefusal('failed to run Kubelet: no authentication method configured');
  const tokensBy = webhook.enabled ? { reviews, cacheMillis: webhook.cacheTTL / nanosPerMillisecond } : null;
  const authenticator = new Authenticator({ certificates, tokens: tokensBy, anonymous: anonymous.enabled, nowMillis, onCertificate });
  if (authorization.mode !== 'Webhook') return { authenticator, authorizer: alwaysAllow };
  const { cacheAuthorizedTTL, cacheUnauthorizedTTL } = authorization.webhook;
  const onError = (error: unknown) => logger.log('error', 'Authorization error', { err: error instanceof Error ? error.message : String(error) });
  const allowedMillis = cacheAuthorizedTTL / nanosPerMillisecond;
  const deniedMillis = cacheUnauthorizedTTL / nanosPerMillisecond;
  return { authenticator, authorizer: new WebhookAuthorizer({ reviews, allowedMillis, deniedMillis, nowMillis, onError }) };
}

function watchCredentials(context: DaemonContext, resolver: Resolver, teardown: Teardown, nodeName: string, server: KubeletServer, tls: ServerTls): void {
  const { loaded, logger, native } = context;
  const { tlsCertFile, tlsPrivateKeyFile, authentication } = loaded.configuration;
  const { clientCAFile } = authentication.x509;
  const follow = <Content>(files: Pick<ReplacedFilesOptions<Content>, 'what' | 'files' | 'read' | 'take'>): void => {
    const followed = ReplacedFiles.follow({ ...files, logger, openFileWatch: (listener) => native.openFileWatch(listener) });
    teardown.add(files.what, () => followed.close());
  };
  let current = tls;
  const serve = (changed: ServerTls) => {
    current = changed;
    server.replaceTls(changed);
  };
  if (isIssued(context)) keepIssued(context, resolver, teardown, nodeName, (pair) => serve({ ...current, pair }));
  else if (tlsCertFile !== '' && tlsPrivateKeyFile !== '' && loaded.features.reloadsServingCertificate) {
    const read = () => readServingPair(tlsCertFile, tlsPrivateKeyFile);
    follow({ what: 'serving certificate', files: [tlsCertFile, tlsPrivateKeyFile], read, take: (pair) => serve({ ...current, pair }) });
  }
  const { clientCertificates: certificates } = tls;
  if (certificates === null || !loaded.features.reloadsClientCa) return;
  const take = (authorities: string) => {
    certificates.replace(authorities);
    serve({ ...current });
  };
  follow({ what: 'client authorities', files: [clientCAFile], read: () => readAuthorities(clientCAFile), take });
}
