// The Node object: conditions over time, when it is sent, patches, registration, addresses, capacity and images.

import { newRuntimeReadiness, runtimeProblemList, statusReported } from '../../../src/domain/agent/runtime-state/runtime-readiness.js';
import { type AddressFacts, nodeAddresses } from '../../../src/domain/node-status/node-addresses.js';
import { nodeResources } from '../../../src/domain/node-status/node-capacity.js';
import { withPressures, withReady } from '../../../src/domain/node-status/node-conditions.js';
import type { NodeEvent } from '../../../src/domain/node-status/node-event.js';
import { nodeImages } from '../../../src/domain/node-status/node-images.js';
import { withMachineIds } from '../../../src/domain/node-status/node-info.js';
import { nodePatchSubresource, nodePatchType, nodeStatusChanged, nodeStatusPatch } from '../../../src/domain/node-status/node-patch.js';
import { newNodeStatusMemory, rebootEvents, schedulableEvents } from '../../../src/domain/node-status/node-status.js';
import { existingNodePatched, existingNodeRead, initialNode, nodeCreated, type RegistrationReply, type RegistrationStep } from '../../../src/domain/node-status/registration.js';
import { newStatusReport, type ReportStep, reportFailed, startReport, statusComputed, statusSent } from '../../../src/domain/node-status/status-report.js';
import { newPleg, plegProblem } from '../../../src/domain/pleg/pleg.js';
import { formatGoDuration, parseGoDuration } from '../../../src/domain/values/go-duration.js';
import { epochMicros, instantOf } from '../../../src/domain/values/instant.js';
import { formatRfc3339, parseRfc3339 } from '../../../src/domain/values/time.js';
import type { ResourceList } from '../../../src/ports/model/container.js';
import type { Node, NodeAddress, NodeCondition, Taint } from '../../../src/ports/model/node.js';
import type { RuntimeCondition } from '../../../src/ports/outbound/container-runtime.js';
import { type Difference, differences, isObject, type Json } from '../compare.js';
import type { VectorDriver } from '../driver.js';
import { patchedNode, storedNode } from '../node-server.js';

type ConditionInput = { readonly status: boolean; readonly reason?: string; readonly message?: string };
interface ConditionStep {
  readonly at: string;
  readonly runtimeStatus?: { readonly error?: string; readonly runtimeReady?: ConditionInput; readonly networkReady?: ConditionInput };
  readonly relist?: boolean;
  readonly storageError?: string;
  readonly shuttingDown?: boolean;
  readonly softRequirements?: string;
  readonly memoryPressure?: boolean;
  readonly diskPressure?: boolean;
  readonly pidPressure?: boolean;
  readonly unschedulable?: boolean;
}
interface Conditions {
  readonly kind: 'conditions';
  readonly nodeName: string;
  readonly existingConditions?: readonly NodeCondition[];
  readonly missingCapacity?: readonly string[];
  readonly localStorageCapacityIsolation: boolean;
  readonly steps: readonly ConditionStep[];
}
interface Report {
  readonly kind: 'report';
  readonly nodeStatusReportFrequency: string;
  readonly delays: readonly string[];
  readonly steps: readonly { readonly at: string; readonly statusDiffers?: boolean; readonly failures?: readonly string[] }[];
}
interface Patch {
  readonly kind: 'patch';
  readonly original: Node;
  readonly updated: Node;
}
interface Register {
  readonly kind: 'register';
  readonly hostname: string;
  readonly nodeLabels?: Readonly<Record<string, string>>;
  readonly registerWithTaints?: readonly Taint[];
  readonly externalCloudProvider?: boolean;
  readonly enableControllerAttachDetach: boolean;
  readonly providerID?: string;
  readonly capacity: ResourceList;
  readonly allocatable: ResourceList;
  readonly deviceCheckpointMissing?: boolean;
  readonly createResult?: string;
  readonly getResult?: string;
  readonly patchResult?: string;
  readonly existingNode?: Node;
}
interface Addresses extends Pick<AddressFacts, 'nodeName' | 'hostname'> {
  readonly kind: 'addresses';
  readonly nodeIPs: readonly string[];
  readonly externalCloudProvider: boolean;
  readonly hostInterfaceIPs: readonly string[];
  readonly dnsAddressesOfNodeName: readonly string[];
  readonly defaultRouteAddress: { readonly ipv4?: string; readonly ipv6?: string };
  readonly existingAddresses?: readonly NodeAddress[];
  readonly existingAnnotations?: Readonly<Record<string, string>>;
}
interface Machine {
  readonly kind: 'machine';
  readonly nodeName: string;
  readonly maxPods: number;
  readonly podsPerCore: number;
  readonly machine: {
    readonly cpus: number;
    readonly memoryBytes: number;
    readonly swapBytes?: number;
    readonly hugepages?: readonly { readonly pageSizeKiB: number; readonly numPages: number }[];
    readonly machineID?: string;
    readonly systemUUID?: string;
    readonly bootID?: string;
  } | null;
  readonly rootFilesystemCapacity?: string;
  readonly localStorageCapacityIsolation: boolean;
  readonly deviceCapacity?: ResourceList;
  readonly deviceAllocatable?: ResourceList;
  readonly removedDeviceResources?: readonly string[];
  readonly reservation?: ResourceList;
  readonly existingCapacity?: ResourceList;
  readonly existingAllocatable?: ResourceList;
  readonly existingBootID?: string;
  readonly calls?: number;
}
interface Images {
  readonly kind: 'images';
  readonly nodeStatusMaxImages: number;
  readonly images: readonly { readonly id: string; readonly sizeBytes: number; readonly repoTags?: readonly string[]; readonly repoDigests?: readonly string[] }[];
  readonly listError?: string;
}

const micros = (time: string): number => epochMicros(parseRfc3339(time) ?? instantOf(Number.NaN));
const duration = (text: string): number => parseGoDuration(text) ?? Number.NaN;
const conditionOf = (input: ConditionInput | undefined): RuntimeCondition | null =>
  input === undefined ? null : { status: input.status, reason: input.reason ?? '', message: input.message ?? '' };

function conditions(input: Conditions): unknown {
  const { nodeName, localStorageCapacityIsolation } = input;
  const readiness = newRuntimeReadiness();
  const pleg = newPleg();
  const memory = newNodeStatusMemory();
  const all: ResourceList = { cpu: '1', memory: '1Gi', pods: '110', 'ephemeral-storage': '1Gi' };
  const capacity = Object.fromEntries(Object.entries(all).filter(([name]) => !(input.missingCapacity ?? []).includes(name)));
  let storageError = '';
  let current = input.existingConditions ?? [];
  return {
    steps: input.steps.map((step) => {
      const now = micros(step.at);
      const { runtimeStatus } = step;
      if (runtimeStatus !== undefined && (runtimeStatus.error ?? '') === '') {
        statusReported(
          readiness,
          { runtimeReady: conditionOf(runtimeStatus.runtimeReady), networkReady: conditionOf(runtimeStatus.networkReady), handlers: [], supplementalGroupsPolicy: null },
          now,
        );
      }
      if (step.relist === true) pleg.lastRelist = now;
      storageError = step.storageError ?? storageError;
      const pressures = { memory: step.memoryPressure === true, disk: step.diskPressure === true, pid: step.pidPressure === true };
      const pressed = withPressures(nodeName, current, pressures, instantOf(now));
      const facts = {
        runtime: runtimeProblemList(readiness, plegProblem(pleg, now), now),
        network: readiness.networkProblem === null ? [] : [readiness.networkProblem],
        storage: storageError === '' ? [] : [storageError],
        shuttingDown: step.shuttingDown === true,
        softRequirements: step.softRequirements ?? null,
      };
      const ready = withReady(nodeName, pressed.conditions, { ...facts, capacity, localStorageCapacityIsolation }, instantOf(now));
      const node: Node = { metadata: { name: nodeName }, spec: { unschedulable: step.unschedulable === true } };
      const events: NodeEvent[] = [...pressed.events, ...ready.events, ...schedulableEvents(node, nodeName, memory)];
      const statusChanged = nodeStatusChanged({ conditions: current }, { conditions: ready.conditions });
      current = ready.conditions;
      return { conditions: current, events, statusChanged };
    }),
  };
}

function report(input: Report): unknown {
  const state = newStatusReport(duration(input.nodeStatusReportFrequency));
  let drawn = 0;
  /** What was not written still differs in the next step. */
  let differs = false;
  const random = (): number => duration(input.delays[drawn++] as string) / state.reportFrequency + 0.5;
  return {
    steps: input.steps.map(({ at, statusDiffers, failures = [] }) => {
      differs ||= statusDiffers === true;
      const calls: { verb: string; result: string }[] = [];
      let heartbeatFailures = 0;
      let error: string | null = null;
      const call = (verb: string): boolean => {
        const result = failures[calls.length] ?? '';
        calls.push({ verb, result: result === '' ? 'ok' : result });
        return result === '';
      };
      const failed = (): ReportStep => {
        const { step, heartbeatFailed } = reportFailed(state);
        if (heartbeatFailed) heartbeatFailures++;
        return step;
      };
      for (let step = startReport(state); step.kind !== 'done'; ) {
        if (step.kind === 'compute') step = step.source === 'cache' || call('get') ? statusComputed(state, differs, random, micros(at)) : failed();
        else if (step.kind === 'patch') {
          const isSent = call('patch');
          if (isSent) differs = false;
          step = isSent ? statusSent(state, micros(at)) : failed();
        } else {
          error = step.error;
          break;
        }
      }
      const lastReport = state.lastReportAt === null ? null : formatRfc3339(instantOf(state.lastReportAt));
      return { calls, tries: state.tries, delayAfterwards: formatGoDuration(state.delay), lastReport, heartbeatFailures, ...(error === null ? {} : { error }) };
    }),
  };
}

function patch({ original, updated }: Patch): unknown {
  const made = nodeStatusPatch(original, updated);
  const { metadata, status } = storedNode(patchedNode(original, { ...made }));
  return {
    patch: made,
    patchType: nodePatchType,
    subresource: nodePatchSubresource,
    statusChanged: nodeStatusChanged(original.status ?? {}, updated.status ?? {}),
    result: { metadata: { annotations: metadata.annotations ?? null, labels: metadata.labels ?? null }, status },
  };
}

function replyOf(result: string | undefined): RegistrationReply {
  if (result === undefined || result === '') return 'ok';
  return result === 'alreadyExists' ? 'already-exists' : result === 'forbidden' ? 'forbidden' : 'failed';
}

function register(input: Register): unknown {
  const facts = { hostname: input.hostname, enableControllerAttachDetach: input.enableControllerAttachDetach, externalCloudProvider: input.externalCloudProvider === true };
  const initial = initialNode(
    {
      ...facts,
      nodeName: 'node-1',
      architecture: 'amd64',
      nodeLabels: input.nodeLabels ?? {},
      registerWithTaints: input.registerWithTaints ?? [],
      providerId: input.providerID ?? '',
    },
    { capacity: input.capacity, allocatable: input.allocatable },
  );
  const calls = ['create'];
  let patched: Node | null = null;
  let step: RegistrationStep = nodeCreated(replyOf(input.createResult));
  while (step.kind === 'get' || step.kind === 'patch') {
    if (step.kind === 'get') {
      calls.push('get');
      const existing = replyOf(input.getResult) === 'ok' ? (input.existingNode ?? null) : null;
      step = existingNodeRead(existing, initial, input.deviceCheckpointMissing === true);
    } else {
      calls.push('patch status');
      const isOk = replyOf(input.patchResult) === 'ok';
      if (isOk && input.existingNode !== undefined) patched = patchedNode(input.existingNode, { ...nodeStatusPatch(input.existingNode, step.node) });
      step = existingNodePatched(isOk);
    }
  }
  return { calls, registered: step.kind === 'registered', initialNode: storedNode(initial), ...(patched === null ? {} : { patchedNode: storedNode(patched) }) };
}

function addresses(input: Addresses): unknown {
  const { nodeName, hostname, externalCloudProvider } = input;
  const { ipv4 = '', ipv6 = '' } = input.defaultRouteAddress;
  const defaultRoute = { ipv4: ipv4 === '' ? null : ipv4, ipv6: ipv6 === '' ? null : ipv6 };
  const facts = {
    nodeName,
    hostname,
    externalCloudProvider,
    defaultRoute,
    nodeIps: input.nodeIPs,
    interfaceIps: input.hostInterfaceIPs,
    dnsAddresses: input.dnsAddressesOfNodeName,
  };
  const update = nodeAddresses(facts, input.existingAddresses ?? [], input.existingAnnotations ?? {});
  const annotations = Object.keys(update.annotations).length === 0 ? {} : { annotations: update.annotations };
  return { addresses: update.addresses, ...annotations, ...(update.error === null ? {} : { error: update.error }) };
}

function machine(input: Machine): unknown {
  const { maxPods, podsPerCore, nodeName } = input;
  const facts = input.machine === null ? null : { cpus: input.machine.cpus, memoryBytes: input.machine.memoryBytes, hugePages: input.machine.hugepages ?? [] };
  const resources = nodeResources(
    { capacity: input.existingCapacity ?? {}, allocatable: input.existingAllocatable ?? {} },
    {
      ...{ machine: facts, maxPods, podsPerCore, reservation: input.reservation ?? {} },
      ephemeralStorage: input.localStorageCapacityIsolation ? (input.rootFilesystemCapacity ?? null) : null,
      devices: { capacity: input.deviceCapacity ?? {}, allocatable: input.deviceAllocatable ?? {}, removed: input.removedDeviceResources ?? [] },
    },
  );
  const memory = newNodeStatusMemory();
  const events: NodeEvent[] = [];
  const existing = input.existingBootID ?? '';
  const infos = Array.from({ length: input.machine === null ? 0 : (input.calls ?? 1) }, (_, call) => {
    const { bootID: bootId = '', machineID: machineId = '', systemUUID: systemUuid = '', swapBytes = 0 } = input.machine ?? {};
    // From the second call on the Node names another boot.
    events.push(...rebootEvents(nodeName, call === 0 ? existing : `${bootId}-${call}`, bootId, memory));
    return withMachineIds({}, { machineId, systemUuid, bootId, swapBytes });
  });
  const { swap, ...ids } = infos[0] ?? { machineID: '', systemUUID: '', bootID: existing };
  const nodeInfo = swap === undefined ? ids : { ...ids, swapCapacity: (swap as { readonly capacity: number }).capacity };
  return { ...resources, nodeInfo, events };
}

function images(input: Images): unknown {
  if ((input.listError ?? '') !== '') return { images: null, error: `error getting image list: ${input.listError}` };
  const listed = nodeImages(
    input.images.map(({ id, sizeBytes, repoTags = [], repoDigests = [] }) => ({ id, sizeBytes, repoTags, repoDigests })),
    input.nodeStatusMaxImages,
  );
  return { images: listed.length === 0 ? null : listed };
}

/** Changes of conditions in a patch come in any order: `$setElementOrder` says which one the result has. */
function withSortedConditions(value: unknown): unknown {
  if (!isObject(value) || !isObject(value.patch) || !isObject(value.patch.status)) return value;
  const status = value.patch.status;
  if (!Array.isArray(status.conditions)) return value;
  const sorted = [...(status.conditions as { type: string }[])].sort((a, b) => (String(a.type) < String(b.type) ? -1 : 1));
  return { ...value, patch: { ...value.patch, status: { ...status, conditions: sorted } } };
}

export const driver: VectorDriver = {
  run(input: Conditions | Report | Patch | Register | Addresses | Machine | Images) {
    switch (input.kind) {
      case 'conditions':
        return conditions(input);
      case 'report':
        return report(input);
      case 'patch':
        return patch(input);
      case 'register':
        return register(input);
      case 'addresses':
        return addresses(input);
      case 'machine':
        return machine(input);
      case 'images':
        return images(input);
    }
  },
  compare(got: unknown, want: Json): Difference[] {
    return differences(withSortedConditions(got), withSortedConditions(want));
  },
};
