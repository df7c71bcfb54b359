// The face of the configuration file adapter.
export { FileConfigurationSource, systemError } from './file-configuration-source.js';
