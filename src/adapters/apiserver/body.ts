// Bodies of answers: read up to a limit; large ones are parsed in slices, so that they don't block other work.
import { setImmediate as turn } from 'node:timers/promises';
import type { Answer } from './answer.js';
import { ListScanner } from './list-scanner.js';

/** etcd takes objects of 1.5 MiB, an apiserver requests of 3 MiB. */
export const objectBytesMax = 16 * 1024 * 1024;
/** Of one list, or one page of it. In memory it takes about three times as much. */
const listBytesMax = 256 * 1024 * 1024;
/** Parsing this much takes a few milliseconds. */
const atOnceBytes = 128 * 1024;
/** Own work without letting others have the loop. */
const sliceMillis = 4;

/** The answer exceeds the limit. */
export class TooLarge extends Error {}

/** The answer is malformed. */
export class NotJson extends Error {}

/** Gives others the loop when a slice of time is used up. */
export class Slices {
  private begun = performance.now();

  async pass(): Promise<void> {
    if (performance.now() - this.begun < sliceMillis) return;
    await turn();
    this.begun = performance.now();
  }
}

const bytesOfBodies = new WeakMap<Answer, number>();

/** How large a body was that `textOf` or `listOf` has read to its end; null: none was. */
export function bytesRead(response: Answer): number | null {
  return bytesOfBodies.get(response) ?? null;
}

/** The text of a body; throws TooLarge beyond the limit. */
export async function textOf(response: Answer, bytesMax: number): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response) {
    bytes += chunk.length;
    if (bytes > bytesMax) {
      response.destroy();
      throw new TooLarge(`the answer is larger than ${bytesMax} bytes`);
    }
    chunks.push(chunk);
  }
  bytesOfBodies.set(response, bytes);
  return (chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, bytes)).toString('utf8');
}

/** The beginning of a body, for error messages only. Never throws. */
export async function excerptOf(response: Answer): Promise<string> {
  try {
    return await textOf(response, atOnceBytes);
  } catch {
    return '';
  }
}

export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new NotJson("couldn't decode the answer: it is no JSON");
  }
}

/** A list whose items are parsed as they come in. */
export async function listOf(response: Answer): Promise<unknown> {
  const early: Buffer[] = [];
  const slices = new Slices();
  let scanner: ListScanner | null = null;
  let bytes = 0;
  for await (const chunk of response) {
    bytes += chunk.length;
    if (bytes > listBytesMax) {
      response.destroy();
      throw new TooLarge(`the list is larger than ${listBytesMax} bytes: it has to be asked for in pages`);
    }
    if (scanner === null) {
      early.push(chunk);
      if (bytes <= atOnceBytes) continue;
      scanner = new ListScanner();
      for (const before of early) {
        scanner.take(before);
        await slices.pass();
      }
      early.length = 0;
    } else {
      scanner.take(chunk);
      await slices.pass();
    }
  }
  bytesOfBodies.set(response, bytes);
  if (scanner === null) return parsedJson(Buffer.concat(early, bytes).toString('utf8'));
  const list = scanner.end();
  if (list === null) throw new NotJson("couldn't decode the answer: it is no JSON list");
  return list;
}
