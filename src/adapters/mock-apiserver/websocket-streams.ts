// WebSocket clients of exec, attach and port-forward, on their way to kubelets that speak SPDY (spec/config-and-api.md, 12): what the real server
// does for a node that does not declare ExtendWebSocketsToKubelet.
//
// | sub-protocol                     | to the kubelet                                                                     |
// |----------------------------------|------------------------------------------------------------------------------------|
// | v5.channel.k8s.io                | streams of SPDY, one by one; the outcome is read and said anew                      |
// | SPDY/3.1+portforward.k8s.io      | the bytes of SPDY, which the client puts into messages                              |
// | another one                      | the WebSocket itself, byte by byte                                                 |
//
// Invariants: either side's end ends the other; a slow reader holds up its writer; the client is told of a refusal in the session, where the real
// server does.
import type { IncomingMessage } from 'node:http';
import type { Duplex, Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { answerOnSocket, plainText } from '../http-server/index.js';
import {
  acceptTunnel,
  type CommandOutcome,
  type CommandSession,
  type CommandWishes,
  commandProtocols,
  commandVersion,
  dialSpdy,
  offeredProtocols,
  SpdyConnection,
  type SpdyDialOptions,
  type SpdyStream,
  spdyUpgrade,
  webSocketCommand,
} from '../streaming/index.js';

const closableChannels = 'v5.channel.k8s.io';
const tunnelPrefix = `${spdyUpgrade}+`;
/** As the real server asks whether the kubelet is there. */
const pingMillis = 5_000;
/** An outcome is not longer. */
const outcomeBytesMax = 64 * 1024;

export type WebSocketKind = 'channels' | 'tunnel' | 'other';

export function webSocketKind(request: IncomingMessage, subresource: string): WebSocketKind {
  const offered = offeredProtocols(request);
  if (subresource === 'portforward') return offered.some((name) => name.startsWith(tunnelPrefix)) ? 'tunnel' : 'other';
  return offered.includes(closableChannels) ? 'channels' : 'other';
}

/** Resolves when both ends are closed. @param url of the kubelet, with what is wished for */
export async function translateCommand(request: IncomingMessage, socket: Duplex, head: Buffer, url: URL, dial: SpdyDialOptions): Promise<void> {
  const is = (name: string) => url.searchParams.get(name) === '1';
  const wishes: CommandWishes = { stdin: is('input'), stdout: is('output'), stderr: is('error') && !is('tty'), tty: is('tty') };
  const session = await webSocketCommand(request, socket, head, closableChannels, wishes);
  if (session === null) return;
  const gone = new AbortController();
  void session.closed.then(() => gone.abort());
  const dialed = await dialSpdy(url, commandProtocols, { ...dial, signal: gone.signal });
  if (dialed.kind === 'refused') await session.finish({ kind: 'failed', message: `unable to upgrade connection: ${dialed.body.trim()}` });
  else if (dialed.kind === 'unreachable') await session.finish({ kind: 'failed', message: `error dialing backend: ${dialed.message}` });
  else {
    const connection = new SpdyConnection(dialed.socket, { role: 'client' }, dialed.head);
    const pings = setInterval(() => void connection.ping(), pingMillis);
    // A client that has gone takes its command along.
    void session.closed.then(() => connection.close());
    const outcome = await runCommand(session, connection, commandVersion(dialed.protocol || 'channel.k8s.io'), wishes).catch(
      (error: unknown): CommandOutcome => ({ kind: 'failed', message: error instanceof Error ? error.message : String(error) }),
    );
    clearInterval(pings);
    await session.finish(outcome);
    connection.close();
  }
}

async function runCommand(session: CommandSession, connection: SpdyConnection, version: number, { stdin, stdout, stderr, tty }: CommandWishes): Promise<CommandOutcome> {
  const open = (streamtype: string, wished: boolean): Promise<SpdyStream | null> => (wished ? connection.open({ streamtype }) : Promise.resolve(null));
  const error = await connection.open({ streamtype: 'error' });
  error.end();
  const said = textOf(error);
  const [input, output, errors] = [await open('stdin', stdin), await open('stdout', stdout), await open('stderr', stderr)];
  const sizes = await open('resize', tty && version >= 3);
  const toKubelet = (from: Readable | null, to: Duplex | null): void => {
    if (from === null || to === null) return;
    // The command may end before its input does.
    from.pipe(to);
    to.resume();
  };
  // By hand: what was written is to reach the client however the stream ends.
  const toClient = (from: Duplex | null, to: Writable | null): Promise<void> =>
    new Promise((resolve) => {
      if (from === null || to === null) {
        resolve();
        return;
      }
      from.end();
      for (const [stream, event] of [
        [from, 'end'],
        [from, 'close'],
        [to, 'close'],
      ] as const)
        stream.once(event, () => resolve());
      from.pipe(to, { end: false });
    });
  toKubelet(session.stdin, input);
  toKubelet(session.resize, sizes);
  await Promise.all([toClient(output, session.stdout), toClient(errors, session.stderr)]);
  return outcomeOf(await said, version);
}

/** What a client of the kubelet makes of its error stream. Before v4 any text is a failure. */
function outcomeOf(text: string, version: number): CommandOutcome {
  const success: CommandOutcome = { kind: 'exited', exitCode: 0, message: '' };
  if (text === '') return success;
  if (version < 4) return { kind: 'failed', message: `error executing remote command: ${text}` };
  const failed = (message: string): CommandOutcome => ({ kind: 'failed', message });
  let status: {
    readonly status?: string;
    readonly reason?: string;
    readonly message?: string;
    readonly details?: { readonly causes?: readonly { reason?: string; message?: string }[] };
  };
  try {
    status = JSON.parse(text) as typeof status;
  } catch {
    return failed(`error stream protocol error: invalid character in ${JSON.stringify(text.slice(0, 200))}`);
  }
  if (status.status === 'Success') return success;
  if (status.status !== 'Failure') return failed('error stream protocol error: unknown error');
  if (status.reason !== 'NonZeroExitCode') return failed(status.message ?? '');
  const code = status.details?.causes?.find(({ reason }) => reason === 'ExitCode')?.message;
  if (code === undefined) return failed('error stream protocol error: no ExitCode cause given');
  if (!/^\d{1,3}$/.test(code) || Number(code) > 255) return failed(`error stream protocol error: invalid exit code value ${JSON.stringify(code)}`);
  return { kind: 'exited', exitCode: Number(code), message: `command terminated with exit code ${code}` };
}

/** Until it ends or breaks. */
function textOf(stream: Readable): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    stream.on('data', (chunk: Buffer) => {
      if (text.length < outcomeBytesMax) text += chunk.toString('utf8');
    });
    stream.once('close', () => resolve(text));
    stream.once('end', () => resolve(text));
  });
}

/** Resolves when both ends are closed. */
export async function tunnelSpdy(request: IncomingMessage, socket: Duplex, head: Buffer, url: URL, dial: SpdyDialOptions): Promise<void> {
  const protocols = offeredProtocols(request).flatMap((name) => (name.startsWith(tunnelPrefix) ? [name.slice(tunnelPrefix.length)] : []));
  const gone = new AbortController();
  socket.once('close', () => gone.abort());
  const dialed = await dialSpdy(url, protocols, { ...dial, signal: gone.signal });
  if (dialed.kind === 'refused') {
    answerOnSocket(socket, { status: dialed.status, headers: { 'Content-Type': dialed.contentType }, body: dialed.body });
    return;
  }
  if (dialed.kind === 'unreachable') {
    answerOnSocket(socket, plainText(502, `error dialing backend: ${dialed.message}\n`));
    return;
  }
  const kubelet = dialed.socket;
  kubelet.on('error', () => kubelet.destroy());
  const tunnel = await acceptTunnel(request, socket, head, `${tunnelPrefix}${dialed.protocol}`);
  if (tunnel === null) {
    kubelet.destroy();
    return;
  }
  if (dialed.head.length > 0) tunnel.write(dialed.head);
  await Promise.all([pipeline(tunnel, kubelet), pipeline(kubelet, tunnel)]).catch(() => {});
  kubelet.destroy();
  tunnel.destroy();
}
