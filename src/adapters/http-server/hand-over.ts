// Passes an upgrade to the runtime's streaming server: unchanged, or translated for a server that speaks SPDY.
// Invariant: the target, which admits every client that knows it, is never part of an answer.
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { translateCommand, tunnelSpdy } from '../streaming/index.js';
import type { ProxyAnswer } from './kubelet-routes.js';
import { answerOnSocket, type ProxyLimits, proxyUpgrade } from './upgrade-proxy.js';

/** Resolves when both connections are closed. */
export async function handOver(request: IncomingMessage, socket: Socket, head: Buffer, { target, translation }: ProxyAnswer, limits: ProxyLimits): Promise<void> {
  if (translation === undefined) {
    await proxyUpgrade(request, socket, head, target, {}, limits);
    return;
  }
  const dial = { answerMillis: limits.answerMillis };
  if (translation.kind === 'command') {
    await translateCommand(request, socket, head, target, translation.wishes, dial);
    return;
  }
  const refused = await tunnelSpdy(request, socket, head, target, dial);
  if (refused !== null) answerOnSocket(socket, { status: refused.status, headers: { 'Content-Type': refused.contentType }, body: refused.body });
}
