// The rules of every kind that has its own, by collection.
import type { KindRules } from './kind-rules.js';
import { namespaceRules } from './namespaces.js';
import { nodeRules } from './nodes.js';
import { podRules } from './pods.js';

const noRules: KindRules = {};

const rules: ReadonlyMap<string, KindRules> = new Map([
  ['namespaces', namespaceRules],
  ['nodes', nodeRules],
  ['pods', podRules],
]);

export function rulesOf(resource: string): KindRules {
  return rules.get(resource) ?? noRules;
}
