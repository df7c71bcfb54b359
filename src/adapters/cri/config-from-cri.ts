// Converts CRI configurations back to the domain's model. The mock server feeds the simulated runtime with it.
// Invariant: model -> CRI -> model gives an equal configuration; a protocol zero means "absent".
import { isUtf8 } from 'node:buffer';
import type {
  ContainerConfig as ModelContainer,
  LinuxContainerSecurityContext as ModelContext,
  ImageSpec as ModelImage,
  RuntimeMount,
} from '../../ports/model/container-config.js';
import type {
  IdMapping,
  NamespaceMode as ModelNamespaceMode,
  SecurityProfile as ModelProfile,
  LinuxContainerResources as ModelResources,
  LinuxSandboxSecurityContext as ModelSandboxContext,
  NamespaceOptions,
  PortMapping,
  SandboxConfig,
} from '../../ports/model/sandbox-config.js';
import {
  type ContainerConfig,
  type ImageSpec,
  type Int64Value,
  type LinuxContainerResources,
  type LinuxContainerSecurityContext,
  type LinuxSandboxSecurityContext,
  type Mount,
  MountPropagation,
  NamespaceMode,
  type NamespaceOption,
  type PodSandboxConfig,
  Protocol,
  type SecurityProfile,
  SecurityProfile_ProfileType,
  Signal,
  SupplementalGroupsPolicy,
} from './gen/cri-runtime-v1.js';

export function sandboxConfigFromCri(config: PodSandboxConfig): SandboxConfig {
  const { metadata, linux, dnsConfig } = config;
  return {
    metadata: { name: metadata?.name ?? '', uid: metadata?.uid ?? '', namespace: metadata?.namespace ?? '', attempt: metadata?.attempt ?? 0 },
    ...textField('hostname', config.hostname),
    ...textField('logDirectory', config.logDirectory),
    ...(dnsConfig && { dnsConfig }),
    ...listField(
      'portMappings',
      config.portMappings.map((port) => ({ ...port, protocol: enumName(Protocol, port.protocol, 'TCP') as PortMapping['protocol'] })),
    ),
    labels: config.labels,
    annotations: config.annotations,
    ...(linux && {
      linux: {
        ...textField('cgroupParent', linux.cgroupParent),
        ...(linux.securityContext && { securityContext: sandboxContextFromCri(linux.securityContext) }),
        sysctls: linux.sysctls,
        ...(linux.overhead && { overhead: resourcesFromCri(linux.overhead) }),
        ...(linux.resources && { resources: resourcesFromCri(linux.resources) }),
      },
    }),
  };
}

function sandboxContextFromCri(context: LinuxSandboxSecurityContext): ModelSandboxContext {
  return {
    ...(context.namespaceOptions && { namespaceOptions: namespacesFromCri(context.namespaceOptions) }),
    ...(context.selinuxOptions && { selinuxOptions: context.selinuxOptions }),
    ...int64Field('runAsUser', context.runAsUser),
    ...int64Field('runAsGroup', context.runAsGroup),
    ...flagField('readonlyRootfs', context.readonlyRootfs),
    ...listField('supplementalGroups', context.supplementalGroups.map(Number)),
    ...(context.supplementalGroupsPolicy === SupplementalGroupsPolicy.Strict && { supplementalGroupsPolicy: 'Strict' as const }),
    ...flagField('privileged', context.privileged),
    ...(context.seccomp && { seccomp: profileFromCri(context.seccomp) }),
    ...(context.apparmor && { apparmor: profileFromCri(context.apparmor) }),
  };
}

export function containerConfigFromCri(config: ContainerConfig): ModelContainer {
  const { linux } = config;
  return {
    metadata: { name: config.metadata?.name ?? '', attempt: config.metadata?.attempt ?? 0 },
    image: config.image === undefined ? { image: '' } : imageSpecFromCri(config.image),
    ...listField('command', config.command),
    ...listField('args', config.args),
    ...textField('workingDir', config.workingDir),
    ...listField(
      'envs',
      config.envs.map(({ key, value }) => ({ key, value: isUtf8(value) ? value.toString('utf8') : Uint8Array.from(value) })),
    ),
    ...listField('mounts', config.mounts.map(mountFromCri)),
    ...listField('devices', config.devices),
    ...listField(
      'cdiDevices',
      config.CDIDevices.map(({ name }) => name),
    ),
    labels: config.labels,
    annotations: config.annotations,
    logPath: config.logPath,
    ...flagField('stdin', config.stdin),
    ...flagField('stdinOnce', config.stdinOnce),
    ...flagField('tty', config.tty),
    ...stopSignalFromCri(config.stopSignal),
    ...(linux && {
      linux: {
        ...(linux.resources && { resources: resourcesFromCri(linux.resources) }),
        ...(linux.securityContext && { securityContext: containerContextFromCri(linux.securityContext) }),
      },
    }),
  };
}

/** The CRI writes SIGRTMIN+1 as SIGRTMINPLUS1. A number without a name there is dropped. */
export function stopSignalFromCri(signal: Signal): { readonly stopSignal?: string } {
  const name: string | undefined = Signal[signal];
  if (name === undefined || signal === Signal.RUNTIME_DEFAULT || signal === Signal.UNRECOGNIZED) return {};
  return { stopSignal: name.replace('PLUS', '+').replace('MINUS', '-') };
}

export function imageSpecFromCri(image: ImageSpec): ModelImage {
  return {
    image: image.image,
    ...(Object.keys(image.annotations).length > 0 && { annotations: image.annotations }),
    ...textField('userSpecifiedImage', image.userSpecifiedImage),
    ...textField('runtimeHandler', image.runtimeHandler),
  };
}

function mountFromCri(mount: Mount): RuntimeMount {
  const propagation = enumName(MountPropagation, mount.propagation, 'PROPAGATION_PRIVATE') as NonNullable<RuntimeMount['propagation']>;
  return {
    containerPath: mount.containerPath,
    hostPath: mount.hostPath,
    ...flagField('readonly', mount.readonly),
    ...flagField('selinuxRelabel', mount.selinuxRelabel),
    ...(propagation !== 'PROPAGATION_PRIVATE' && { propagation }),
    ...flagField('recursiveReadOnly', mount.recursiveReadOnly),
    ...listField('uidMappings', mount.uidMappings as readonly IdMapping[]),
    ...listField('gidMappings', mount.gidMappings as readonly IdMapping[]),
    ...(mount.image && { image: imageSpecFromCri(mount.image) }),
    ...textField('imageSubPath', mount.imageSubPath),
  };
}

function containerContextFromCri(context: LinuxContainerSecurityContext): ModelContext {
  const { capabilities } = context;
  return {
    ...(capabilities && {
      capabilities: {
        ...listField('addCapabilities', capabilities.addCapabilities),
        ...listField('dropCapabilities', capabilities.dropCapabilities),
        ...listField('addAmbientCapabilities', capabilities.addAmbientCapabilities),
      },
    }),
    ...flagField('privileged', context.privileged),
    ...(context.namespaceOptions && { namespaceOptions: namespacesFromCri(context.namespaceOptions) }),
    ...(context.selinuxOptions && { selinuxOptions: context.selinuxOptions }),
    ...int64Field('runAsUser', context.runAsUser),
    ...int64Field('runAsGroup', context.runAsGroup),
    ...textField('runAsUsername', context.runAsUsername),
    ...flagField('readonlyRootfs', context.readonlyRootfs),
    ...listField('supplementalGroups', context.supplementalGroups.map(Number)),
    ...(context.supplementalGroupsPolicy === SupplementalGroupsPolicy.Strict && { supplementalGroupsPolicy: 'Strict' as const }),
    ...flagField('noNewPrivs', context.noNewPrivs),
    ...listField('maskedPaths', context.maskedPaths),
    ...listField('readonlyPaths', context.readonlyPaths),
    ...(context.seccomp && { seccomp: profileFromCri(context.seccomp) }),
    ...(context.apparmor && { apparmor: profileFromCri(context.apparmor) }),
  };
}

export function resourcesFromCri(resources: LinuxContainerResources): ModelResources {
  return {
    ...numberField('cpuPeriod', resources.cpuPeriod),
    ...numberField('cpuQuota', resources.cpuQuota),
    ...numberField('cpuShares', resources.cpuShares),
    ...numberField('memoryLimitInBytes', resources.memoryLimitInBytes),
    ...numberField('oomScoreAdj', resources.oomScoreAdj),
    ...textField('cpusetCpus', resources.cpusetCpus),
    ...textField('cpusetMems', resources.cpusetMems),
    ...listField(
      'hugepageLimits',
      resources.hugepageLimits.map(({ pageSize, limit }) => ({ pageSize, limit: Number(limit) })),
    ),
    ...(Object.keys(resources.unified).length > 0 && { unified: resources.unified }),
    ...numberField('memorySwapLimitInBytes', resources.memorySwapLimitInBytes),
  };
}

function namespacesFromCri(options: NamespaceOption): NamespaceOptions {
  const userns = options.usernsOptions;
  return {
    network: modeFromCri(options.network),
    pid: modeFromCri(options.pid),
    ipc: modeFromCri(options.ipc),
    ...textField('targetId', options.targetId),
    ...(userns && { usernsOptions: { mode: modeFromCri(userns.mode), ...listField('uids', userns.uids), ...listField('gids', userns.gids) } }),
  };
}

function modeFromCri(mode: NamespaceMode): ModelNamespaceMode {
  return enumName(NamespaceMode, mode, 'POD') as ModelNamespaceMode;
}

function profileFromCri(profile: SecurityProfile): ModelProfile {
  const profileType = enumName(SecurityProfile_ProfileType, profile.profileType, 'RuntimeDefault') as ModelProfile['profileType'];
  return { profileType, ...textField('localhostRef', profile.localhostRef) };
}

/** A value that we don't know reads as the zero value's name. */
function enumName(names: Readonly<Record<number, string>>, value: number, zero: string): string {
  return value < 0 ? zero : (names[value] ?? zero);
}

type Field<Name extends string, T> = { readonly [K in Name]?: T };

function textField<Name extends string>(name: Name, value: string): Field<Name, string> {
  return (value === '' ? {} : { [name]: value }) as Field<Name, string>;
}

function flagField<Name extends string>(name: Name, value: boolean): Field<Name, boolean> {
  return (value ? { [name]: true } : {}) as Field<Name, boolean>;
}

function numberField<Name extends string>(name: Name, value: bigint): Field<Name, number> {
  return (value === 0n ? {} : { [name]: Number(value) }) as Field<Name, number>;
}

function int64Field<Name extends string>(name: Name, value: Int64Value | undefined): Field<Name, number> {
  return (value === undefined ? {} : { [name]: Number(value.value) }) as Field<Name, number>;
}

function listField<Name extends string, T>(name: Name, value: readonly T[]): Field<Name, readonly T[]> {
  return (value.length === 0 ? {} : { [name]: value }) as Field<Name, readonly T[]>;
}
