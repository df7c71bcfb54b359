// The face of the apiserver adapter: kubeconfigs, credentials, and the clients that read from and write to an apiserver.
export { type ApiClientOptions, type ApiClients, openApiClients, type RequestRate } from './api-clients.js';
export { nodeConfigOf, serverAnswers, stateOf, tryKubeconfig, writeKubeconfig } from './bootstrap.js';
export type { ClientTrace, TraceRequest } from './client-trace.js';
export type { ClientPair } from './credentials.js';
export { type ClientConfig, KubeconfigError, kubeconfigOf, loadKubeconfig } from './kubeconfig.js';
export { clientPairOf, unusableCredentials } from './usable-credentials.js';
