// The face of the configuration file adapter.
export { FileConfigurationSource } from './file-configuration-source.js';
