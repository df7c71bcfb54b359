// The agent of one node as a machine: routes events, answers and wake-ups to its parts, then lets the periodic parts plan.
// The parts are functions over one state; their order here is part of the contract.
import type { AgentOperations } from '../../ports/outbound/outbound-ports.js';
import { draFileAddress } from '../dra-manager/dra-state.js';
import { credentialPluginMachine, imageMachine, imageStoreAddress } from '../images/image-context.js';
import { imageReplied } from '../images/image-manager.js';
import { askForImages, credentialPluginReplied, imageStoreReplied, startImageStore } from '../images/image-store.js';
import { assert } from '../kernel/assert.js';
import type { Machine, Reply, Turn, Wake } from '../kernel/machine.js';
import { mergeSet } from '../pod-sources/pod-config.js';
import { claimWoken } from '../volume-manager/desired-volumes.js';
import { beginSurvey, surveyAddress } from '../volume-manager/found-volumes.js';
import { claimMachine, volumeMachine } from '../volume-manager/volume-manager-state.js';
import { volumeWoken } from '../volume-manager/volume-operations.js';
import { adopted, releasedSets } from './adopted-pods.js';
import { AgentContext } from './agent-context.js';
import type { AgentEvent, AgentState } from './agent-state.js';
import { allocationMachine, allocationReplied, planAllocationFiles, readAllocation } from './allocation-files.js';
import {
  idleObjects,
  objectMachine,
  objectReplied,
  pluginDataReplied,
  pluginTokenMachine,
  releaseIdleObjects,
  serviceAccountMachine,
  tokenDue,
  tokenMachine,
  tokenRefreshMachine,
  tokenReplied,
} from './api-data.js';
import { apiReplied, apiSaw, apiWoken, beginApiObjects } from './api-objects.js';
import { apiParts } from './api-owners.js';
import { beginCgroupLook, cgroupLookReplied, planCgroupLook } from './cgroup-look.js';
import { planClaimFile, takeClaimReply } from './claim-upkeep.js';
import { claimsAddress } from './claims.js';
import { beginCollection, collectionReplied, planCollection } from './collection.js';
import { cpuReconcileAddress, cpuUpdateMachine, cpuUpdateReplied, planCpuReconcile } from './cpu-reconcile.js';
import { deletorReplied } from './dead-containers.js';
import { forgetFinishedPods } from './ended-pods.js';
import { evictionAddress, evictionReplied, evictionWoken, planEviction } from './eviction.js';
import { beginHousekeeping, housekeepingReplied, planHousekeeping } from './housekeeping.js';
import { beginImageCollection, imageCollectionAddress, imageCollectionReplied, planImageCollection } from './image-collection.js';
import { podEndWoken } from './kept-pods.js';
import { beginLogRotation, logRotationMachine, logRotationReplied, planLogRotation } from './log-rotation.js';
import { beginLooks, beginRelist, looksAddress, podRelistDue, podRelistMachine, requestPodRelist } from './looks.js';
import { mirrorReplied, mirrorWoken } from './mirror-pods.js';
import { nodeCgroupMachine, nodeCgroupReplied, nodeCgroupsWoken, planNodeCgroups } from './node-cgroups.js';
import { beginNodeShutdown, nodeShutdownAddress, nodeShutdownReplied, nodeShutdownWoken, planNodeShutdown, shutdownSignalled, shutdownSignalsLost } from './node-shutdown.js';
import { recordOomKill, warnOfNode } from './node-warnings.js';
import { beginObservedTimes, observedTimesAddress, observedTimesReplied, planObservedTimes } from './observed-times.js';
import { orphanMachine, orphanReplied } from './orphan-directories.js';
import { beginPlugins, pluginSocketsChanged, takePluginReply, takePluginWake } from './plugins.js';
import { endRefused, takePodsWhosePreemptionIsDone } from './pod-admission.js';
import { certificateStepReplied, certificateWoken, podCertificateMachine } from './pod-certificates.js';
import { uidOf } from './pod-index.js';
import { operationHookReplied, operationReplied, operationWoken } from './pod-operations.js';
import { syncLoopAddress } from './pod-pace.js';
import { setReadyToStartContainers } from './pod-statuses.js';
import { probeReplied, probeWoken } from './probing.js';
import { relistReplied } from './relist.js';
import { allocationWoken, beginResizes, planResizes } from './resizes.js';
import { withRuntimeFacts } from './runtime-facts.js';
import { pollStatus, runtimeReplied } from './runtime-poll.js';
import { beginSetAside, planSetAsideFile, setAsideMachine, setAsideReplied, setAsideWoken, withoutAside } from './set-aside.js';
import { planStateFiles, stateFileMachine, stateFileReplied } from './state-files.js';
import { planStatusWrites, statusWriteReplied, statusWriteWoken } from './status-writes.js';
import { subjectOf } from './step-subject.js';
import { admitAgain, admitReplied, deliver, deliverReturned, drain, goOn, syncPods } from './sync-loop.js';
import { recordVolumeAbnormal, settleVolumes, takeVolumeReply } from './volumes.js';
import { noteWallClock } from './wall-clock.js';
import { withEffects } from './worker-effects.js';

export type AgentInput = AgentEvent | Reply<AgentOperations> | Wake;

/** Makes the machine for a state; the two belong together for the state's life. */
export function agentMachine(state: AgentState): Machine<AgentState, AgentEvent, AgentOperations> {
  const context = new AgentContext(state, apiParts);
  return {
    step(given: AgentState, input: AgentInput, turn: Turn<AgentOperations>): void {
      assert(given === state, 'an agent is stepped with a state that is not its own');
      context.begin(turn);
      noteWallClock(context);
      state.subject = subjectOf(state, input);
      take(context, withoutAside(state, input));
      state.subject = null;
      deliverReturned(context);
      goOn(context);
      forgetFinishedPods(context);
      settleVolumes(context);
      endRefused(context);
      for (const pod of takePodsWhosePreemptionIsDone(context)) context.forPod(uidOf(pod), () => admitAgain(context, pod));
      planHousekeeping(context);
      planCollection(context);
      planImageCollection(context);
      planEviction(context);
      planNodeShutdown(context);
      planLogRotation(context);
      planCgroupLook(context);
      planNodeCgroups(context);
      setReadyToStartContainers(context);
      planStatusWrites(context);
      planCpuReconcile(context);
      planStateFiles(context);
      planClaimFile(context);
      planResizes(context);
      planAllocationFiles(context);
      planSetAsideFile(context);
      planObservedTimes(context);
    },
  };
}

function take(context: AgentContext, input: AgentInput): void {
  switch (input.type) {
    case 'reply':
      replied(context, input);
      return;
    case 'wake':
      woken(context, input);
      return;
    case 'start':
      Object.assign(context.state, { startedAt: context.turn.now, startedWall: context.turn.wall, loopEnteredAt: context.turn.now });
      warnOfNode(context, null);
      beginSetAside(context);
      beginObservedTimes(context);
      pollStatus(context);
      beginRelist(context);
      startImageStore(context);
      beginSurvey(context.state.volumes, context);
      beginApiObjects(context);
      beginPlugins(context);
      readAllocation(context);
      beginResizes(context);
      beginNodeShutdown(context);
      return;
    case 'api-watch':
      apiSaw(context, input);
      return;
    case 'plugin-sockets-changed':
      pluginSocketsChanged(context);
      return;
    case 'podSet':
      podSet(context, input);
      return;
    case 'runtimeChanged':
      for (const uid of input.uids) requestPodRelist(context, uid);
      return;
    case 'runtimeChangesLost':
      beginRelist(context);
      return;
    case 'pullSecrets':
      context.state.pullSecrets = new Map(input.secrets.map((secret) => [`${secret.metadata.namespace ?? ''}/${secret.metadata.name}`, secret]));
      return;
    case 'shutdown-signal':
      shutdownSignalled(context, input.active);
      return;
    case 'shutdown-signals-lost':
      shutdownSignalsLost(context);
      return;
    case 'oomKill':
      recordOomKill(context, input.kill);
      return;
    case 'volumeAbnormal':
      recordVolumeAbnormal(context, input);
      return;
    case 'nodeFacts': {
      const before = context.state.nodeFacts;
      context.state.nodeFacts = withRuntimeFacts(context.state, input.facts);
      warnOfNode(context, before);
      syncPods(context, context.state.pods.pods.keys());
      return;
    }
  }
}

function podSet(context: AgentContext, { source, pods }: Pick<Extract<AgentEvent, { type: 'podSet' }>, 'source' | 'pods'>): void {
  // An API source sends changes; an empty set withdraws its pods.
  if (source === 'api' && context.state.api !== null) context.state.api.withdrawn = true;
  const run = adopted(context, source, pods);
  if (run === null) return;
  const { deliveries, events } = mergeSet(context.state.config, source, run, context.turn.wall);
  for (const event of events) context.turn.tell('events.record', event);
  deliver(context, deliveries);
}

function replied(context: AgentContext, reply: Reply<AgentOperations>): void {
  const { machine, key } = reply.address;
  switch (machine) {
    case 'pod':
      withEffects(context, (effects) => operationReplied(context, key, reply, effects));
      return;
    case 'relist':
      relistReplied(context, reply);
      for (const [source, pods] of releasedSets(context)) podSet(context, { source, pods });
      drain(context);
      return;
    case 'runtime':
      runtimeReplied(context, reply);
      drain(context);
      return;
    case 'hook':
      withEffects(context, (effects) => operationHookReplied(context, key, reply, effects));
      return;
    case imageMachine:
      imageReplied(context, Number(key), reply);
      return;
    case imageStoreAddress.machine:
      imageStoreReplied(context, reply);
      return;
    case credentialPluginMachine:
      credentialPluginReplied(context, key, reply);
      return;
    case 'probe':
      probeReplied(context, key, reply);
      return;
    case 'reflector':
      apiReplied(context, key, reply);
      return;
    case 'status-write':
      statusWriteReplied(context, key, reply);
      return;
    case 'mirror':
      mirrorReplied(context, key, reply);
      return;
    case 'admission':
      admitReplied(context, key, reply);
      return;
    case objectMachine:
      objectReplied(context, key, reply);
      return;
    case tokenMachine:
      tokenReplied(context, key, reply);
      return;
    case pluginTokenMachine:
    case serviceAccountMachine:
      pluginDataReplied(context, reply);
      return;
    case podCertificateMachine:
      certificateStepReplied(context, key, reply);
      return;
    case 'housekeeping':
      housekeepingReplied(context, reply);
      return;
    case orphanMachine:
      orphanReplied(context, key, reply);
      return;
    default:
      if (!takeVolumeReply(context, reply) && !takePluginReply(context, reply) && !takeClaimReply(context, reply)) upkeepReplied(context, reply);
  }
}
/** Replies of the parts for cleanup and node upkeep. */
function upkeepReplied(context: AgentContext, reply: Reply<AgentOperations>): void {
  const { machine } = reply.address;
  switch (machine) {
    case 'collection':
      collectionReplied(context, reply);
      return;
    case imageCollectionAddress.machine:
      imageCollectionReplied(context, reply);
      return;
    case logRotationMachine:
      logRotationReplied(context, reply);
      return;
    case evictionAddress.machine:
      evictionReplied(context, reply);
      return;
    case nodeShutdownAddress.machine:
      nodeShutdownReplied(context, reply);
      return;
    case 'cgroups':
      cgroupLookReplied(context, reply);
      return;
    case nodeCgroupMachine:
      nodeCgroupReplied(context, reply.address.key, reply);
      return;
    case 'deletor':
      deletorReplied(context, reply);
      return;
    case setAsideMachine:
      setAsideReplied(context, reply);
      return;
    case observedTimesAddress.machine:
      observedTimesReplied(context, reply);
      return;
    case stateFileMachine:
      stateFileReplied(context, reply.address.key, reply);
      return;
    case allocationMachine:
      if (allocationReplied(context, reply.address.key, reply)) drain(context);
      return;
    case cpuUpdateMachine:
      cpuUpdateReplied(context, reply.address.key, reply);
      return;
    default:
      assert(false, `an answer came for an unknown address: ${machine}`);
  }
}
function woken(context: AgentContext, { address }: Wake): void {
  switch (address.machine) {
    case 'sync':
      syncPods(context, [address.key]);
      return;
    case syncLoopAddress.machine:
    case claimsAddress.machine:
      drain(context);
      return;
    case 'pod':
      withEffects(context, (effects) => operationWoken(context, address.key, effects));
      return;
    case volumeMachine:
      volumeWoken(context.state.volumes, address.key, context);
      return;
    case claimMachine:
      claimWoken(context.state.volumes, address.key, context);
      return;
    case surveyAddress.machine:
      beginSurvey(context.state.volumes, context);
      return;
    case 'probe':
      probeWoken(context, address.key);
      return;
    case 'reflector':
      apiWoken(context, address.key);
      return;
    case 'status-write':
    case 'status-writes':
    case 'status-writes-rest':
      statusWriteWoken(context, address);
      return;
    case 'mirror':
      mirrorWoken(context, address.key);
      return;
    case idleObjects.machine:
      releaseIdleObjects(context);
      return;
    case tokenRefreshMachine:
      tokenDue(context, address.key);
      return;
    case podRelistMachine:
      podRelistDue(context, address.key);
      return;
    case allocationMachine:
      allocationWoken(context, address.key);
      return;
    case podCertificateMachine:
      certificateWoken(context, address.key);
      return;
    case setAsideMachine:
      setAsideWoken(context, address.key);
      return;
    default:
      if (!wokenForAll(context, address.machine) && !podEndWoken(context, address)) assert(takePluginWake(context, address), `an unknown address was woken: ${address.machine}`);
  }
}
/** Wake-ups that concern all pods. False: none of these. */
function wokenForAll(context: AgentContext, machine: string): boolean {
  switch (machine) {
    case 'relist':
      beginRelist(context);
      return true;
    case looksAddress.machine:
      beginLooks(context);
      return true;
    case 'runtime':
      pollStatus(context);
      return true;
    case 'cgroups':
      beginCgroupLook(context);
      return true;
    case nodeCgroupMachine:
      nodeCgroupsWoken(context.state);
      return true;
    // Handled at the end of each step.
    case stateFileMachine:
    case cpuReconcileAddress.machine:
    case draFileAddress.machine:
    case observedTimesAddress.machine:
      return true;
    case imageStoreAddress.machine:
      askForImages(context);
      return true;
    case 'housekeeping':
      beginHousekeeping(context);
      return true;
    case 'collection':
      beginCollection(context);
      return true;
    case imageCollectionAddress.machine:
      beginImageCollection(context);
      return true;
    case evictionAddress.machine:
      evictionWoken(context);
      return true;
    case nodeShutdownAddress.machine:
      nodeShutdownWoken(context);
      return true;
    case logRotationMachine:
      beginLogRotation(context);
      return true;
    default:
      return false;
  }
}
