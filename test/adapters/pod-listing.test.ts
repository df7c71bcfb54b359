// The list of pods without decoding unchanged parts: equal to decoding everything, after any earlier list; and safe on any bytes.
import fc from 'fast-check';
import t from 'tap';
import { criProtocol } from '../../src/adapters/cri/index.js';
import { containerLayout, walkItems } from '../../src/adapters/cri/list-items.js';
import { PodListing } from '../../src/adapters/cri/pod-listing.js';

const { Container, ContainerState, ListContainersResponse, ListPodSandboxResponse, PodSandbox, PodSandboxState } = criProtocol;

interface Thing {
  readonly n: number;
  readonly state: number;
}

/** A node with a few pods; thing `n` always belongs to the same one, and every fifth to none. */
function labelsOf(n: number): Record<string, string> {
  const pod = { 'io.kubernetes.pod.uid': `uid-${n % 3}`, 'io.kubernetes.pod.name': `pod-${n % 3}`, 'io.kubernetes.pod.namespace': 'ns' };
  return n % 5 === 4 ? { app: 'x' } : { ...pod, 'io.kubernetes.container.name': `c${n}` };
}

function sandboxBytes(things: readonly Thing[]): Buffer {
  const items = things.map(({ n, state }) => PodSandbox.fromPartial({ id: `s${n}`, metadata: { attempt: n % 4 }, state, createdAt: BigInt(n % 2) * 1_000n, labels: labelsOf(n) }));
  return Buffer.from(ListPodSandboxResponse.encode({ items }).finish());
}

function containerBytes(things: readonly Thing[]): Buffer {
  const containers = things.map(({ n, state }) =>
    Container.fromPartial({ id: `c${n}`, podSandboxId: `s${n}`, state, createdAt: BigInt(n % 2) * 1_000n, labels: labelsOf(n), imageRef: `image${n % 3}` }),
  );
  return Buffer.from(ListContainersResponse.encode({ containers }).finish());
}

const things = (states: number) => fc.uniqueArray(fc.record({ n: fc.nat(12), state: fc.nat(states) }), { selector: ({ n }) => n, maxLength: 10 });
const looks = fc.array(fc.record({ sandboxes: things(1), containers: things(3) }), { minLength: 1, maxLength: 6 });

t.test('after any looks, the list is that of the last look alone', async (t) => {
  fc.assert(
    fc.property(looks, (each) => {
      const kept = new PodListing();
      for (const { sandboxes, containers } of each) {
        const before = new Map(kept.pods.map((pod) => [pod.uid, pod]));
        const fresh = new PodListing();
        for (const listing of [kept, fresh]) listing.update(sandboxBytes(sandboxes), containerBytes(containers));
        const text = (listing: PodListing) => JSON.stringify([listing.pods, listing.foreign, [...listing.foreignImages].sort()]);
        if (text(kept) !== text(fresh)) return false;
        // Who is equal is identical, so that a look may be compared by identity.
        for (const pod of kept.pods) if (JSON.stringify(pod) === JSON.stringify(before.get(pod.uid)) && pod !== before.get(pod.uid)) return false;
      }
      return true;
    }),
    { numRuns: 500 },
  );
  t.pass();
});

t.test('order and states', async (t) => {
  const listing = new PodListing();
  listing.update(
    sandboxBytes([
      { n: 0, state: PodSandboxState.SANDBOX_READY },
      { n: 3, state: PodSandboxState.SANDBOX_NOTREADY },
    ]),
    containerBytes([
      { n: 6, state: ContainerState.CONTAINER_EXITED },
      { n: 3, state: ContainerState.CONTAINER_UNKNOWN },
      { n: 0, state: ContainerState.CONTAINER_CREATED },
    ]),
  );
  t.match(listing.pods, [
    {
      uid: 'uid-0',
      name: 'pod-0',
      namespace: 'ns',
      sandboxes: [
        { id: 's3', attempt: 3, state: 'notReady', createdAt: 1 },
        { id: 's0', attempt: 0, state: 'ready', createdAt: 0 },
      ],
      containers: [
        { id: 'c3', name: 'c3', state: 'unknown', sandboxId: 's3' },
        { id: 'c0', state: 'created' },
        { id: 'c6', state: 'exited' },
      ],
    },
  ]);
});

t.test('bytes that are no list end in an error or a list, and leave the last list alone', async (t) => {
  const good = containerBytes([{ n: 1, state: 1 }]);
  const listing = new PodListing();
  listing.update(Buffer.alloc(0), good);
  const { pods } = listing;
  for (let end = 1; end < good.length; end++) {
    t.throws(() => listing.update(Buffer.alloc(0), good.subarray(0, end)), `cut after ${end}`);
    t.equal(listing.pods, pods);
  }
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
      try {
        walkItems(Buffer.from(bytes), containerLayout, () => {});
      } catch (error) {
        return error instanceof Error;
      }
      return true;
    }),
    { numRuns: 2_000 },
  );
});

t.test('items without an id, or with that of another pod, stay with their pods', async (t) => {
  const item = (id: string, uid: string) => Container.fromPartial({ id, labels: { ...labelsOf(0), 'io.kubernetes.pod.uid': uid } });
  const bytes = (...containers: ReturnType<typeof item>[]): Buffer => Buffer.from(ListContainersResponse.encode({ containers }).finish());
  const idsIn = (listing: PodListing) => Object.fromEntries(listing.pods.map(({ uid, containers }) => [uid, containers.map(({ id }) => id)]));
  const rows = [
    [[item('', 'a'), item('', 'b'), item('c', 'b')], { a: [''], b: ['', 'c'] }],
    [[item('c', 'a'), item('c', 'b')], { a: ['c'], b: ['c'] }],
    [[item('c', 'a'), item('c', 'a')], { a: ['c'] }],
    [[item('c', 'a')], { a: ['c'] }],
  ] as const;
  const kept = new PodListing();
  for (const [items, expected] of rows) {
    for (const listing of [kept, new PodListing()]) {
      listing.update(Buffer.alloc(0), bytes(...items));
      t.strictSame(idsIn(listing), expected);
    }
  }
});
