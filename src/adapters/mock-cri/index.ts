// A CRI server over the simulated runtime.
export type { MockCriOptions, MockCriProfile } from './mock-cri-options.js';
export { MockCriServer, startMockCri } from './mock-cri-server.js';
export { mockCriProfiles } from './profiles.js';
