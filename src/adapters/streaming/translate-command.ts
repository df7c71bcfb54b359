// Translates a command session of a WebSocket client (v5.channel.k8s.io) to a server that speaks SPDY (spec/config-and-api.md, 12): stream by stream; the
// outcome is parsed and sent again. The kubelet does it for its runtime, an apiserver for older kubelets.
// Invariants: either side's end ends the other; a slow reader slows its writer; a refusal is part of the session, since the client's connection is
// open by then; a server without an outcome has failed.
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex, Readable, Writable } from 'node:stream';
import { type CommandOutcome, type CommandSession, type CommandWishes, commandProtocols, commandVersion, webSocketCommand } from './remote-command.js';
import { SpdyConnection } from './spdy-connection.js';
import { dialSpdy, type SpdyDialOptions } from './spdy-dial.js';
import type { SpdyStream } from './spdy-stream.js';

/** The one sub-protocol in which a client can end its input. */
export const closableChannels = 'v5.channel.k8s.io';
/** As often as the Go kubelet checks the server; here only while it is silent. */
const pingMillis = 5_000;
/** An outcome is not longer. */
const outcomeBytesMax = 64 * 1024;

/** Resolves when both ends are closed. @param url of the server, which may admit every client that knows it */
export async function translateCommand(
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  url: URL,
  wishes: CommandWishes,
  dial: Omit<SpdyDialOptions, 'signal'>,
): Promise<void> {
  const session = await webSocketCommand(request, socket, head, closableChannels, wishes);
  if (session === null) return;
  const gone = new AbortController();
  void session.closed.then(() => gone.abort());
  const dialed = await dialSpdy(url, commandProtocols, { ...dial, signal: gone.signal });
  if (dialed.kind === 'refused') await session.finish({ kind: 'failed', message: `unable to upgrade connection: ${dialed.body.trim()}` });
  else if (dialed.kind === 'unreachable') await session.finish({ kind: 'failed', message: `error dialing backend: ${dialed.message}` });
  else {
    const connection = new SpdyConnection(dialed.socket, { role: 'client', guarded: dialed.socket as Socket }, dialed.head);
    const pings = setInterval(() => connection.isQuiet(pingMillis) && void connection.ping(), pingMillis);
    // A disconnected client ends its command.
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
  toServer(session.stdin, input);
  toServer(session.resize, sizes);
  await Promise.all([toClient(output, session.stdout), toClient(errors, session.stderr)]);
  return outcomeOf(await said, version);
}

/** The command may end before its input does; what comes then is read, so that the client's other messages come through. */
function toServer(from: Readable | null, to: Duplex | null): void {
  if (from === null || to === null) return;
  from.pipe(to);
  to.once('close', () => from.resume());
  to.resume();
}

/** Written by hand: the output must reach the client for every kind of end. */
function toClient(from: Duplex | null, to: Writable | null): Promise<void> {
  return new Promise((resolve) => {
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
}

/** A server's outcome of the command. */
export interface SaidOutcome {
  readonly text: string;
  /** Whether the server ended it: after a broken connection the missing part is unknown. */
  readonly isWhole: boolean;
}

/** A client's interpretation of the error stream. Before v4 any text is a failure and an end without one is success; since then a text is required. */
export function outcomeOf({ text, isWhole }: SaidOutcome, version: number): CommandOutcome {
  const success: CommandOutcome = { kind: 'exited', exitCode: 0, message: '' };
  const failed = (message: string): CommandOutcome => ({ kind: 'failed', message });
  if (text === '' && (version >= 4 || !isWhole)) return failed('error reading from error stream: the connection ended without an outcome of the command');
  if (text === '') return success;
  if (version < 4) return failed(`error executing remote command: ${text}`);
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

function textOf(stream: SpdyStream): Promise<SaidOutcome> {
  return new Promise((resolve) => {
    let text = '';
    const over = (): void => resolve({ text, isWhole: stream.readableEnded || stream.peerReset });
    stream.on('data', (chunk: Buffer) => {
      if (text.length < outcomeBytesMax) text += chunk.toString('utf8');
    });
    stream.once('close', over);
    stream.once('end', over);
  });
}
