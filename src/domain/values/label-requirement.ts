// One expression over labels, `disktype In (ssd, nvme)`, used by node affinity and label selectors.
// Invariant: total; a malformed expression returns `null`, neither a match nor a mismatch.
import { labelValueProblems, qualifiedNameProblems } from './dns-names.js';
import { parseGoInt } from './go-text.js';

export type Labels = Readonly<Record<string, string>>;

export interface LabelRequirement {
  readonly key: string;
  readonly operator: string;
  readonly values?: readonly string[];
}

/** `Gt` and `Lt` compare integers and fail on anything else; `NotIn` and `DoesNotExist` hold for a label that isn't there. */
export function matchesLabelRequirement(requirement: LabelRequirement, labels: Labels): boolean | null {
  if (!isWellFormed(requirement)) return null;
  const { key, operator, values = [] } = requirement;
  const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return value === undefined || !values.includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
    default:
      return value !== undefined && comparesAs(operator, value, values[0] as string);
  }
}

/** Whether all expressions hold; null when one is malformed. */
export function matchesLabelRequirements(requirements: readonly LabelRequirement[], labels: Labels): boolean | null {
  const results = requirements.map((requirement) => matchesLabelRequirement(requirement, labels));
  return results.includes(null) ? null : !results.includes(false);
}

function isWellFormed({ key, operator, values = [] }: LabelRequirement): boolean {
  if (qualifiedNameProblems(key).length > 0 || values.some((value) => labelValueProblems(value).length > 0)) return false;
  switch (operator) {
    case 'In':
    case 'NotIn':
      return values.length > 0;
    case 'Exists':
    case 'DoesNotExist':
      return values.length === 0;
    case 'Gt':
    case 'Lt':
      return values.length === 1 && parseGoInt(values[0] as string, 10, 64).ok;
    default:
      return false;
  }
}

function comparesAs(operator: string, value: string, bound: string): boolean {
  const left = parseGoInt(value, 10, 64);
  const right = parseGoInt(bound, 10, 64);
  if (!left.ok || !right.ok) return false;
  return operator === 'Gt' ? left.value > right.value : left.value < right.value;
}
