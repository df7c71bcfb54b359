// Volumes of pods: mounted before their containers start, unmounted after they have ended.
import { limitReplied } from '../../volume-manager/attach-limits.js';
import { claimReplied, claimWoken } from '../../volume-manager/desired-volumes.js';
import { beginSurvey, stagedReplied, surveyAddress, surveyReplied } from '../../volume-manager/found-volumes.js';
import { releaseReplied } from '../../volume-manager/release-volumes.js';
import { claimMachine, limitMachine, releaseMachine, volumeMachine } from '../../volume-manager/volume-manager-state.js';
import { volumeReplied, volumeWoken } from '../../volume-manager/volume-operations.js';
import { requestCleanUp } from '../housekeeping/requests.js';
import type { AgentPart } from '../part.js';
import type { VolumeManagerContext } from './slice.js';
import { recordVolumeAbnormal, settleVolumes } from './volumes.js';

/** Volumes of unwanted pods are torn down. */
function cleanUpHeld({ state }: VolumeManagerContext): void {
  if (state.volumes.held.size > 0) requestCleanUp(state);
}

/** `pkg/kubelet/volumemanager`. */
export const volumeManager: AgentPart<'volumeManager'> = {
  name: 'volumeManager',
  start: (context) => beginSurvey(context.state.volumes, context),
  settle: settleVolumes,
  events: { volumeAbnormal: recordVolumeAbnormal },
  machines: {
    [volumeMachine]: {
      replied: (context, key, reply) => volumeReplied(context.state.volumes, key, reply, context),
      woken: (context, key) => volumeWoken(context.state.volumes, key, context),
    },
    [claimMachine]: {
      replies: { 'apiReader.get': (context, key, answer) => claimReplied(context.state.volumes, key, answer, context) },
      woken: (context, key) => claimWoken(context.state.volumes, key, context),
    },
    [releaseMachine]: { replies: { 'podVolumes.list': (context, key, answer) => releaseReplied(context.state.volumes, key, answer, context) } },
    [limitMachine]: { replies: { 'apiReader.get': (context, key, answer) => limitReplied(context.state.volumes, key, answer, context) } },
    [surveyAddress.machine]: {
      replies: {
        'volumeMounts.survey': (context, _key, answer) => {
          surveyReplied(context.state.volumes, answer, context);
          cleanUpHeld(context);
        },
        'csiFiles.staged': (context, _key, answer) => {
          stagedReplied(context.state.volumes, answer, context);
          cleanUpHeld(context);
        },
      },
      woken: (context) => beginSurvey(context.state.volumes, context),
    },
  },
};
