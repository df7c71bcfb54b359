// The face of the log reader: what containers have written, for `kubectl logs`.
export { type ContainerLogFile, FileLogReader, type LogReaderOptions, type LogReadRequest } from './file-log-reader.js';
