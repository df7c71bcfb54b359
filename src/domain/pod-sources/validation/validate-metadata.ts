// Create validation of a pod's metadata.
import type { ObjectMeta } from '../../../ports/model/object-meta.js';
import { dns1123LabelProblems, dns1123SubdomainProblems, labelValueProblems, qualifiedNameProblems } from '../../values/dns-names.js';
import { utf8Length } from '../../values/utf8.js';
import { invalid, invalidFor, type Problems, required, tooLong } from './field-problem.js';

const maxAnnotationBytes = 256 * 1024;
const deletionCostAnnotation = 'controller.kubernetes.io/pod-deletion-cost';

export function validateMetadata(problems: Problems, metadata: ObjectMeta): void {
  // A generated name ends in a suffix, so a trailing dash is fine there.
  if (metadata.generateName !== undefined) {
    invalidFor(problems, 'metadata.generateName', metadata.generateName, dns1123SubdomainProblems(metadata.generateName.replace(/-$/, 'a')));
  }
  invalidFor(problems, 'metadata.name', metadata.name, dns1123SubdomainProblems(metadata.name));
  if (metadata.namespace === undefined) required(problems, 'metadata.namespace');
  else invalidFor(problems, 'metadata.namespace', metadata.namespace, dns1123LabelProblems(metadata.namespace));
  if ((metadata.generation ?? 0) < 0) invalid(problems, 'metadata.generation', metadata.generation, 'must be greater than or equal to 0');
  validateLabels(problems, 'metadata.labels', metadata.labels ?? {});
  validateAnnotations(problems, metadata.annotations ?? {});
  for (const owner of metadata.ownerReferences ?? []) {
    for (const field of ['apiVersion', 'kind', 'name', 'uid'] as const) {
      if ((owner[field] ?? '') === '') invalid(problems, `metadata.ownerReferences.${field}`, '', 'must not be empty');
    }
  }
  for (const finalizer of metadata.finalizers ?? []) invalidFor(problems, 'metadata.finalizers', finalizer, qualifiedNameProblems(finalizer));
}

export function validateLabels(problems: Problems, field: string, labels: Readonly<Record<string, string>>): void {
  for (const [key, value] of Object.entries(labels)) {
    invalidFor(problems, field, key, qualifiedNameProblems(key));
    invalidFor(problems, field, value, labelValueProblems(value));
  }
}

function validateAnnotations(problems: Problems, annotations: Readonly<Record<string, string>>): void {
  let bytes = 0;
  for (const [key, value] of Object.entries(annotations)) {
    invalidFor(problems, 'metadata.annotations', key, qualifiedNameProblems(key.toLowerCase()));
    bytes += utf8Length(key) + utf8Length(value);
  }
  if (bytes > maxAnnotationBytes) tooLong(problems, 'metadata.annotations', maxAnnotationBytes);
  const cost = annotations[deletionCostAnnotation];
  if (cost !== undefined && (!/^-?(0|[1-9][0-9]*)$/.test(cost) || BigInt(cost) !== BigInt.asIntN(32, BigInt(cost)))) {
    invalid(problems, `metadata.annotations[${deletionCostAnnotation}]`, cost, 'must be a 32bit integer');
  }
}
