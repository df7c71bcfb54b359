// The face of the flight record: records of an agent's steps, reports of what ended it, and the masks of secrets in both.
export { type EndedAgent, EndedSteps } from './ended-steps.js';
export { FlightRecorder, type FlightRecordSettings, recordFormatVersion } from './flight-recorder.js';
export { SecretMasks } from './secret-masks.js';
