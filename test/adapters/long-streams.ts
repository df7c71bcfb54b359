// What long streams must survive, as a table of rounds: each way, each protocol, each place, each reader, input that is closed early or late.
// Invariant: bytes are compared, and a command's outcome must be there; a round that loses a byte fails.
import type { Test } from 'tap';
import { commandStream, digestOf, type LongStream, type Protocol, portStream, type Reader, readAs, readers, writePattern } from './long-stream-clients.js';
import { type Place, places, type Sessions } from './long-stream-stand.js';
import { textOf } from './stream-client.js';

export type Way = 'output of a command' | 'input of a command' | 'a command each way' | 'an attached container each way' | 'a port each way';
export const ways: readonly Way[] = ['output of a command', 'input of a command', 'a command each way', 'an attached container each way', 'a port each way'];
export type InputEnd = 'early' | 'late';

export interface Round {
  readonly way: Way;
  readonly protocol: Protocol;
  readonly place: Place;
  readonly reader: Reader;
  readonly inputEnd: InputEnd;
}

export interface LongStreamPlan {
  readonly bytes: number;
  readonly lateMillis: number;
  /** Something echoes there. */
  readonly port: number;
}

const file = '/tmp/long';

/** Puts the bytes into the container that commands write. */
export async function prepare(t: Test, sessions: Sessions, bytes: number): Promise<void> {
  const stream = await commandStream(await sessions.exec(['sh', '-c', `head -c ${bytes} > ${file}`], wishes), 'spdy');
  stream.output.resume();
  await writePattern(stream.input, bytes);
  t.match(await stream.said, /"status":"Success"/);
  stream.close();
}

function commandOf(way: Way, bytes: number): readonly string[] {
  if (way === 'output of a command') return ['cat', file];
  return way === 'input of a command' ? ['sh', '-c', `head -c ${bytes} | sha256sum`] : ['head', '-c', String(bytes)];
}

const wishes = { stdin: true, stdout: true, stderr: false, tty: false };

/** Every way, protocol and place that go together, with readers and ends of input in turn. @param ordinal which turn */
export function roundsOf(ordinal: number, chosen: readonly Way[] = ways): readonly Round[] {
  const rounds: Round[] = [];
  for (const way of chosen) {
    for (const place of places) {
      for (const protocol of protocolsOf(way, place)) {
        const turn = rounds.length + ordinal;
        rounds.push({ way, protocol, place, reader: readers[turn % readers.length] as Reader, inputEnd: Math.floor(turn / readers.length) % 2 === 0 ? 'early' : 'late' });
      }
    }
  }
  return rounds;
}

function protocolsOf(way: Way, place: Place): readonly Protocol[] {
  if (way === 'a port each way') return place === 'runtime' ? ['spdy', 'v4'] : ['spdy', 'v4', 'tunnel'];
  // Only a client of v5 can end its input without ending the session; a runtime need not speak it.
  return place === 'runtime' ? ['spdy', 'v4'] : ['spdy', 'v4', 'v5'];
}

export async function runRound(t: Test, sessions: Sessions, round: Round, plan: LongStreamPlan): Promise<void> {
  const stream = await opened(sessions, round, plan);
  const pings = setInterval(() => stream.ping(), plan.lateMillis / 5);
  try {
    await compareStreams(t, stream, round, plan);
  } finally {
    clearInterval(pings);
    stream.close();
  }
}

async function compareStreams(t: Test, stream: LongStream, round: Round, plan: LongStreamPlan): Promise<void> {
  const { way, reader } = round;
  const writes = way !== 'output of a command';
  const written = writes ? writePattern(stream.input, plan.bytes) : Promise.resolve();
  if (round.inputEnd === 'early') void written.then(() => stream.input.end());
  const said = way.includes('command') ? stream.said : Promise.resolve(null);
  if (way === 'input of a command') t.equal(await textOf(stream.output), `${digestOf(plan.bytes)}  -\n`, name(round));
  else t.strictSame(await readAs(reader, stream.output, plan.bytes, plan.lateMillis), { bytes: plan.bytes, digest: digestOf(plan.bytes) }, name(round));
  await written;
  stream.output.resume();
  const outcome = await said;
  if (round.inputEnd === 'late') stream.input.end();
  if (outcome !== null) t.match(outcome, /"status":"Success"/, `${name(round)}: the outcome`);
}

async function opened(sessions: Sessions, { way, protocol }: Round, { bytes, port }: LongStreamPlan): Promise<LongStream> {
  if (way === 'a port each way') return portStream(await sessions.forward(protocol === 'v4' ? [port] : []), protocol, port);
  if (way === 'an attached container each way') return commandStream(await sessions.attach(wishes), protocol);
  return commandStream(await sessions.exec(commandOf(way, bytes), wishes), protocol);
}

export function name({ way, protocol, place, reader, inputEnd }: Round): string {
  return `${way}, ${protocol}, by the ${place}, reader ${reader}, input closed ${inputEnd}`;
}
