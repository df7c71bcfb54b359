// Parts for storage: volumes of pods, and plugins that register themselves.
import { csiNodeAnswered, ensureCsiNode, pluginReplied, pluginsScanned, pluginWoken, scanPlugins } from '../../plugins/plugin-manager.js';
import { csiNodeAddress, pluginMachine, pluginScanAddress } from '../../plugins/plugin-manager-state.js';
import { limitReplied } from '../../volume-manager/attach-limits.js';
import { claimReplied, claimWoken } from '../../volume-manager/desired-volumes.js';
import { beginSurvey, surveyAddress, surveyReplied } from '../../volume-manager/found-volumes.js';
import { releaseReplied } from '../../volume-manager/release-volumes.js';
import { claimMachine, limitMachine, releaseMachine, volumeMachine } from '../../volume-manager/volume-manager-state.js';
import { volumeReplied, volumeWoken } from '../../volume-manager/volume-operations.js';
import type { AgentPart } from '../part.js';
import { beginPlugins, pluginContext } from '../plugins.js';
import { recordVolumeAbnormal, settleVolumes } from '../volumes.js';

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
      replied: (context, _key, reply) => {
        const { volumes, housekeeping } = context.state;
        surveyReplied(volumes, reply, context);
        // Volumes of unwanted pods are torn down.
        if (volumes.held.size > 0) housekeeping.dirty = true;
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
