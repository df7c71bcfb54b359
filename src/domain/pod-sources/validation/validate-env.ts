// Create validation of environment variables, and of the fields that they and downward API files may select.
import type { Container, EnvFromSource, EnvVar, KeySelector } from '../../../ports/model/container.js';
import type { ObjectFieldSelector, ResourceFieldSelector } from '../../../ports/model/field-selector.js';
import { envVarNameProblems, qualifiedNameProblems } from '../../values/dns-names.js';
import { compareQuantities, mustParseQuantity } from '../../values/quantity.js';
import { invalid, invalidFor, notFound, notSupported, type Problems, required } from './field-problem.js';

const envFields = [
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'spec.nodeName',
  'spec.serviceAccountName',
  'status.hostIP',
  'status.hostIPs',
  'status.podIP',
  'status.podIPs',
];
const volumeFields = ['metadata.name', 'metadata.namespace', 'metadata.labels', 'metadata.annotations', 'metadata.uid'];
/** Fields of a pod that have a downward name at all; which of them may be used depends on the place. */
const knownFields: ReadonlySet<string> = new Set([...envFields, ...volumeFields, 'spec.restartPolicy', 'spec.schedulerName', 'spec.host', 'status.phase']);
const subscripted = /^(metadata\.(?:labels|annotations))\['(.*)'\]$/s;
const resources = ['limits.cpu', 'limits.memory', 'limits.ephemeral-storage', 'requests.cpu', 'requests.memory', 'requests.ephemeral-storage'];
const hugePages = /^(limits|requests)\.hugepages-/;
const valueSources = ['fieldRef', 'resourceFieldRef', 'configMapKeyRef', 'secretKeyRef', 'fileKeyRef'] as const;

export type SelectorPlace = 'env' | 'volume';

export function validateEnv(problems: Problems, field: string, container: Container, volumeNames: ReadonlySet<string>): void {
  for (const [i, variable] of (container.env ?? []).entries()) validateVariable(problems, `${field}.env[${i}]`, variable, volumeNames);
  for (const [i, source] of (container.envFrom ?? []).entries()) validateEnvFrom(problems, `${field}.envFrom[${i}]`, source);
}

function validateVariable(problems: Problems, field: string, variable: EnvVar, volumeNames: ReadonlySet<string>): void {
  const name = variable.name ?? '';
  if (name === '') required(problems, `${field}.name`);
  else invalidFor(problems, `${field}.name`, name, envVarNameProblems(name));
  const source = variable.valueFrom;
  if (source === undefined) return;
  const at = `${field}.valueFrom`;
  const given = valueSources.filter((kind) => source[kind] !== undefined);
  if (given.length === 0) invalid(problems, at, '', `must specify one of: ${valueSources.map((kind) => `\`${kind}\``).join(', ')}`);
  else if ((variable.value ?? '') !== '') invalid(problems, at, '', 'may not be specified when `value` is not empty');
  if (given.length > 1) invalid(problems, at, '', 'may not have more than one field specified at a time');
  if (source.fieldRef !== undefined) validateFieldSelector(problems, `${at}.fieldRef`, source.fieldRef, 'env');
  if (source.resourceFieldRef !== undefined) validateResourceSelector(problems, `${at}.resourceFieldRef`, source.resourceFieldRef, 'env');
  if (source.configMapKeyRef !== undefined) validateKeySelector(problems, `${at}.configMapKeyRef`, source.configMapKeyRef);
  if (source.secretKeyRef !== undefined) validateKeySelector(problems, `${at}.secretKeyRef`, source.secretKeyRef);
  if (source.fileKeyRef === undefined) return;
  for (const part of ['key', 'path', 'volumeName'] as const) if ((source.fileKeyRef[part] ?? '') === '') required(problems, `${at}.fileKeyRef.${part}`);
  const volume = source.fileKeyRef.volumeName ?? '';
  if (volume !== '' && !volumeNames.has(volume)) notFound(problems, `${at}.fileKeyRef.volumeName`, volume);
}

function validateEnvFrom(problems: Problems, field: string, source: EnvFromSource): void {
  if (source.prefix !== undefined) invalidFor(problems, `${field}.prefix`, source.prefix, envVarNameProblems(source.prefix));
  const { configMapRef, secretRef } = source;
  if (configMapRef !== undefined && (configMapRef.name ?? '') === '') required(problems, `${field}.configMapRef.name`);
  if (secretRef !== undefined && (secretRef.name ?? '') === '') required(problems, `${field}.secretRef.name`);
  if (configMapRef === undefined && secretRef === undefined) invalid(problems, field, '', 'must specify one of: `configMapRef` or `secretRef`');
  if (configMapRef !== undefined && secretRef !== undefined) invalid(problems, field, '', 'may not have more than one field specified at a time');
}

/** Keys of config maps and secrets, which become file names. */
export function configKeyProblems(key: string): string[] {
  const problems: string[] = [];
  if (key.length > 253) problems.push('must be no more than 253 characters');
  if (!/^[-._a-zA-Z0-9]+$/.test(key)) problems.push("a valid config key must consist of alphanumeric characters, '-', '_' or '.'");
  if (key === '.' || key === '..' || key.startsWith('..')) problems.push("must not be '.', '..' or start with '..'");
  return problems;
}

function validateKeySelector(problems: Problems, field: string, selector: KeySelector): void {
  if ((selector.name ?? '') === '') required(problems, `${field}.name`);
  if ((selector.key ?? '') === '') required(problems, `${field}.key`);
  else invalidFor(problems, `${field}.key`, selector.key, configKeyProblems(selector.key));
}

export function validateFieldSelector(problems: Problems, field: string, selector: ObjectFieldSelector, place: SelectorPlace): void {
  const path = selector.fieldPath ?? '';
  const at = `${field}.fieldPath`;
  if ((selector.apiVersion ?? '') === '') required(problems, `${field}.apiVersion`);
  else if (selector.apiVersion !== 'v1') {
    invalid(problems, at, path, `error converting fieldPath: unsupported pod version: ${selector.apiVersion}`);
    return;
  }
  if (path === '') {
    required(problems, at);
    return;
  }
  const match = subscripted.exec(path);
  if (match !== null) {
    const key = match[2] as string;
    invalidFor(problems, field, key, qualifiedNameProblems(match[1] === 'metadata.annotations' ? key.toLowerCase() : key));
    return;
  }
  const supported = place === 'env' ? envFields : volumeFields;
  if (!knownFields.has(path)) invalid(problems, at, path, `error converting fieldPath: field label not supported: ${path}`);
  else if (!supported.includes(path)) notSupported(problems, at, path, supported);
}

export function validateResourceSelector(problems: Problems, field: string, selector: ResourceFieldSelector, place: SelectorPlace): void {
  const resource = selector.resource ?? '';
  if (place === 'volume' && (selector.containerName ?? '') === '') required(problems, `${field}.containerName`);
  if (resource === '') {
    required(problems, `${field}.resource`);
    return;
  }
  if (!resources.includes(resource) && !hugePages.test(resource)) notSupported(problems, `${field}.resource`, resource, resources);
  validateDivisor(problems, `${field}.divisor`, resource, selector.divisor ?? '0');
}

const divisors: readonly (readonly [resource: RegExp, divisors: readonly string[]])[] = [
  [/\.cpu$/, ['1m', '1']],
  [/\.(memory|ephemeral-storage)$|hugepages-/, ['1', '1k', '1M', '1G', '1T', '1P', '1E', '1Ki', '1Mi', '1Gi', '1Ti', '1Pi', '1Ei']],
];

function validateDivisor(problems: Problems, field: string, resource: string, text: string): void {
  const divisor = mustParseQuantity(text);
  const allowed = divisors.find(([pattern]) => pattern.test(resource))?.[1];
  if (allowed === undefined || divisor.mantissa === 0n) return;
  if (!allowed.some((candidate) => compareQuantities(mustParseQuantity(candidate), divisor) === 0)) {
    invalid(problems, field, text, `only divisor's values ${allowed.join(', ')} are supported with the ${resource.split('.')[1]} resource`);
  }
}
