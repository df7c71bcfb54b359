// The face of the log reader: what containers have written, for `kubectl logs`.
export { FileLogReader, type LogReaderOptions, type LogReadRequest } from './file-log-reader.js';
export type { ContainerLogFile } from './following.js';
