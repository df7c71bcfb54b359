// The face of the YAML adapter: texts of manifests and configuration files to plain values.
export { formatYaml } from './format-yaml.js';
export { maxDocumentBytes, parseYaml } from './parse-yaml.js';
export type { DuplicateKey, ParsedDocument, PlainMap, PlainValue, RefusedDocument } from './plain-value.js';
