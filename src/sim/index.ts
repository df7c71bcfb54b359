// The embeddable world: virtual time and the models of what surrounds a node. No Node module and no package below here.

export { type KubeletEvent, type KubeletOperations, type KubeletState, kubeletMachine } from '../domain/agent/kubelet.js';
export type { ApiFaultAction, ApiFaultRule } from './apiserver/api-faults.js';
export {
  type ApiRequest,
  type ApiResponse,
  type ApiTarget,
  type ApiUser,
  type ApiVerb,
  type FieldValidation,
  type JsonObject,
  type ListOptions,
  type WatchEvent,
  type WatchRequest,
  wholeList,
} from './apiserver/api-request.js';
export { ApiRefusal, badRequest, noSuchPath, refusal } from './apiserver/api-status.js';
export type { ApiserverSettings } from './apiserver/apiserver-settings.js';
export type { CertificateOrder, CertificateSigner, RequestedCertificate } from './apiserver/certificate-signer.js';
export { allControllers, type ControllerName } from './apiserver/control/controller-names.js';
export type { StoredObject } from './apiserver/object-store.js';
export { unrecognized } from './apiserver/object-writer.js';
export { findResourceType, type ResourceType } from './apiserver/resource-types.js';
export { type ApiClientOutside, type ApiserverOperations, nodeUser, SimApiClient, type SimApiClientOptions } from './apiserver/sim-api-client.js';
export { emptyApiserverState, SimApiserver, type SimApiserverState } from './apiserver/sim-apiserver.js';
export { aggregatedDiscovery, coreVersions, groupDocument, groupList, resourceList } from './apiserver/surface/discovery.js';
export { openApiIndex, openApiV2, openApiV3 } from './apiserver/surface/openapi.js';
export { type TableRequest, tableOf } from './apiserver/surface/table.js';
export type { WatchRecord } from './apiserver/watch-hub.js';
export { allCheckers } from './checkers/all-checkers.js';
export { type AnyChecker, anyChecker, type CheckedNode, type Checker, type Observation, type Violation } from './checkers/checker.js';
export { type FaultAction, type FaultMoment, FaultPlan, type FaultRule, type FaultTrigger } from './faults/fault-plan.js';
export { worldFaults } from './faults/world-faults.js';
export type { SimHostLatencies, SimHostOptions } from './host/host-options.js';
export type { HostOperationName, HostOperations, HostPorts } from './host/host-ports.js';
export { emptyHostState, type SimEvent, type SimHostState, type SimPodDirectory, type SimVolume } from './host/host-state.js';
export { SimHost } from './host/sim-host.js';
export { type SimMachineShape, simTopology } from './host/sim-machine.js';
export { emptyManifestsState, type ManifestFailurePlan, type ManifestOperationName, SimManifests, type SimManifestsState } from './manifests/sim-manifests.js';
export { type ContainerScript, parseScript, type ScriptParse, type ServedKind, type StreamFault, scriptAnnotationPrefix } from './runtime/container-script.js';
export { imageMountpoint } from './runtime/image-store.js';
export type { ScriptRule, ScriptSelector, SimImageEntry, SimLatencies, SimRuntimeOptions } from './runtime/runtime-options.js';
export { emptyRuntimeState, type SimContainer, type SimRuntimeEvent, type SimRuntimeState, type SimSandbox } from './runtime/runtime-state.js';
export {
  type RuntimeOperationName,
  type RuntimeOperations,
  type RuntimePorts,
  SimContainerRuntime,
} from './runtime/sim-container-runtime.js';
export { SimCluster, type SimSnapshot } from './sim-cluster.js';
export type { SimClusterNode } from './sim-cluster-node.js';
export { type KubeletMachine, manifestDirectory, type SimClusterOptions } from './sim-cluster-options.js';
