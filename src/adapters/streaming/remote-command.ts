// The server's side of a command's streams: WebSocket channels with each version of the remote command protocol (spec/containers-and-cri.md, 18).
// The table has the protocols over SPDY, too, which only the mock runtime serves.
//
// | protocol | error stream                                         | terminal sizes | end of input                            |
// |----------|------------------------------------------------------|----------------|-----------------------------------------|
// | v1, v2   | a text, when it failed                               | no             | SPDY: end of the stream; WebSocket: none |
// | v3       | the same                                             | yes            | the same                                |
// | v4       | a Status in JSON; the exit code as a cause           | yes            | the same                                |
// | v5       | the same                                             | yes            | WebSocket, too: 255 and the channel     |
//
// Invariants: with a terminal no stderr stream is expected; the outcome is sent once, after all output.
import type { IncomingMessage } from 'node:http';
import type { Duplex, Readable, Writable } from 'node:stream';
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

export function commandVersion(protocol: string): number {
  return Number(/^v(\d)\./.exec(protocol)?.[1] ?? '1');
}

/** Resolves when the written data was sent, or never will be. */
export function ended(stream: Writable | null): Promise<void> {
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
