// The configuration of a container for the runtime. See sandbox-config for the conventions.
import type { IdMapping, LinuxContainerResources, NamespaceOptions, RuntimeSELinuxOptions, SecurityProfile } from './sandbox-config.js';

export type MountPropagation = 'PROPAGATION_PRIVATE' | 'PROPAGATION_HOST_TO_CONTAINER' | 'PROPAGATION_BIDIRECTIONAL';

export interface RuntimeMount {
  readonly containerPath: string;
  readonly hostPath: string;
  readonly readonly?: boolean;
  readonly selinuxRelabel?: boolean;
  readonly propagation?: MountPropagation;
  readonly recursiveReadOnly?: boolean;
  readonly uidMappings?: readonly IdMapping[];
  readonly gidMappings?: readonly IdMapping[];
  readonly image?: ImageSpec;
  readonly imageSubPath?: string;
}

export interface ImageSpec {
  readonly image: string;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly userSpecifiedImage?: string;
  readonly runtimeHandler?: string;
}

export interface RuntimeDevice {
  readonly containerPath: string;
  readonly hostPath: string;
  readonly permissions: string;
}

export interface LinuxContainerSecurityContext {
  readonly capabilities?: { readonly addCapabilities?: readonly string[]; readonly dropCapabilities?: readonly string[]; readonly addAmbientCapabilities?: readonly string[] };
  readonly privileged?: boolean;
  readonly namespaceOptions?: NamespaceOptions;
  readonly selinuxOptions?: RuntimeSELinuxOptions;
  readonly runAsUser?: number;
  readonly runAsGroup?: number;
  readonly runAsUsername?: string;
  readonly readonlyRootfs?: boolean;
  readonly supplementalGroups?: readonly number[];
  readonly supplementalGroupsPolicy?: 'Merge' | 'Strict';
  readonly noNewPrivs?: boolean;
  readonly maskedPaths?: readonly string[];
  readonly readonlyPaths?: readonly string[];
  readonly seccomp?: SecurityProfile;
  readonly apparmor?: SecurityProfile;
}

export interface ContainerConfig {
  readonly metadata: { readonly name: string; readonly attempt: number };
  readonly image: ImageSpec;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly workingDir?: string;
  /** A value is text, or bytes where it is none: a secret may hold anything. */
  readonly envs?: readonly { readonly key: string; readonly value: string | Uint8Array }[];
  readonly mounts?: readonly RuntimeMount[];
  readonly devices?: readonly RuntimeDevice[];
  readonly cdiDevices?: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly logPath: string;
  readonly stdin?: boolean;
  readonly stdinOnce?: boolean;
  readonly tty?: boolean;
  /** In the API's spelling: `SIGTERM`, `SIGRTMIN+1`; absent: the image's, or the runtime's own. */
  readonly stopSignal?: string;
  readonly linux?: { readonly resources?: LinuxContainerResources; readonly securityContext?: LinuxContainerSecurityContext };
}
