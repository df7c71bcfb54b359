// What any outbound port can be wrapped in or replaced by.
export type { PortName } from './around.js';
export { failingPort } from './failing-port.js';
export { faultInjecting } from './fault-injecting.js';
export { instrumented, type OperationObservation, type OperationSink } from './instrumented.js';
export { joining } from './joining.js';
