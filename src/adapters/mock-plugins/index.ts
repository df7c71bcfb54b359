// The face of the mock plugins: a CSI driver of the node service.
export { type MockCsiCall, MockCsiDriver, type MockCsiFault, type MockCsiMethod, type MockCsiOptions, mockCsiDefaults, mockCsiMethods } from './mock-csi-driver.js';
