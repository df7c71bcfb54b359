// Parts for storage: volumes of pods, and plugins that register themselves.
import { csiNodeAnswered, ensureCsiNode, pluginReplied, pluginsScanned, pluginWoken, scanPlugins } from '../../plugins/plugin-manager.js';
import { csiNodeAddress, pluginMachine, pluginScanAddress } from '../../plugins/plugin-manager-state.js';
import { limitReplied } from '../../volume-manager/attach-limits.js';
import { claimReplied, claimWoken } from '../../volume-manager/desired-volumes.js';
import { beginSurvey, stagedReplied, surveyAddress, surveyReplied } from '../../volume-manager/found-volumes.js';
import { releaseReplied } from '../../volume-manager/release-volumes.js';
import { claimMachine, limitMachine, releaseMachine, volumeMachine } from '../../volume-manager/volume-manager-state.js';
import { volumeReplied, volumeWoken } from '../../volume-manager/volume-operations.js';
import type { AgentContext } from '../agent-context.js';
import type { AgentPart } from '../part.js';
import { beginPlugins, pluginContext } from '../plugins.js';
import { recordVolumeAbnormal, settleVolumes } from '../volumes.js';

/** Volumes of unwanted pods are torn down. */
function cleanUpHeld({ state: { volumes, housekeeping } }: AgentContext): void {
  if (volumes.held.size > 0) housekeeping.dirty = true;
}

/** `pkg/kubelet/volumemanager`. */
export const volumeManager: AgentPart = {
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
      replied: (context, key, reply) => claimReplied(context.state.volumes, key, reply, context),
      woken: (context, key) => claimWoken(context.state.volumes, key, context),
    },
    [releaseMachine]: { replied: (context, key, reply) => releaseReplied(context.state.volumes, key, reply, context) },
    [limitMachine]: { replied: (context, key, reply) => limitReplied(context.state.volumes, key, reply, context) },
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

/** `pkg/kubelet/pluginmanager`, and the CSINode of the CSI plugin. */
export const pluginManager: AgentPart = {
  name: 'pluginManager',
  start: beginPlugins,
  events: { 'plugin-sockets-changed': beginPlugins },
  machines: {
    [pluginScanAddress.machine]: {
      replied: (context, _key, reply) => pluginsScanned(context.state.plugins, reply, pluginContext(context)),
      woken: (context) => scanPlugins(context.state.plugins, pluginContext(context)),
    },
    [pluginMachine]: {
      replied: (context, socket, reply) => pluginReplied(context.state.plugins, socket, reply, pluginContext(context)),
      woken: (context, socket) => pluginWoken(context.state.plugins, socket, pluginContext(context)),
    },
    [csiNodeAddress.machine]: {
      replied: (context, _key, reply) => csiNodeAnswered(context.state.plugins, reply, pluginContext(context)),
      woken: (context) => ensureCsiNode(context.state.plugins, pluginContext(context)),
    },
  },
};
