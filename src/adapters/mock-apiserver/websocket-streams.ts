// WebSocket clients of exec, attach and port-forward, on their way to kubelets (spec/config-and-api.md, 12), as the real server decides.
//
// | sub-protocol                | the Node declares ExtendWebSocketsToKubelet | it doesn't                                            |
// |-----------------------------|---------------------------------------------|-------------------------------------------------------|
// | v5.channel.k8s.io           | the WebSocket itself, byte by byte          | streams of SPDY; the outcome is read and repeated     |
// | SPDY/3.1+portforward.k8s.io | the same                                    | the bytes of SPDY, which the client puts into messages |
// | another one                 | the same                                    | the WebSocket itself                                  |
import type { IncomingMessage } from 'node:http';
import type { JsonObject } from '../../sim/index.js';
import { closableChannels, offeredInTunnel, offeredProtocols } from '../streaming/index.js';

const extension = 'ExtendWebSocketsToKubelet';

export type WebSocketKind = 'channels' | 'tunnel' | 'other';

/** What this server has to do for the client. `other`: pass bytes on. */
export function webSocketKind(request: IncomingMessage, subresource: string, node: JsonObject): WebSocketKind {
  const { status } = node as { readonly status?: { readonly declaredFeatures?: readonly string[] } };
  if (status?.declaredFeatures?.includes(extension) === true) return 'other';
  if (subresource === 'portforward') return offeredInTunnel(request) === null ? 'other' : 'tunnel';
  return offeredProtocols(request).includes(closableChannels) ? 'channels' : 'other';
}
