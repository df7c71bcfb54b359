// Plugins in the agent: when their sockets are scanned, and which parts are notified that a CSI driver can be called.
import type { CSIDriver } from '../../../ports/model/storage.js';
import { planAllocatables, updateAllocatable } from '../../plugins/csi-allocatable.js';
import type { CsiView } from '../../plugins/csi-view.js';
import { type PluginContext, pluginsNodeSeen, scanPlugins } from '../../plugins/plugin-manager.js';
import type { AgentContext } from '../agent-context.js';
import { draDriverChanged } from '../dra-manager/claims.js';
import { watchObjects } from '../reflectors/api-objects.js';
import { cachedObject } from '../reflectors/api-state.js';
import { attachLimitUpdated, csiDriverObjectsUpdated, csiDriverRegistered } from '../volume-manager/requests.js';
import { asPluginManager, type PluginManagerContext } from './slice.js';

const reflector = 'csidrivers';
const resource = { group: 'storage.k8s.io', version: 'v1', plural: reflector };

/** Starts scanning for plugins, if this agent accepts any. */
export function beginPlugins(context: PluginManagerContext): void {
  if (context.state.settings.takesPlugins) scanPlugins(context.state.plugins, pluginContext(context));
}

/** The Node was created, or has changed. */
export function pluginsNodeChanged(caller: AgentContext): void {
  const context = asPluginManager(caller);
  if (context.state.settings.takesPlugins && context.node !== null) pluginsNodeSeen(context.state.plugins, context.node.metadata.uid ?? '', pluginContext(context));
}

/** The drivers' objects are read from the first volume on that needs one. */
export function csiViewOf(caller: AgentContext): CsiView {
  const context = asPluginManager(caller);
  const { plugins } = context.state;
  return {
    driver: (name) => plugins.drivers.get(name) ?? null,
    updateAllocatable: (name) => updateAllocatable(plugins, name, pluginContext(context)),
    driverObject: (name) => {
      const { api } = context.state;
      if (api === null) return { synced: true, object: null };
      if (!api.reflectors.has(reflector)) watchObjects(context, reflector, { resource, namespace: null, fieldSelector: null, labelSelector: null });
      return { synced: api.reflectors.get(reflector)?.synced === true, object: cachedObject(api, reflector, '', name) as CSIDriver | null };
    },
  };
}

export function csiDriverObjectsChanged(caller: AgentContext): void {
  const context = asPluginManager(caller);
  csiDriverObjectsUpdated(context);
  planAllocatables(context.state.plugins, pluginContext(context));
}

export function pluginContext(context: PluginManagerContext): PluginContext {
  return {
    turn: context.turn,
    nodeName: context.nodeName,
    hasApi: context.state.api !== null,
    allocatablePeriod: (name) => csiViewOf(context).driverObject(name).object?.spec.nodeAllocatableUpdatePeriodSeconds ?? null,
    allocatableUpdated: (name) => attachLimitUpdated(context, name),
    draDriverChanged: context.state.dra === null ? null : () => draDriverChanged(context),
    driverChanged: (name) => csiDriverRegistered(context, name),
  };
}
