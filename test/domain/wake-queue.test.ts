// The kernel's wake-ups and the heap below them, held against the plainest thing that does the same: a list that is searched each time.
import fc from 'fast-check';
import t from 'tap';
import { TimeHeap } from '../../src/domain/kernel/time-heap.js';
import { WakeQueue } from '../../src/domain/kernel/wake-queue.js';

/** One time an address; ties in the order in which they were asked for. */
class PlainQueue {
  private asked: { readonly address: string; readonly at: number }[] = [];

  set(address: string, at: number | null): void {
    if (this.asked.some((one) => one.address === address && one.at === at)) return;
    this.asked = this.asked.filter((one) => one.address !== address);
    if (at !== null) this.asked.push({ address, at });
  }

  inOrder(): [string, number][] {
    return this.asked
      .map(({ address, at }, i) => ({ address, at, i }))
      .sort((a, b) => a.at - b.at || a.i - b.i)
      .map(({ address, at }) => [address, at]);
  }

  takeDue(now: number): string | null {
    const [first] = this.inOrder();
    if (first === undefined || first[1] > now) return null;
    this.set(first[0], null);
    return first[0];
  }
}

const anyStep = fc.oneof(
  { weight: 6, arbitrary: fc.record({ address: fc.nat(90), at: fc.nat(20) }) },
  { weight: 1, arbitrary: fc.record({ address: fc.nat(90), at: fc.constant(null) }) },
  { weight: 1, arbitrary: fc.record({ address: fc.constant(null), at: fc.nat(20) }) },
);

t.test('one time an address, the earliest first', async (t) => {
  const holds = fc.property(fc.array(anyStep, { maxLength: 200, size: 'max' }), (steps) => {
    const queue = new WakeQueue();
    const plain = new PlainQueue();
    for (const { address, at } of steps) {
      if (address === null) {
        if (queue.takeDue(at as number) !== plain.takeDue(at as number)) return false;
      } else {
        queue.set(`a${address}`, at);
        plain.set(`a${address}`, at);
        if (queue.at(`a${address}`) !== at) return false;
      }
      const entries = plain.inOrder();
      if (queue.nextAt() !== (entries[0]?.[1] ?? null) || queue.size !== entries.length) return false;
    }
    const entries = plain.inOrder();
    return JSON.stringify(queue.entries()) === JSON.stringify(entries) && entries.every(([address]) => queue.takeDue(20) === address) && queue.takeDue(20) === null;
  });
  t.doesNotThrow(() => fc.assert(holds, { numRuns: 30 }));
});

t.test('what was replaced does not pile up', async (t) => {
  const queue = new WakeQueue();
  const heap = () => (queue as unknown as { readonly heap: TimeHeap<string> }).heap.size;
  for (let i = 0; i < 64; i++) queue.set('a', i);
  t.equal(heap(), 64, 'few entries are left as they are');
  queue.set('a', 64);
  t.equal(heap(), 1, 'more than that, and more than twice what counts: made anew');
  for (let i = 0; i < 100; i++) queue.set(`a${i}`, i);
  t.equal(heap(), 101, 'what counts is never too much');
  for (let i = 0; i < 100; i++) queue.set(`a${i}`, i + 1_000);
  queue.set('a', 70);
  t.equal(heap(), 202, 'twice what counts is allowed');
  queue.set('a5', 5_000);
  t.equal(heap(), 101);
  t.strictSame([queue.at('a5'), queue.at('a6'), queue.at('nobody'), queue.nextAt()], [5_000, 1_006, null, 70]);
});

t.test('a heap gives back what it was given, by time and then by turn', async (t) => {
  const holds = fc.property(fc.array(fc.option(fc.nat(15), { nil: null, freq: 4 }), { maxLength: 200, size: 'max' }), (steps) => {
    const heap = new TimeHeap<number>();
    let plain: { at: number; value: number }[] = [];
    for (const [value, at] of steps.entries()) {
      if (at !== null) {
        heap.push(at, value);
        plain.push({ at, value });
      } else {
        plain.sort((a, b) => a.at - b.at || a.value - b.value);
        const first = plain[0];
        plain = plain.slice(1);
        const popped = heap.pop();
        if (popped?.value !== first?.value || popped?.at !== first?.at) return false;
      }
      if (heap.size !== plain.length || heap.contents().length !== plain.length) return false;
    }
    plain.sort((a, b) => a.at - b.at || a.value - b.value);
    const entries = heap.entries().map(({ at, value }) => ({ at, value }));
    return JSON.stringify(entries) === JSON.stringify(plain) && heap.firstValue === plain[0]?.value && heap.firstAt === (plain[0]?.at ?? Number.POSITIVE_INFINITY);
  });
  t.doesNotThrow(() => fc.assert(holds, { numRuns: 30 }));
  const heap = new TimeHeap<string>();
  t.strictSame([heap.peek(), heap.pop(), heap.firstValue, heap.firstSequence], [null, null, undefined, Number.NaN]);
  t.strictSame([heap.push(5, 'a'), heap.push(5, 'b'), heap.firstSequence], [1, 2, 1]);
  heap.drop();
  t.strictSame(heap.peek(), { at: 5, sequence: 2, value: 'b' });
});
