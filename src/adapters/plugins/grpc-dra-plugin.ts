// DRA drivers over gRPC.
import type { Call, PortOf } from '../../ports/operation.js';
import type { DraCall, DraPluginOperations } from '../../ports/outbound/dra-plugin.js';
import { DRAPluginService } from './gen/dra-v1.js';
import { callPlugin } from './plugin-calls.js';

/** The Go kubelet's limit for each call. */
const timeoutMillis = 45_000;

export class GrpcDraPlugin implements PortOf<DraPluginOperations> {
  async prepare({ endpoint, claims }: DraCall, call: Call): Promise<DraPluginOperations['prepare']['reply']> {
    const method = DRAPluginService.nodePrepareResources;
    const answer = await callPlugin({ method, socket: endpoint, request: { claims: [...claims] }, timeoutMillis, operation: 'draPlugin.prepare' }, call);
    const entries = Object.entries(answer.claims).map(([uid, { devices, error }]) => {
      const named = devices.map(({ requestNames, poolName, deviceName, cdiDeviceIds, shareId = null }) => ({ requestNames, poolName, deviceName, cdiDeviceIds, shareId }));
      return [uid, { devices: named, error }] as const;
    });
    return { claims: new Map(entries) };
  }

  async unprepare({ endpoint, claims }: DraCall, call: Call): Promise<DraPluginOperations['unprepare']['reply']> {
    const method = DRAPluginService.nodeUnprepareResources;
    const answer = await callPlugin({ method, socket: endpoint, request: { claims: [...claims] }, timeoutMillis, operation: 'draPlugin.unprepare' }, call);
    return { claims: new Map(Object.entries(answer.claims).map(([uid, { error }]) => [uid, error])) };
  }
}
