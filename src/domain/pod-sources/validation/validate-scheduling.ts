// Create validation of a pod's scheduling fields: affinity, tolerations, spread.
import type { LabelSelector } from '../../../ports/model/object-meta.js';
import type { NodeSelectorTerm, PodSpec, Toleration } from '../../../ports/model/pod.js';
import { dns1123LabelProblems, labelValueProblems, qualifiedNameProblems } from '../../values/dns-names.js';
import { duplicate, forbidden, invalid, invalidFor, notSupported, oneOf, type Problems, required } from './field-problem.js';
import { validateLabels } from './validate-metadata.js';

const effects = ['NoExecute', 'NoSchedule', 'PreferNoSchedule'];

interface PodAffinityTerm {
  readonly labelSelector?: LabelSelector;
  readonly namespaceSelector?: LabelSelector;
  readonly namespaces?: readonly string[];
  readonly topologyKey?: string;
}
interface PodAffinity {
  readonly requiredDuringSchedulingIgnoredDuringExecution?: readonly PodAffinityTerm[];
  readonly preferredDuringSchedulingIgnoredDuringExecution?: readonly { readonly weight?: number; readonly podAffinityTerm?: PodAffinityTerm }[];
}
interface SpreadConstraint {
  readonly maxSkew?: number;
  readonly topologyKey?: string;
  readonly whenUnsatisfiable?: string;
  readonly minDomains?: number;
  readonly labelSelector?: LabelSelector;
}

export function validateTolerations(problems: Problems, tolerations: readonly Toleration[]): void {
  for (const [i, toleration] of tolerations.entries()) {
    const at = `spec.tolerations[${i}]`;
    const { key = '', operator = 'Equal', value = '', effect = '' } = toleration;
    if (key !== '') invalidFor(problems, `${at}.key`, key, qualifiedNameProblems(key));
    else if (operator !== 'Exists') invalid(problems, `${at}.operator`, operator, "operator must be Exists when `key` is empty, which means 'match all values and all keys'");
    if (toleration.tolerationSeconds !== undefined && effect !== 'NoExecute') {
      invalid(problems, `${at}.effect`, effect, "effect must be 'NoExecute' when `tolerationSeconds` is set");
    }
    if (operator === 'Equal') invalidFor(problems, `${at}.operator`, value, labelValueProblems(value));
    else if (operator === 'Exists') {
      if (value !== '') invalid(problems, `${at}.operator`, value, "value must be empty when `operator` is 'Exists'");
    } else notSupported(problems, `${at}.operator`, operator, ['Equal', 'Exists']);
    if (effect !== '' && !effects.includes(effect)) notSupported(problems, `${at}.effect`, effect, effects);
  }
}

export function validateAffinity(problems: Problems, affinity: PodSpec['affinity']): void {
  const node = affinity?.nodeAffinity;
  const at = 'spec.affinity';
  const needed = node?.requiredDuringSchedulingIgnoredDuringExecution;
  if (needed !== undefined) {
    const field = `${at}.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms`;
    const terms = needed.nodeSelectorTerms ?? [];
    if (terms.length === 0) required(problems, field, 'must have at least one node selector term');
    for (const [i, term] of terms.entries()) validateNodeTerm(problems, `${field}[${i}]`, term);
  }
  for (const [i, preferred] of (node?.preferredDuringSchedulingIgnoredDuringExecution ?? []).entries()) {
    const field = `${at}.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[${i}]`;
    validateWeight(problems, field, preferred.weight);
    validateNodeTerm(problems, `${field}.preference`, preferred.preference ?? {});
  }
  validatePodAffinity(problems, `${at}.podAffinity`, affinity?.podAffinity);
  validatePodAffinity(problems, `${at}.podAntiAffinity`, affinity?.podAntiAffinity);
}

function validateWeight(problems: Problems, field: string, weight: number | undefined): void {
  if (weight === undefined || weight <= 0 || weight > 100) invalid(problems, `${field}.weight`, weight ?? 0, 'must be in the range 1-100');
}

function validateNodeTerm(problems: Problems, field: string, term: NodeSelectorTerm): void {
  for (const [i, requirement] of (term.matchExpressions ?? []).entries()) {
    const at = `${field}.matchExpressions[${i}]`;
    validateOperator(problems, at, requirement.operator, requirement.values ?? [], true);
    invalidFor(problems, `${at}.key`, requirement.key ?? '', qualifiedNameProblems(requirement.key ?? ''));
  }
  for (const [i, requirement] of (term.matchFields ?? []).entries()) {
    const at = `${field}.matchFields[${i}]`;
    if (requirement.operator !== 'In' && requirement.operator !== 'NotIn') invalid(problems, `${at}.operator`, requirement.operator ?? '', 'not a valid selector operator');
    else if ((requirement.values ?? []).length !== 1) required(problems, `${at}.values`, "must be only one value when `operator` is 'In' or 'NotIn' for node field selector");
    if (requirement.key !== 'metadata.name') invalid(problems, `${at}.key`, requirement.key ?? '', 'not a valid field selector key');
  }
}

function validateOperator(problems: Problems, field: string, operator: string | undefined, values: readonly string[], ordered: boolean): void {
  if (operator === 'In' || operator === 'NotIn') {
    if (values.length === 0) required(problems, `${field}.values`, "must be specified when `operator` is 'In' or 'NotIn'");
  } else if (operator === 'Exists' || operator === 'DoesNotExist') {
    if (values.length > 0) forbidden(problems, `${field}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
  } else if (ordered && (operator === 'Gt' || operator === 'Lt')) {
    if (values.length !== 1) required(problems, `${field}.values`, "must be specified single value when `operator` is 'Lt' or 'Gt'");
  } else invalid(problems, `${field}.operator`, operator ?? '', 'not a valid selector operator');
}

function validateLabelSelector(problems: Problems, field: string, selector: LabelSelector | undefined): void {
  if (selector === undefined) return;
  validateLabels(problems, `${field}.matchLabels`, selector.matchLabels ?? {});
  for (const [i, requirement] of (selector.matchExpressions ?? []).entries()) {
    const at = `${field}.matchExpressions[${i}]`;
    validateOperator(problems, at, requirement.operator, requirement.values ?? [], false);
    invalidFor(problems, `${at}.key`, requirement.key ?? '', qualifiedNameProblems(requirement.key ?? ''));
    for (const [j, value] of (requirement.values ?? []).entries()) invalidFor(problems, `${at}.values[${j}]`, value, labelValueProblems(value));
  }
}

function validatePodAffinity(problems: Problems, field: string, affinity: PodAffinity | undefined): void {
  for (const [i, term] of (affinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []).entries()) {
    validatePodAffinityTerm(problems, `${field}.requiredDuringSchedulingIgnoredDuringExecution[${i}]`, term);
  }
  for (const [i, weighted] of (affinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []).entries()) {
    const at = `${field}.preferredDuringSchedulingIgnoredDuringExecution[${i}]`;
    validateWeight(problems, at, weighted.weight);
    validatePodAffinityTerm(problems, `${at}.podAffinityTerm`, weighted.podAffinityTerm ?? {});
  }
}

function validatePodAffinityTerm(problems: Problems, field: string, term: PodAffinityTerm): void {
  validateLabelSelector(problems, `${field}.labelSelector`, term.labelSelector);
  validateLabelSelector(problems, `${field}.namespaceSelector`, term.namespaceSelector);
  for (const name of term.namespaces ?? []) invalidFor(problems, `${field}.namespaces`, name, dns1123LabelProblems(name));
  const key = term.topologyKey ?? '';
  if (key === '') required(problems, `${field}.topologyKey`, 'can not be empty');
  else invalidFor(problems, `${field}.topologyKey`, key, qualifiedNameProblems(key));
}

export function validateSpread(problems: Problems, constraints: readonly SpreadConstraint[]): void {
  const kinds = new Set<string>();
  for (const [i, constraint] of constraints.entries()) {
    const kind = `{${constraint.topologyKey}, ${constraint.whenUnsatisfiable}}`;
    if (kinds.has(kind)) duplicate(problems, `spec.topologySpreadConstraints[${i}].{topologyKey, whenUnsatisfiable}`, kind);
    kinds.add(kind);
    const at = `spec.topologySpreadConstraints[${i}]`;
    if ((constraint.maxSkew ?? 0) <= 0) invalid(problems, `${at}.maxSkew`, constraint.maxSkew ?? 0, 'must be greater than zero');
    if ((constraint.topologyKey ?? '') === '') required(problems, `${at}.topologyKey`, 'can not be empty');
    oneOf(problems, `${at}.whenUnsatisfiable`, constraint.whenUnsatisfiable, ['DoNotSchedule', 'ScheduleAnyway']);
    if (constraint.minDomains !== undefined && constraint.minDomains <= 0) invalid(problems, `${at}.minDomains`, constraint.minDomains, 'must be greater than zero');
    validateLabelSelector(problems, `${at}.labelSelector`, constraint.labelSelector);
  }
}
