// The configuration of a sandbox and of a container for the runtime. The domain's own model in the CRI's terms, so that the adapter
// only maps names and number types. Absent fields take the runtime's default.

export type NamespaceMode = 'POD' | 'CONTAINER' | 'NODE' | 'TARGET';

export interface IdMapping {
  readonly hostId: number;
  readonly containerId: number;
  readonly length: number;
}

export interface UserNamespaceOptions {
  readonly mode: NamespaceMode;
  readonly uids?: readonly IdMapping[];
  readonly gids?: readonly IdMapping[];
}

export interface NamespaceOptions {
  readonly network?: NamespaceMode;
  readonly pid?: NamespaceMode;
  readonly ipc?: NamespaceMode;
  /** The container whose pid namespace is joined, with mode TARGET. */
  readonly targetId?: string;
  readonly usernsOptions?: UserNamespaceOptions;
}

export interface SecurityProfile {
  readonly profileType: 'RuntimeDefault' | 'Unconfined' | 'Localhost';
  readonly localhostRef?: string;
}

export interface RuntimeSELinuxOptions {
  readonly user?: string;
  readonly role?: string;
  readonly type?: string;
  readonly level?: string;
}

/** cpu values in the kernel's units (periods and quotas in microseconds), memory in bytes. */
export interface LinuxContainerResources {
  readonly cpuPeriod?: number;
  readonly cpuQuota?: number;
  readonly cpuShares?: number;
  readonly memoryLimitInBytes?: number;
  readonly oomScoreAdj?: number;
  readonly cpusetCpus?: string;
  readonly cpusetMems?: string;
  readonly hugepageLimits?: readonly { readonly pageSize: string; readonly limit: number }[];
  readonly unified?: Readonly<Record<string, string>>;
  readonly memorySwapLimitInBytes?: number;
}

export interface LinuxSandboxSecurityContext {
  readonly namespaceOptions?: NamespaceOptions;
  readonly selinuxOptions?: RuntimeSELinuxOptions;
  readonly runAsUser?: number;
  readonly runAsGroup?: number;
  readonly readonlyRootfs?: boolean;
  readonly supplementalGroups?: readonly number[];
  readonly supplementalGroupsPolicy?: 'Merge' | 'Strict';
  readonly privileged?: boolean;
  readonly seccomp?: SecurityProfile;
  readonly apparmor?: SecurityProfile;
}

export interface PortMapping {
  readonly protocol: 'TCP' | 'UDP' | 'SCTP';
  readonly containerPort: number;
  readonly hostPort: number;
  readonly hostIp: string;
}

export interface SandboxConfig {
  readonly metadata: { readonly name: string; readonly uid: string; readonly namespace: string; readonly attempt: number };
  readonly hostname?: string;
  readonly logDirectory?: string;
  readonly dnsConfig?: { readonly servers: readonly string[]; readonly searches: readonly string[]; readonly options: readonly string[] };
  readonly portMappings?: readonly PortMapping[];
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly linux?: {
    readonly cgroupParent?: string;
    readonly securityContext?: LinuxSandboxSecurityContext;
    readonly sysctls?: Readonly<Record<string, string>>;
    readonly overhead?: LinuxContainerResources;
    readonly resources?: LinuxContainerResources;
  };
}
