// Uids and generated names, drawn from the seed. Invariant: the same writes in the same order get the same ones.
import { draw, streamOf } from '../../domain/kernel/random.js';

/** Letters that make no words, as the real server's. */
const suffixLetters = 'bcdfghjklmnpqrstvwxz2456789';
const suffixLength = 5;
const variants = '89ab';

export interface IdSourceState {
  drawn: number;
}

export class IdSource {
  private readonly stream: number;

  constructor(
    seed: number,
    readonly state: IdSourceState,
  ) {
    this.stream = streamOf(seed, 'apiserver ids', '');
  }

  /** A version 4 UUID. */
  uid(): string {
    let hex = '';
    for (let i = 0; i < 4; i++)
      hex += Math.floor(this.next() * 0x1_0000_0000)
        .toString(16)
        .padStart(8, '0');
    const variant = variants[Number.parseInt(hex[16] as string, 16) & 3];
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20)}`;
  }

  suffix(): string {
    let text = '';
    for (let i = 0; i < suffixLength; i++) text += suffixLetters[Math.floor(this.next() * suffixLetters.length)];
    return text;
  }

  next(): number {
    return draw(this.stream, this.state.drawn++);
  }
}
