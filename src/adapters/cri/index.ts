// The CRI adapter: a container runtime behind a Unix socket, as the domain's five runtime ports. And for servers (the mock), the
// protocol itself with the mapping both ways.
export { containerConfigFromCri, imageSpecFromCri, resourcesFromCri, sandboxConfigFromCri } from './config-from-cri.js';
export { containerConfigToCri, imageSpecToCri, sandboxConfigToCri } from './config-to-cri.js';
export { CriConnection, type CriConnectionOptions } from './connection.js';
export { CriContainers } from './cri-containers.js';
export { CriImages } from './cri-images.js';
export { CriRuntimeEvents } from './cri-runtime-events.js';
export { CriRuntimeState, criVersion } from './cri-runtime-state.js';
export { CriSandboxes } from './cri-sandboxes.js';
export { type CriContainerReading, type CriFilesystemReading, CriStats } from './cri-stats.js';
export { CriStreaming } from './cri-streaming.js';
export { EndpointError, socketPathOf } from './endpoint.js';
export * as criProtocol from './gen/cri-runtime-v1.js';
export { runtimeCgroupDriver, validateServices } from './handshake.js';
export { resourcesToCri } from './linux-to-cri.js';
export { RuntimeNotices } from './runtime-notices.js';
export { sandboxImageOf } from './sandbox-image.js';
export { type TerminatedContainer, terminationMessageOf } from './termination-message.js';
