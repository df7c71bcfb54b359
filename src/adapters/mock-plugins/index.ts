// The face of the mock plugins: a CSI driver of the node service, and a DRA driver.
export { type MockCsiCall, MockCsiDriver, type MockCsiFault, type MockCsiMethod, type MockCsiOptions, mockCsiDefaults, mockCsiMethods } from './mock-csi-driver.js';
export { MockDraDriver, type MockDraFault, type MockDraOptions, mockDraDefaults, mockDraDevice } from './mock-dra-driver.js';
