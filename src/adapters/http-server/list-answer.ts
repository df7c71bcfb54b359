// Long lists as JSON, in pieces: a node's pods as one text would hold up the event loop, and be in memory three times on its way to the client.
// Invariant: the pieces together are the bytes of the whole text; in one turn of the loop at most one item more than the share of such work is written.
import { LoopShare } from '../time/index.js';
import type { HttpAnswer } from './http-answer.js';
import type { StreamAnswer } from './kubelet-routes.js';

/** Shorter lists are one text, with its length. */
const itemsAtOnce = 8;
/** Bytes, about, of a piece: each is a write to the client. */
const pieceCharacters = 32 * 1024;

/** A list's text: between the two ends, its items, as `textOf` writes each, with `separator` between them. */
export interface ListText<Item> {
  readonly before: string;
  readonly items: readonly Item[];
  readonly textOf: (item: Item) => string;
  readonly separator: string;
  readonly after: string;
}

export function listAnswer<Item>(list: ListText<Item>, headers: Readonly<Record<string, string>>): HttpAnswer | StreamAnswer {
  const { before, items, textOf, separator, after } = list;
  if (items.length <= itemsAtOnce) return { status: 200, headers, body: before + items.map(textOf).join(separator) + after };
  return { kind: 'stream', status: 200, headers, chunks: piecesOf(list), isBounded: true };
}

async function* piecesOf<Item>({ before, items, textOf, separator, after }: ListText<Item>): AsyncGenerator<Uint8Array> {
  const share = new LoopShare();
  let texts = [before];
  let length = 0;
  for (const [i, item] of items.entries()) {
    const text = textOf(item);
    texts.push(text, i === items.length - 1 ? after : separator);
    length += text.length;
    await (share.pause() ?? undefined);
    if (length < pieceCharacters) continue;
    yield Buffer.from(texts.join(''));
    // The client may have had the reading wait.
    share.begin();
    texts = [];
    length = 0;
  }
  yield Buffer.from(texts.join(''));
}
