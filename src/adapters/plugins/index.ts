// The public exports of the plugin adapter: registration, CSI drivers and DRA drivers.
export * as csiProtocol from './gen/csi-v1.js';
export * as draProtocol from './gen/dra-v1.js';
export * as registrationProtocol from './gen/pluginregistration-v1.js';
export { GrpcCsiNode } from './grpc-csi-node.js';
export { GrpcDraPlugin } from './grpc-dra-plugin.js';
export type { PodResourcesService } from './pod-resources-service.js';
export { pluginDirectoriesMax, pluginSocketsMax, UnixPluginSockets } from './unix-plugin-sockets.js';
