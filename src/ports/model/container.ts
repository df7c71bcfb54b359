// core/v1 Container and what hangs off it.
import type { ObjectFieldSelector, ResourceFieldSelector } from './field-selector.js';
import type { LocalObjectReference, Quantity } from './object-meta.js';
import type { VolumeDevice, VolumeMount } from './volume.js';

export type ResourceList = Readonly<Record<string, Quantity>>;

export interface ResourceRequirements {
  readonly limits?: ResourceList;
  readonly requests?: ResourceList;
  readonly claims?: readonly { readonly name: string; readonly request?: string }[];
}

export interface ContainerPort {
  readonly name?: string;
  readonly hostPort?: number;
  readonly containerPort: number;
  readonly protocol?: string;
  readonly hostIP?: string;
}

export interface KeySelector extends LocalObjectReference {
  readonly key: string;
  readonly optional?: boolean;
}
export interface EnvVarSource {
  readonly fieldRef?: ObjectFieldSelector;
  readonly resourceFieldRef?: ResourceFieldSelector;
  readonly configMapKeyRef?: KeySelector;
  readonly secretKeyRef?: KeySelector;
  readonly fileKeyRef?: { readonly volumeName: string; readonly path: string; readonly key: string; readonly optional?: boolean };
}
export interface EnvVar {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: EnvVarSource;
}
export interface EnvFromSource {
  readonly prefix?: string;
  readonly configMapRef?: LocalObjectReference & { readonly optional?: boolean };
  readonly secretRef?: LocalObjectReference & { readonly optional?: boolean };
}

export type IntOrString = number | string;
export interface HTTPHeader {
  readonly name: string;
  readonly value: string;
}
export interface HTTPGetAction {
  readonly path?: string;
  readonly port: IntOrString;
  readonly host?: string;
  readonly scheme?: string;
  readonly httpHeaders?: readonly HTTPHeader[];
}
export interface Handler {
  readonly exec?: { readonly command?: readonly string[] };
  readonly httpGet?: HTTPGetAction;
  readonly tcpSocket?: { readonly port: IntOrString; readonly host?: string };
}
export interface LifecycleHandler extends Handler {
  readonly sleep?: { readonly seconds?: number };
}
export interface Lifecycle {
  readonly postStart?: LifecycleHandler;
  readonly preStop?: LifecycleHandler;
  readonly stopSignal?: string;
}
export interface Probe extends Handler {
  readonly grpc?: { readonly port: number; readonly service?: string };
  readonly initialDelaySeconds?: number;
  readonly timeoutSeconds?: number;
  readonly periodSeconds?: number;
  readonly successThreshold?: number;
  readonly failureThreshold?: number;
  readonly terminationGracePeriodSeconds?: number;
}

export interface SELinuxOptions {
  readonly user?: string;
  readonly role?: string;
  readonly type?: string;
  readonly level?: string;
}
export interface SeccompProfile {
  readonly type: string;
  readonly localhostProfile?: string;
}
export interface AppArmorProfile {
  readonly type: string;
  readonly localhostProfile?: string;
}
export interface SecurityContext {
  readonly capabilities?: { readonly add?: readonly string[]; readonly drop?: readonly string[] };
  readonly privileged?: boolean;
  readonly seLinuxOptions?: SELinuxOptions;
  readonly runAsUser?: number;
  readonly runAsGroup?: number;
  readonly runAsNonRoot?: boolean;
  readonly readOnlyRootFilesystem?: boolean;
  readonly allowPrivilegeEscalation?: boolean;
  readonly procMount?: string;
  readonly seccompProfile?: SeccompProfile;
  readonly appArmorProfile?: AppArmorProfile;
}

export interface ContainerRestartRule {
  readonly action: string;
  readonly exitCodes?: { readonly operator: string; readonly values?: readonly number[] };
}
export interface ContainerResizePolicy {
  readonly resourceName: string;
  readonly restartPolicy: string;
}

export interface Container {
  readonly name: string;
  readonly image?: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly workingDir?: string;
  readonly ports?: readonly ContainerPort[];
  readonly envFrom?: readonly EnvFromSource[];
  readonly env?: readonly EnvVar[];
  readonly resources?: ResourceRequirements;
  readonly resizePolicy?: readonly ContainerResizePolicy[];
  readonly restartPolicy?: string;
  readonly restartPolicyRules?: readonly ContainerRestartRule[];
  readonly volumeMounts?: readonly VolumeMount[];
  readonly volumeDevices?: readonly VolumeDevice[];
  readonly livenessProbe?: Probe;
  readonly readinessProbe?: Probe;
  readonly startupProbe?: Probe;
  readonly lifecycle?: Lifecycle;
  readonly terminationMessagePath?: string;
  readonly terminationMessagePolicy?: string;
  readonly imagePullPolicy?: string;
  readonly securityContext?: SecurityContext;
  readonly stdin?: boolean;
  readonly stdinOnce?: boolean;
  readonly tty?: boolean;
}
export interface EphemeralContainer extends Container {
  readonly targetContainerName?: string;
}
