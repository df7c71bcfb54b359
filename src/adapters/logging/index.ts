// The face of the logging adapter.

export { type LogDestinations, type SplitOptions, standardDestinations, standardErrorDestination } from './log-destinations.js';
export { type KeptEvent, LoggingEventSink } from './logging-event-sink.js';
export { debugVerbosity, type LoggerOptions, PinoLogger } from './pino-logger.js';
export { redactedFields, redactedText } from './redaction.js';
export { RepeatLimitingLogger } from './repeat-limiting-logger.js';
export type { SourcePattern } from './source-verbosity.js';
