// The server's side of a command's streams, for each client protocol: SPDY/3.1 with v1 to v5 of the remote command protocol, or WebSocket
// channels (spec/containers-and-cri.md, 18).
//
// | protocol | error stream                                         | terminal sizes | end of input                            |
// |----------|------------------------------------------------------|----------------|-----------------------------------------|
// | v1, v2   | a text, when it failed                               | no             | SPDY: end of the stream; WebSocket: none |
// | v3       | the same                                             | yes            | the same                                |
// | v4       | a Status in JSON; the exit code as a cause           | yes            | the same                                |
// | v5       | the same                                             | yes            | WebSocket, too: 255 and the channel     |
//
// Invariants: with a terminal no stderr stream is expected; a session whose streams don't arrive within `creationMillis` ends; the outcome is
// sent once, after all output.
import type { IncomingMessage } from 'node:http';
import type { Duplex, Readable, Writable } from 'node:stream';
import { SpdyConnection } from './spdy-connection.js';
import type { SpdyStream } from './spdy-stream.js';
import { acceptChannels, type ChannelProtocol, offeredProtocols, type WebSocketChannels } from './web-socket.js';

export interface CommandWishes {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly tty: boolean;
}

export interface TerminalSize {
  readonly Width: number;
  readonly Height: number;
}

export type CommandOutcome = { readonly kind: 'exited'; readonly exitCode: number; readonly message: string } | { readonly kind: 'failed'; readonly message: string };

export interface CommandSession {
  readonly stdin: Readable | null;
  readonly stdout: Writable | null;
  readonly stderr: Writable | null;
  /** JSON, one after the other; null: the client sends none. */
  readonly resize: Readable | null;
  /** The client is gone, or the session is complete. */
  readonly closed: Promise<void>;
  /** Sends the outcome, and closes. */
  finish(outcome: CommandOutcome): Promise<void>;
}

export const commandProtocols = ['v5.channel.k8s.io', 'v4.channel.k8s.io', 'v3.channel.k8s.io', 'v2.channel.k8s.io', 'channel.k8s.io'] as const;
/** By WebSocket sub-protocol; '' for a client without one. */
export const channelProtocols: ReadonlyMap<string, ChannelProtocol> = new Map([
  ['', { base64: false, ends: false }],
  ['channel.k8s.io', { base64: false, ends: false }],
  ['base64.channel.k8s.io', { base64: true, ends: false }],
  ['v4.channel.k8s.io', { base64: false, ends: false }],
  ['v4.base64.channel.k8s.io', { base64: true, ends: false }],
  ['v5.channel.k8s.io', { base64: false, ends: true }],
]);
/** How long a client may take to make its streams. */
export const streamCreationMillis = 30_000;
/** Terminal sizes are not longer. */
const sizeBytesMax = 1024;

export function webSocketProtocol(request: IncomingMessage): string | null {
  const offered = offeredProtocols(request);
  if (offered.length === 0) return '';
  return offered.find((name) => channelProtocols.has(name)) ?? null;
}

/** null: refused, or gone. @param protocol one of `channelProtocols` */
export async function webSocketCommand(request: IncomingMessage, socket: Duplex, head: Buffer, protocol: string, wishes: CommandWishes): Promise<CommandSession | null> {
  const form = channelProtocols.get(protocol);
  if (form === undefined) throw new RangeError(`${protocol} is not spoken`);
  const channels = await acceptChannels(request, socket, head, protocol, form, 5);
  if (channels === null) return null;
  const [stdin, stdout, stderr, error, resize] = [0, 1, 2, 3, 4].map((number) => channels.channel(number)) as [Duplex, Duplex, Duplex, Duplex, Duplex];
  const taken = { stdin: wishes.stdin ? stdin : null, stdout: wishes.stdout ? stdout : null, stderr: wishes.stderr && !wishes.tty ? stderr : null };
  for (const channel of [stdin, stdout, stderr, error, resize]) if (channel !== taken.stdin && !(wishes.tty && channel === resize)) channel.resume();
  // Clients wait for a first message before they take the session for open.
  (taken.stdout ?? taken.stderr ?? error).write(Buffer.alloc(0));
  return {
    ...taken,
    resize: wishes.tty ? resize : null,
    closed: channels.closed,
    finish: (outcome) => finishChannels(channels, error, [taken.stdout, taken.stderr], outcome, /^v[45]\./.test(protocol)),
  };
}

async function finishChannels(channels: WebSocketChannels, error: Writable, outputs: readonly (Writable | null)[], outcome: CommandOutcome, inJson: boolean): Promise<void> {
  await Promise.all(outputs.map((output) => ended(output)));
  const text = outcomeText(outcome, inJson);
  if (text !== '') error.write(text);
  await ended(error);
  channels.close();
  await channels.closed;
}

/** null: the client did not create its streams in time, or is gone. @param protocol one of `commandProtocols` */
export function spdyCommand(socket: Duplex, head: Buffer, protocol: string, wishes: CommandWishes, creationMillis = streamCreationMillis): Promise<CommandSession | null> {
  const version = commandVersion(protocol);
  const expected = new Set(['error', ...(wishes.stdin ? ['stdin'] : []), ...(wishes.stdout ? ['stdout'] : []), ...(wishes.stderr && !wishes.tty ? ['stderr'] : [])]);
  if (wishes.tty && version >= 3) expected.add('resize');
  const streams = new Map<string, SpdyStream>();
  return new Promise((resolve) => {
    const connection = new SpdyConnection(
      socket,
      {
        role: 'server',
        streamsMax: 16,
        accept: (stream) => {
          const type = stream.headers.get('streamtype') ?? '';
          if (!expected.has(type) || streams.has(type)) return false;
          streams.set(type, stream);
          if (streams.size === expected.size) {
            clearTimeout(late);
            // Not before the last one is answered.
            setImmediate(() => resolve(spdySession(connection, streams, version)));
          }
          return true;
        },
      },
      head,
    );
    const late = setTimeout(() => {
      resolve(null);
      connection.close();
    }, creationMillis);
    void connection.closed.then(() => {
      clearTimeout(late);
      resolve(null);
    });
  });
}

function spdySession(connection: SpdyConnection, streams: ReadonlyMap<string, SpdyStream>, version: number): CommandSession {
  const stream = (type: string) => streams.get(type) ?? null;
  // Nothing comes on them, but for their end.
  for (const type of ['stdout', 'stderr', 'error']) stream(type)?.resume();
  return {
    stdin: stream('stdin'),
    stdout: stream('stdout'),
    stderr: stream('stderr'),
    resize: stream('resize'),
    closed: connection.closed,
    async finish(outcome) {
      await Promise.all([ended(stream('stdout')), ended(stream('stderr'))]);
      const text = outcomeText(outcome, version >= 4);
      if (text !== '') stream('error')?.write(text);
      await ended(stream('error'));
      await Promise.all([ended(stream('stdin')), ended(stream('resize'))]);
      connection.close();
      await connection.closed;
    },
  };
}

export function commandVersion(protocol: string): number {
  return Number(/^v(\d)\./.exec(protocol)?.[1] ?? '1');
}

/** Resolves when the written data was sent, or never will be. */
function ended(stream: Writable | null): Promise<void> {
  return new Promise((resolve) => {
    if (stream === null || stream.destroyed || stream.writableFinished) {
      resolve();
      return;
    }
    stream.once('finish', () => resolve());
    stream.once('close', () => resolve());
    stream.end();
  });
}

/** The text for the error stream; '' for none. */
export function outcomeText(outcome: CommandOutcome, inJson: boolean): string {
  const isSuccess = outcome.kind === 'exited' && outcome.exitCode === 0;
  if (!inJson) return isSuccess ? '' : outcomeMessage(outcome);
  const head = { metadata: {} };
  if (isSuccess) return JSON.stringify({ ...head, status: 'Success' });
  const message = outcomeMessage(outcome);
  if (outcome.kind === 'failed') {
    return JSON.stringify({ ...head, status: 'Failure', message, reason: 'InternalError', details: { causes: [{ message: outcome.message }] }, code: 500 });
  }
  const causes = [{ reason: 'ExitCode', message: String(outcome.exitCode) }];
  return JSON.stringify({ ...head, status: 'Failure', message, reason: 'NonZeroExitCode', details: { causes } });
}

function outcomeMessage(outcome: CommandOutcome): string {
  return outcome.kind === 'exited' ? `command terminated with non-zero exit code: ${outcome.message}` : `Internal error occurred: ${outcome.message}`;
}

/** Parses sizes as they arrive. A malformed one ends the stream. */
export function readSizes(resize: Readable, listener: (size: TerminalSize) => void): void {
  let text = '';
  resize.on('data', (chunk: Buffer) => {
    text += chunk.toString('utf8');
    for (let end = text.indexOf('}'); end >= 0; end = text.indexOf('}')) {
      const size = sizeOf(text.slice(0, end + 1));
      text = text.slice(end + 1);
      if (size !== null) listener(size);
    }
    if (text.length > sizeBytesMax) resize.destroy();
  });
}

function sizeOf(text: string): TerminalSize | null {
  try {
    const { Width, Height } = JSON.parse(text) as Partial<TerminalSize>;
    const isFine = (value: unknown): value is number => typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 0xffff;
    return isFine(Width) && isFine(Height) ? { Width, Height } : null;
  } catch {
    return null;
  }
}
