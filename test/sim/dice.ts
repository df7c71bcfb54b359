// Draws of a swarm: one stream a purpose, so that a draw that is added for one thing shifts nothing else.
import { draw, streamOf } from '../../src/domain/kernel/random.js';

/** A stream of draws for one purpose. */
export class Dice {
  private n = 0;
  private readonly stream: number;

  constructor(seed: number, purpose: string) {
    this.stream = streamOf(seed, 'swarm', purpose);
  }

  next(): number {
    return draw(this.stream, this.n++);
  }

  below(limit: number): number {
    return Math.floor(this.next() * limit);
  }

  between(least: number, most: number): number {
    return least + this.below(most - least + 1);
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  of<T>(choices: readonly T[]): T {
    return choices[this.below(choices.length)] as T;
  }
}
