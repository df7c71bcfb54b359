// The face of the logging adapter.
export { type KeptEvent, LoggingEventSink } from './logging-event-sink.js';
export { debugVerbosity, type LoggerOptions, PinoLogger, standardErrorDestination } from './pino-logger.js';
export { redactedFields, redactedText } from './redaction.js';
