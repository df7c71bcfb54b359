// Plugins that register themselves by a socket, and the CSINode.
import { csiNodeAnswered, ensureCsiNode, pluginReplied, pluginsScanned, pluginWoken, scanPlugins } from '../../plugins/plugin-manager.js';
import { csiNodeAddress, pluginMachine, pluginScanAddress } from '../../plugins/plugin-manager-state.js';
import type { AgentPart } from '../part.js';
import { beginPlugins, pluginContext } from './plugins.js';

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
