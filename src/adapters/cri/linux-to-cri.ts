// The Linux parts that sandbox and container configuration share, from the domain's model to the CRI's messages.
// Invariant: names and number types change, nothing is decided; an absent field becomes the protocol's zero, which is the runtime's default.
import type {
  IdMapping,
  NamespaceMode as ModelNamespaceMode,
  LinuxContainerResources as ModelResources,
  SecurityProfile as ModelSecurityProfile,
  NamespaceOptions,
  RuntimeSELinuxOptions,
} from '../../ports/model/sandbox-config.js';
import {
  type IDMapping,
  type Int64Value,
  type LinuxContainerResources,
  NamespaceMode,
  type NamespaceOption,
  type SELinuxOption,
  type SecurityProfile,
  SecurityProfile_ProfileType,
  SupplementalGroupsPolicy,
} from './gen/cri-runtime-v1.js';

export function resourcesToCri(resources: ModelResources): LinuxContainerResources {
  return {
    cpuPeriod: BigInt(resources.cpuPeriod ?? 0),
    cpuQuota: BigInt(resources.cpuQuota ?? 0),
    cpuShares: BigInt(resources.cpuShares ?? 0),
    memoryLimitInBytes: BigInt(resources.memoryLimitInBytes ?? 0),
    oomScoreAdj: BigInt(resources.oomScoreAdj ?? 0),
    cpusetCpus: resources.cpusetCpus ?? '',
    cpusetMems: resources.cpusetMems ?? '',
    hugepageLimits: (resources.hugepageLimits ?? []).map(({ pageSize, limit }) => ({ pageSize, limit: BigInt(limit) })),
    unified: { ...resources.unified },
    memorySwapLimitInBytes: BigInt(resources.memorySwapLimitInBytes ?? 0),
  };
}

export function namespacesToCri(options: NamespaceOptions): NamespaceOption {
  const userns = options.usernsOptions;
  return {
    network: namespaceModeToCri(options.network),
    pid: namespaceModeToCri(options.pid),
    ipc: namespaceModeToCri(options.ipc),
    targetId: options.targetId ?? '',
    usernsOptions: userns && { mode: namespaceModeToCri(userns.mode), uids: idMappingsToCri(userns.uids), gids: idMappingsToCri(userns.gids) },
  };
}

function namespaceModeToCri(mode: ModelNamespaceMode | undefined): NamespaceMode {
  return mode === undefined ? NamespaceMode.POD : NamespaceMode[mode];
}

export function idMappingsToCri(mappings: readonly IdMapping[] | undefined): IDMapping[] {
  return (mappings ?? []).map(({ hostId, containerId, length }) => ({ hostId, containerId, length }));
}

export function selinuxToCri(options: RuntimeSELinuxOptions | undefined): SELinuxOption | undefined {
  return options && { user: options.user ?? '', role: options.role ?? '', type: options.type ?? '', level: options.level ?? '' };
}

export function profileToCri(profile: ModelSecurityProfile | undefined): SecurityProfile | undefined {
  return profile && { profileType: SecurityProfile_ProfileType[profile.profileType], localhostRef: profile.localhostRef ?? '' };
}

export function int64ToCri(value: number | undefined): Int64Value | undefined {
  return value === undefined ? undefined : { value: BigInt(value) };
}

export function groupsPolicyToCri(policy: 'Merge' | 'Strict' | undefined): SupplementalGroupsPolicy {
  return policy === undefined ? SupplementalGroupsPolicy.Merge : SupplementalGroupsPolicy[policy];
}
