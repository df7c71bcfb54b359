// The face of what talks to plugins of the node: registration and CSI drivers.
export { GrpcCsiNode } from './grpc-csi-node.js';
export { pluginDirectoriesMax, pluginSocketsMax, UnixPluginSockets } from './unix-plugin-sockets.js';
