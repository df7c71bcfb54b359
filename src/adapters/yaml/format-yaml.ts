// Plain values to YAML that YAML 1.1 readers take for the same: texts that look like booleans or numbers are quoted.
// Invariant: parseYaml(formatYaml(v)) is v.
import { stringify } from 'yaml';

export function formatYaml(value: unknown): string {
  return stringify(value, { version: '1.1', lineWidth: 0 });
}
