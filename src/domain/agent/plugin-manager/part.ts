// Plugins that register themselves by a socket, and the CSINode.
import { csiNodeOperations } from '../../plugins/csi-node-keeper.js';
import { csiNodeAnswered, ensureCsiNode, pluginOperations, pluginReplied, pluginsScanned, pluginWoken, scanPlugins } from '../../plugins/plugin-manager.js';
import { csiNodeAddress, pluginMachine, pluginScanAddress } from '../../plugins/plugin-manager-state.js';
import { type AgentPart, repliesTo } from '../part.js';
import { beginPlugins, pluginContext } from './plugins.js';

/** `pkg/kubelet/pluginmanager`, and the CSINode of the CSI plugin. */
export const pluginManager: AgentPart<'pluginManager'> = {
  name: 'pluginManager',
  start: beginPlugins,
  events: { 'plugin-sockets-changed': beginPlugins },
  machines: {
    [pluginScanAddress.machine]: {
      replies: { 'pluginSockets.scan': (context, _key, answer) => pluginsScanned(context.state.plugins, answer, pluginContext(context)) },
      woken: (context) => scanPlugins(context.state.plugins, pluginContext(context)),
    },
    [pluginMachine]: {
      replies: repliesTo(pluginOperations, (context, socket, answer) => pluginReplied(context.state.plugins, socket, answer, pluginContext(context))),
      woken: (context, socket) => pluginWoken(context.state.plugins, socket, pluginContext(context)),
    },
    [csiNodeAddress.machine]: {
      replies: repliesTo(csiNodeOperations, (context, _key, answer) => csiNodeAnswered(context.state.plugins, answer, pluginContext(context))),
      woken: (context) => ensureCsiNode(context.state.plugins, pluginContext(context)),
    },
  },
};
