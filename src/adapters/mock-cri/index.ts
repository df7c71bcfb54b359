// A CRI server over the simulated runtime.
export { type MockCriOptions, MockCriServer, startMockCri } from './mock-cri-server.js';
export { type MockCriProfile, mockCriProfiles } from './profiles.js';
