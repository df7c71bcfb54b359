// The face of the adapter for registry credentials: the node's Docker configuration and credential provider plugins.
export { findPlugin } from './find-plugin.js';
export { NodeRegistryCredentials, type RegistryCredentialPlaces } from './node-registry-credentials.js';
