// Create validation of a whole v1 Pod, as the apiserver does it, on an object that has all its defaults.
// Invariant: pure; every problem is reported, in the order metadata, volumes, containers, the rest of the spec.
import type { Pod, PodSpec } from '../../../ports/model/pod.js';
import { dns1123LabelProblems, dns1123SubdomainProblems, qualifiedNameProblems } from '../../values/dns-names.js';
import { parseIp } from '../../values/ip-address.js';
import { duplicate, type FieldProblem, forbidden, invalid, invalidFor, notSupported, oneOf, type Problems, required } from './field-problem.js';
import { validateAppArmorAgreement, validateAppArmorAnnotations } from './validate-apparmor.js';
import { validateContainers } from './validate-container.js';
import { validateLabels, validateMetadata } from './validate-metadata.js';
import { validateAmounts, validatePodLevelResources } from './validate-resources.js';
import { validateAffinity, validateSpread, validateTolerations } from './validate-scheduling.js';
import { validatePodSecurity } from './validate-security.js';
import { validateVolumes } from './validate-volume.js';

const maxNameservers = 3;
const maxSearches = 32;
const maxSearchCharacters = 2048;
const maxInt32 = 2 ** 31 - 1;

export function validatePod(pod: Pod): FieldProblem[] {
  const problems: Problems = [];
  const { spec } = pod;
  validateMetadata(problems, pod.metadata);
  validateAppArmorAnnotations(problems, pod);
  const volumes = validateVolumes(problems, spec);
  validateContainers(problems, pod, volumes);
  oneOf(problems, 'spec.restartPolicy', spec.restartPolicy, ['Always', 'Never', 'OnFailure']);
  oneOf(problems, 'spec.dnsPolicy', spec.dnsPolicy, ['ClusterFirst', 'ClusterFirstWithHostNet', 'Default', 'None']);
  validateLabels(problems, 'spec.nodeSelector', spec.nodeSelector ?? {});
  validatePodSecurity(problems, spec);
  validateNames(problems, spec);
  validateAffinity(problems, spec.affinity);
  validateTolerations(problems, spec.tolerations ?? []);
  validateSpread(problems, spec.topologySpreadConstraints ?? []);
  validateDns(problems, spec);
  validateHostAliases(problems, spec);
  validateGates(problems, spec);
  validateClaims(problems, spec);
  const deadline = spec.activeDeadlineSeconds;
  if (deadline !== undefined && (deadline < 1 || deadline > maxInt32)) invalid(problems, 'spec.activeDeadlineSeconds', deadline, `must be between 1 and ${maxInt32}, inclusive`);
  if (spec.overhead !== undefined) validateAmounts(problems, 'spec.overhead', spec.overhead);
  validatePodLevelResources(problems, pod);
  if (spec.os !== undefined) oneOf(problems, 'spec.os.name', spec.os.name, ['linux', 'windows']);
  const { preemptionPolicy: policy } = spec;
  const policies = ['Never', 'PreemptLowerPriority'];
  if (policy !== undefined && !policies.includes(policy)) notSupported(problems, 'spec.preemptionPolicy', policy, policies);
  validateAppArmorAgreement(problems, pod);
  return problems;
}

function validateNames(problems: Problems, spec: PodSpec): void {
  for (const name of ['serviceAccountName', 'nodeName', 'priorityClassName', 'runtimeClassName'] as const) {
    const value = spec[name];
    if (value !== undefined) invalidFor(problems, `spec.${name}`, value, dns1123SubdomainProblems(value));
  }
  for (const name of ['hostname', 'subdomain'] as const) {
    const value = spec[name];
    if (value !== undefined) invalidFor(problems, `spec.${name}`, value, dns1123LabelProblems(value));
  }
  const override = spec.hostnameOverride;
  if (override === undefined) return;
  if (spec.hostNetwork === true) forbidden(problems, 'spec.hostnameOverride', 'may not be set with hostNetwork');
  if (spec.setHostnameAsFQDN === true) forbidden(problems, 'spec.hostnameOverride', 'may not be set with setHostnameAsFQDN');
  // The kernel's limit of a host name.
  if (override.length > 64) invalid(problems, 'spec.hostnameOverride', override, 'must be no more than 64 characters');
  else invalidFor(problems, 'spec.hostnameOverride', override, dns1123SubdomainProblems(override));
}

function validateDns(problems: Problems, spec: PodSpec): void {
  const config = spec.dnsConfig;
  const at = 'spec.dnsConfig';
  const nameservers = config?.nameservers ?? [];
  if (spec.dnsPolicy === 'None' && nameservers.length === 0) {
    if (config === undefined) required(problems, at, 'must provide `dnsConfig` when `dnsPolicy` is None');
    else required(problems, `${at}.nameservers`, 'must provide at least one DNS nameserver when `dnsPolicy` is None');
    return;
  }
  if (nameservers.length > maxNameservers) invalid(problems, `${at}.nameservers`, nameservers, `must not have more than ${maxNameservers} nameservers`);
  for (const [i, server] of nameservers.entries()) if (parseIp(server) === null) invalid(problems, `${at}.nameservers[${i}]`, server, 'must be a valid IP address');
  const searches = config?.searches ?? [];
  if (searches.length > maxSearches) invalid(problems, `${at}.searches`, searches, `must not have more than ${maxSearches} search paths`);
  if (searches.join(' ').length > maxSearchCharacters)
    invalid(problems, `${at}.searches`, searches, `must not have more than ${maxSearchCharacters} characters (including spaces) in the search list`);
  // A search path may hold underscores and end in a dot, or be the root.
  for (const [i, search] of searches.entries()) {
    if (search !== '.') invalidFor(problems, `${at}.searches[${i}]`, search, dns1123SubdomainProblems(search.replace(/\.$/, '').replaceAll('_', 'a')));
  }
  for (const [i, option] of (config?.options ?? []).entries()) if ((option.name ?? '') === '') required(problems, `${at}.options[${i}]`, 'must not be empty');
}

function validateHostAliases(problems: Problems, spec: PodSpec): void {
  for (const [i, alias] of (spec.hostAliases ?? []).entries()) {
    const at = `spec.hostAliases[${i}]`;
    if (parseIp(alias.ip ?? '') === null) invalid(problems, `${at}.ip`, alias.ip ?? '', 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)');
    for (const [j, name] of (alias.hostnames ?? []).entries()) invalidFor(problems, `${at}.hostnames[${j}]`, name, dns1123SubdomainProblems(name));
  }
}

function validateGates(problems: Problems, spec: PodSpec): void {
  for (const [i, gate] of (spec.readinessGates ?? []).entries()) {
    invalidFor(problems, `spec.readinessGates[${i}].conditionType`, gate.conditionType ?? '', qualifiedNameProblems(gate.conditionType ?? ''));
  }
  const names = new Set<string>();
  for (const [i, gate] of (spec.schedulingGates ?? []).entries()) {
    const name = gate.name ?? '';
    invalidFor(problems, `spec.schedulingGates[${i}]`, name, qualifiedNameProblems(name));
    if (names.has(name)) duplicate(problems, `spec.schedulingGates[${i}]`, name);
    names.add(name);
  }
  if (names.size > 0 && spec.nodeName !== undefined) forbidden(problems, 'spec.nodeName', 'cannot be set until all schedulingGates have been cleared');
}

function validateClaims(problems: Problems, spec: PodSpec): void {
  const names = new Set<string>();
  for (const [i, claim] of (spec.resourceClaims ?? []).entries()) {
    const at = `spec.resourceClaims[${i}]`;
    const name = claim.name ?? '';
    if (name === '') required(problems, `${at}.name`);
    else if (names.has(name)) duplicate(problems, `${at}.name`, name);
    else invalidFor(problems, `${at}.name`, name, dns1123LabelProblems(name));
    names.add(name);
    const { resourceClaimName, resourceClaimTemplateName } = claim;
    if (resourceClaimName !== undefined && resourceClaimTemplateName !== undefined)
      invalid(problems, at, claim, 'at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified');
    else if (resourceClaimName === undefined && resourceClaimTemplateName === undefined)
      invalid(problems, at, claim, 'must specify one of: `resourceClaimName`, `resourceClaimTemplateName`');
  }
}
