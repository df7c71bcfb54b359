// Create validation of containers: regular, init and ephemeral ones share most of the rules.
import type { Container, ContainerPort, ContainerRestartRule, EphemeralContainer } from '../../../ports/model/container.js';
import type { Pod } from '../../../ports/model/pod.js';
import { isRestartableInit } from '../../status/restart-rules.js';
import { dns1123LabelProblems, portNameProblems } from '../../values/dns-names.js';
import { parseIp } from '../../values/ip-address.js';
import { duplicate, forbidden, invalid, invalidFor, notFound, notSupported, oneOf, type Problems, required, tooMany } from './field-problem.js';
import { validateEnv } from './validate-env.js';
import { type VolumesByName, validateMounts } from './validate-mounts.js';
import { type HookScope, portRangeProblems, validateLifecycle, validateProbe } from './validate-probe.js';
import { validateRequirements } from './validate-resources.js';
import { validateContainerSecurity } from './validate-security.js';

const protocols = ['SCTP', 'TCP', 'UDP'];
const pullPolicies = ['Always', 'IfNotPresent', 'Never'];
const restartPolicies = ['Always', 'Never', 'OnFailure'];
const probeKinds = ['livenessProbe', 'readinessProbe', 'startupProbe'] as const;
const maxRestartRules = 20;
const defaultGracePeriodSeconds = 30;

interface Scope {
  readonly pod: Pod;
  readonly volumes: VolumesByName;
  readonly volumeNames: ReadonlySet<string>;
  readonly claimNames: ReadonlySet<string>;
  /** Names of all containers so far: they share one name space. */
  readonly names: Set<string>;
}

export function validateContainers(problems: Problems, pod: Pod, volumes: VolumesByName): void {
  const { spec } = pod;
  const claimNames = new Set((spec.resourceClaims ?? []).map((claim) => claim.name));
  const scope: Scope = { pod, volumes, volumeNames: new Set(volumes.keys()), claimNames, names: new Set() };
  if (spec.containers.length === 0) required(problems, 'spec.containers');
  for (const [i, container] of spec.containers.entries()) validateRegular(problems, `spec.containers[${i}]`, container, scope);
  validateHostPorts(problems, 'spec.containers', spec.containers);
  for (const [i, container] of (spec.initContainers ?? []).entries()) {
    validateInit(problems, `spec.initContainers[${i}]`, container, scope);
    validateHostPorts(problems, 'spec.initContainers', [container], i);
  }
  for (const [i, container] of (spec.ephemeralContainers ?? []).entries()) validateEphemeral(problems, `spec.ephemeralContainers[${i}]`, container, scope);
  if ((spec.ephemeralContainers ?? []).length > 0) forbidden(problems, 'spec.ephemeralContainers', 'cannot be set on create');
}

function validateRegular(problems: Problems, field: string, container: Container, scope: Scope): void {
  validateCommon(problems, field, container, scope);
  validateLifetime(problems, field, container, scope);
  if (scope.pod.spec.hostNetwork !== true) return;
  for (const [i, port] of (container.ports ?? []).entries()) {
    // Absent is 0: the field's own validation reports it.
    if ((port.hostPort ?? 0) !== (port.containerPort ?? 0)) {
      invalid(problems, `${field}.ports[${i}].hostPort`, port.hostPort ?? 0, 'must match `containerPort` when `hostNetwork` is true');
    }
  }
}

function validateInit(problems: Problems, field: string, container: Container, scope: Scope): void {
  validateCommon(problems, field, container, scope);
  if (isRestartableInit(container)) {
    validateLifetime(problems, field, container, scope);
    return;
  }
  // It runs to completion once: probes and hooks don't apply.
  for (const name of ['lifecycle', ...probeKinds] as const) {
    if (container[name] !== undefined) forbidden(problems, `${field}.${name}`, 'may not be set for init containers without restartPolicy=Always');
  }
}

function validateEphemeral(problems: Problems, field: string, container: EphemeralContainer, scope: Scope): void {
  validateCommon(problems, field, container, scope);
  const target = container.targetContainerName;
  const named = [...scope.pod.spec.containers, ...(scope.pod.spec.initContainers ?? [])];
  if (target !== undefined && !named.some((candidate) => candidate.name === target)) notFound(problems, `${field}.targetContainerName`, target);
  for (const name of ['ports', 'lifecycle', 'resizePolicy', 'resources', 'restartPolicy', 'restartPolicyRules', ...probeKinds] as const) {
    if (container[name] !== undefined) forbidden(problems, `${field}.${name}`, 'cannot be set for an Ephemeral Container');
  }
}

function validateCommon(problems: Problems, field: string, container: Container, scope: Scope): void {
  const name = container.name ?? '';
  if (name === '') required(problems, `${field}.name`);
  else invalidFor(problems, `${field}.name`, name, dns1123LabelProblems(name));
  if (scope.names.has(name)) duplicate(problems, `${field}.name`, name);
  else scope.names.add(name);
  const image = container.image ?? '';
  if (image === '') required(problems, `${field}.image`);
  else if (image !== image.trim()) invalid(problems, `${field}.image`, image, 'must not have leading or trailing whitespace');
  oneOf(problems, `${field}.imagePullPolicy`, container.imagePullPolicy, pullPolicies);
  oneOf(problems, `${field}.terminationMessagePolicy`, container.terminationMessagePolicy, ['FallbackToLogsOnError', 'File']);
  validatePorts(problems, `${field}.ports`, container.ports ?? []);
  validateEnv(problems, field, container, scope.volumeNames);
  validateMounts(problems, field, container, scope.volumes);
  if (container.resources !== undefined) validateRequirements(problems, `${field}.resources`, container.resources, scope.claimNames);
  validateResizePolicy(problems, `${field}.resizePolicy`, container, scope.pod);
  validateRestartRules(problems, field, container);
  const { spec } = scope.pod;
  if (container.securityContext !== undefined) validateContainerSecurity(problems, `${field}.securityContext`, container.securityContext, spec.hostUsers !== false);
}

function validateLifetime(problems: Problems, field: string, container: Container, scope: Scope): void {
  if (container.lifecycle !== undefined) validateLifecycle(problems, `${field}.lifecycle`, container.lifecycle, hookScope(scope.pod));
  for (const kind of probeKinds) {
    const probe = container[kind];
    if (probe !== undefined) validateProbe(problems, `${field}.${kind}`, probe, kind);
  }
}

function hookScope({ spec }: Pod): HookScope {
  return { osName: spec.os?.name ?? null, gracePeriodSeconds: spec.terminationGracePeriodSeconds ?? defaultGracePeriodSeconds };
}

function validatePorts(problems: Problems, field: string, ports: readonly ContainerPort[]): void {
  const names = new Set<string>();
  for (const [i, port] of ports.entries()) {
    const at = `${field}[${i}]`;
    if (port.name !== undefined) {
      const found = portNameProblems(port.name);
      invalidFor(problems, `${at}.name`, port.name, found);
      if (found.length === 0 && names.has(port.name)) duplicate(problems, `${at}.name`, port.name);
      names.add(port.name);
    }
    if ((port.containerPort ?? 0) === 0) required(problems, `${at}.containerPort`);
    else invalidFor(problems, `${at}.containerPort`, port.containerPort, portRangeProblems(port.containerPort));
    if (port.hostPort !== undefined && port.hostPort !== 0) invalidFor(problems, `${at}.hostPort`, port.hostPort, portRangeProblems(port.hostPort));
    oneOf(problems, `${at}.protocol`, port.protocol, protocols);
    if (port.hostIP !== undefined && parseIp(port.hostIP) === null) invalid(problems, `${at}.hostIP`, port.hostIP, 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)');
  }
}

/** Two containers that run at the same time can't have one port of the host. `offset` is the index of the first container in its list. */
function validateHostPorts(problems: Problems, field: string, containers: readonly Container[], offset = 0): void {
  const taken = new Set<string>();
  for (const [i, container] of containers.entries()) {
    for (const [j, port] of (container.ports ?? []).entries()) {
      if ((port.hostPort ?? 0) === 0) continue;
      const key = `${port.protocol}/${port.hostIP ?? ''}/${port.hostPort}`;
      if (taken.has(key)) duplicate(problems, `${field}[${i + offset}].ports[${j}].hostPort`, key);
      taken.add(key);
    }
  }
}

function validateResizePolicy(problems: Problems, field: string, container: Container, pod: Pod): void {
  const seen = new Set<string>();
  for (const [i, policy] of (container.resizePolicy ?? []).entries()) {
    if (seen.has(policy.resourceName)) duplicate(problems, `${field}[${i}]`, policy.resourceName);
    seen.add(policy.resourceName);
    oneOf(problems, `${field}[${i}].resourceName`, policy.resourceName, ['cpu', 'memory']);
    oneOf(problems, `${field}[${i}].restartPolicy`, policy.restartPolicy, ['NotRequired', 'RestartContainer']);
    if (pod.spec.restartPolicy === 'Never' && policy.restartPolicy === 'RestartContainer') {
      invalid(problems, `${field}[${i}].restartPolicy`, policy.restartPolicy, "must be 'NotRequired' when `restartPolicy` is 'Never'");
    }
  }
}

function validateRestartRules(problems: Problems, field: string, container: Container): void {
  const { restartPolicy, restartPolicyRules: rules = [] } = container;
  if (restartPolicy !== undefined && !restartPolicies.includes(restartPolicy)) notSupported(problems, `${field}.restartPolicy`, restartPolicy, restartPolicies);
  if (rules.length > 0 && restartPolicy === undefined) required(problems, `${field}.restartPolicy`, 'must specify restartPolicy when restart rules are used');
  if (rules.length > maxRestartRules) tooMany(problems, `${field}.restartPolicyRules`, rules.length, maxRestartRules);
  for (const [i, rule] of rules.entries()) validateRestartRule(problems, `${field}.restartPolicyRules[${i}]`, rule);
}

function validateRestartRule(problems: Problems, field: string, rule: ContainerRestartRule): void {
  oneOf(problems, `${field}.action`, rule.action, ['Restart', 'RestartAllContainers']);
  if (rule.exitCodes === undefined) {
    required(problems, `${field}.exitCodes`, 'must be specified');
    return;
  }
  oneOf(problems, `${field}.exitCodes.operator`, rule.exitCodes.operator, ['In', 'NotIn']);
  const values = rule.exitCodes.values ?? [];
  if (values.length > 255) tooMany(problems, `${field}.exitCodes.values`, values.length, 255);
  if (values.length === 0) required(problems, `${field}.exitCodes.values`, 'must be specified');
}
