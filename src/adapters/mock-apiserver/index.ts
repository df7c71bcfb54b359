// An apiserver over HTTPS and HTTP, in memory.
export { mockVersion } from './documents.js';
export type { KubeconfigUser } from './kubeconfig-text.js';
export { MockApiserver, type MockApiserverOptions, startMockApiserver } from './mock-apiserver.js';
