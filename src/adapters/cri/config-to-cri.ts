// SandboxConfig, ContainerConfig and image references from the domain's model to the CRI's messages. See linux-to-cri for the invariant.
import type {
  ContainerConfig as ModelContainer,
  LinuxContainerSecurityContext as ModelContext,
  ImageSpec as ModelImage,
  RuntimeMount,
} from '../../ports/model/container-config.js';
import type { LinuxSandboxSecurityContext as ModelSandboxContext, SandboxConfig } from '../../ports/model/sandbox-config.js';
import { PortError } from '../../ports/port-error.js';
import {
  type ContainerConfig,
  type ImageSpec,
  type LinuxContainerSecurityContext,
  type LinuxSandboxSecurityContext,
  type Mount,
  MountPropagation,
  type PodSandboxConfig,
  Protocol,
  Signal,
} from './gen/cri-runtime-v1.js';
import { groupsPolicyToCri, idMappingsToCri, int64ToCri, namespacesToCri, profileToCri, resourcesToCri, selinuxToCri } from './linux-to-cri.js';

export function sandboxConfigToCri(config: SandboxConfig): PodSandboxConfig {
  const { linux, dnsConfig } = config;
  return {
    metadata: { ...config.metadata },
    hostname: config.hostname ?? '',
    logDirectory: config.logDirectory ?? '',
    dnsConfig: dnsConfig && { servers: [...dnsConfig.servers], searches: [...dnsConfig.searches], options: [...dnsConfig.options] },
    portMappings: (config.portMappings ?? []).map((port) => ({ ...port, protocol: Protocol[port.protocol] })),
    labels: { ...config.labels },
    annotations: { ...config.annotations },
    linux: linux && {
      cgroupParent: linux.cgroupParent ?? '',
      securityContext: linux.securityContext && sandboxContextToCri(linux.securityContext),
      sysctls: { ...linux.sysctls },
      overhead: linux.overhead && resourcesToCri(linux.overhead),
      resources: linux.resources && resourcesToCri(linux.resources),
    },
    windows: undefined,
  };
}

function sandboxContextToCri(context: ModelSandboxContext): LinuxSandboxSecurityContext {
  return {
    namespaceOptions: context.namespaceOptions && namespacesToCri(context.namespaceOptions),
    selinuxOptions: selinuxToCri(context.selinuxOptions),
    runAsUser: int64ToCri(context.runAsUser),
    runAsGroup: int64ToCri(context.runAsGroup),
    readonlyRootfs: context.readonlyRootfs ?? false,
    supplementalGroups: (context.supplementalGroups ?? []).map(BigInt),
    supplementalGroupsPolicy: groupsPolicyToCri(context.supplementalGroupsPolicy),
    privileged: context.privileged ?? false,
    seccomp: profileToCri(context.seccomp),
    apparmor: profileToCri(context.apparmor),
    seccompProfilePath: '',
  };
}

export function containerConfigToCri(config: ModelContainer): ContainerConfig {
  const { linux } = config;
  return {
    metadata: { ...config.metadata },
    image: imageSpecToCri(config.image),
    command: [...(config.command ?? [])],
    args: [...(config.args ?? [])],
    workingDir: config.workingDir ?? '',
    envs: (config.envs ?? []).map(({ key, value }) => ({ key, value: typeof value === 'string' ? Buffer.from(value, 'utf8') : Buffer.from(value) })),
    mounts: (config.mounts ?? []).map(mountToCri),
    devices: (config.devices ?? []).map((device) => ({ ...device })),
    labels: { ...config.labels },
    annotations: { ...config.annotations },
    logPath: config.logPath,
    stdin: config.stdin ?? false,
    stdinOnce: config.stdinOnce ?? false,
    tty: config.tty ?? false,
    linux: linux && {
      resources: linux.resources && resourcesToCri(linux.resources),
      securityContext: linux.securityContext && containerContextToCri(linux.securityContext),
    },
    windows: undefined,
    CDIDevices: (config.cdiDevices ?? []).map((name) => ({ name })),
    stopSignal: stopSignalToCri(config.stopSignal),
  };
}

/** The interface writes SIGRTMIN+1 as SIGRTMINPLUS1. A name that it doesn't know is a mistake of the caller: pods are checked before. */
function stopSignalToCri(name: string | undefined): Signal {
  if (name === undefined) return Signal.RUNTIME_DEFAULT;
  const signal = Signal[name.replace('+', 'PLUS').replace('-', 'MINUS') as keyof typeof Signal];
  if (signal === undefined)
    throw new PortError({ kind: 'invalid-argument', message: `unknown stop signal ${JSON.stringify(name)}`, operation: 'containers.create', subject: name });
  return signal;
}

export function imageSpecToCri(image: ModelImage): ImageSpec {
  return {
    image: image.image,
    annotations: { ...image.annotations },
    userSpecifiedImage: image.userSpecifiedImage ?? '',
    runtimeHandler: image.runtimeHandler ?? '',
    imageRef: '',
  };
}

function mountToCri(mount: RuntimeMount): Mount {
  return {
    containerPath: mount.containerPath,
    hostPath: mount.hostPath,
    readonly: mount.readonly ?? false,
    selinuxRelabel: mount.selinuxRelabel ?? false,
    propagation: mount.propagation === undefined ? MountPropagation.PROPAGATION_PRIVATE : MountPropagation[mount.propagation],
    uidMappings: idMappingsToCri(mount.uidMappings),
    gidMappings: idMappingsToCri(mount.gidMappings),
    recursiveReadOnly: mount.recursiveReadOnly ?? false,
    image: mount.image && imageSpecToCri(mount.image),
    imageSubPath: mount.imageSubPath ?? '',
  };
}

function containerContextToCri(context: ModelContext): LinuxContainerSecurityContext {
  const { capabilities } = context;
  return {
    capabilities: capabilities && {
      addCapabilities: [...(capabilities.addCapabilities ?? [])],
      dropCapabilities: [...(capabilities.dropCapabilities ?? [])],
      addAmbientCapabilities: [...(capabilities.addAmbientCapabilities ?? [])],
    },
    privileged: context.privileged ?? false,
    namespaceOptions: context.namespaceOptions && namespacesToCri(context.namespaceOptions),
    selinuxOptions: selinuxToCri(context.selinuxOptions),
    runAsUser: int64ToCri(context.runAsUser),
    runAsGroup: int64ToCri(context.runAsGroup),
    runAsUsername: context.runAsUsername ?? '',
    readonlyRootfs: context.readonlyRootfs ?? false,
    supplementalGroups: (context.supplementalGroups ?? []).map(BigInt),
    supplementalGroupsPolicy: groupsPolicyToCri(context.supplementalGroupsPolicy),
    noNewPrivs: context.noNewPrivs ?? false,
    maskedPaths: [...(context.maskedPaths ?? [])],
    readonlyPaths: [...(context.readonlyPaths ?? [])],
    seccomp: profileToCri(context.seccomp),
    apparmor: profileToCri(context.apparmor),
    apparmorProfile: deprecatedAppArmorText(context.apparmor),
    seccompProfilePath: '',
  };
}

/** Runtimes older than the structured field read the profile from this text. */
function deprecatedAppArmorText(profile: ModelContext['apparmor']): string {
  switch (profile?.profileType) {
    case undefined:
      return '';
    case 'RuntimeDefault':
      return 'runtime/default';
    case 'Unconfined':
      return 'unconfined';
    case 'Localhost':
      return `localhost/${profile.localhostRef ?? ''}`;
  }
}
