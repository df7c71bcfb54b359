// The mock runtime's side of a command over SPDY/3.1, with v1 to v5 of the remote command protocol.
// Invariant: a session whose streams don't arrive within `creationMillis` ends; the outcome is sent once, after all output.
import type { Duplex } from 'node:stream';
import { type CommandSession, type CommandWishes, commandVersion, ended, outcomeText, SpdyConnection, type SpdyStream } from '../../streaming/index.js';

/** How long a client may take to make its streams. */
export const streamCreationMillis = 30_000;

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
