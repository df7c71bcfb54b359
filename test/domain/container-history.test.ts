// Successive statuses, as a container is created, started, ended, lost and created again, with and without a relist in between: for all states of
// its instances, a pod whose containers have run never appears as about to begin.

import fc from 'fast-check';
import t, { type Test } from 'tap';
import { withKnownEnds } from '../../src/domain/status/known-ends.js';
import { apiPodStatus } from '../../src/domain/status/pod-status.js';
import { instantOf } from '../../src/domain/values/instant.js';
import type { Pod } from '../../src/ports/model/pod.js';
import type { ContainerState, PodStatus } from '../../src/ports/model/pod-status.js';
import type { RuntimeContainerStatus } from '../../src/ports/model/runtime-status.js';

const names = ['c', 'd'] as const;
const happenings = ['create', 'create', 'start', 'start', 'end', 'end', 'fail', 'lose', 'collect', 'remove', 'look', 'look', 'look'] as const;
interface Happening {
  readonly what: (typeof happenings)[number];
  readonly name: (typeof names)[number];
}

const happening: fc.Arbitrary<Happening> = fc.record({ what: fc.constantFrom(...happenings), name: fc.constantFrom(...names) });

class History {
  private instances: RuntimeContainerStatus[] = [];
  private readonly failing = new Set<string>();
  private made = 0;

  constructor(
    private readonly pod: Pod,
    public status: PodStatus | null = null,
  ) {}

  happen({ what, name }: Happening): void {
    const [newest, ...older] = this.instances.filter((candidate) => candidate.name === name);
    switch (what) {
      case 'create':
        if (newest?.state !== 'running') this.create(name);
        break;
      case 'start':
        if (newest?.state === 'created') this.change(newest, { state: 'running', startedAt: instantOf(2) });
        break;
      case 'end':
        if (newest?.state === 'running') this.change(newest, { state: 'exited', finishedAt: instantOf(3), exitCode: 1 });
        break;
      case 'lose':
        if (newest?.state === 'running') this.change(newest, { state: 'unknown' });
        break;
      case 'fail':
        if (newest?.state !== 'running') this.failing.add(name);
        break;
      case 'collect':
        this.instances = this.instances.filter((candidate) => candidate !== older.at(-1));
        break;
      case 'remove':
        this.instances = this.instances.filter((candidate) => candidate !== newest);
        break;
      case 'look':
        this.look();
    }
  }

  private create(name: string): void {
    const id = String(this.made++);
    const created: RuntimeContainerStatus = {
      ...{ id, sandboxId: 's', name, state: 'created', createdAt: instantOf(this.made), startedAt: null, finishedAt: null, exitCode: 0, reason: '', message: '', hash: '' },
      ...{ restartCount: 0, image: 'i', imageRef: 'i', imageId: '', resources: null, user: null },
    };
    this.instances = [created, ...this.instances];
    this.failing.delete(name);
  }

  private change(instance: RuntimeContainerStatus, change: Partial<RuntimeContainerStatus>): void {
    this.instances = this.instances.map((candidate) => (candidate === instance ? { ...candidate, ...change } : candidate));
  }

  private look(): void {
    this.status = apiPodStatus({
      pod: this.pod,
      cachedStatus: this.status,
      runtime: withKnownEnds(
        {
          ...{ uid: 'u', name: 'p', namespace: 'n', ips: [], observedAt: 0, containers: this.instances },
          sandboxes: [{ id: 's', attempt: 0, state: 'ready', networkMode: 'pod', hasNetwork: true, ip: '', createdAt: instantOf(0) }],
        },
        this.status ?? {},
      ),
      runtimeType: 'containerd',
      runtimeSupportsRecursiveReadOnly: false,
      containerStopSignals: false,
      podIsTerminal: false,
      startFailures: new Map([...this.failing].map((name) => [name, { reason: 'CreateContainerError', message: '' }])),
      probes: { readiness: new Map(), startup: new Map(), hasWorker: () => false, kubeletStartedAt: instantOf(0) },
      node: { addresses: [], configuredIps: [] },
      resizeConditions: [],
      podCgroup: { cpuShares: null, cpuQuotaMicros: null, cpuPeriodMicros: null, memoryLimitBytes: null },
      isPastDeadline: false,
    });
  }
}

const pod: fc.Arbitrary<Pod> = fc.record({ restartPolicy: fc.constantFrom('Always', 'OnFailure'), deleted: fc.boolean() }).map(({ restartPolicy, deleted }) => ({
  metadata: { name: 'p', namespace: 'n', uid: 'u', ...(deleted ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}) },
  spec: { restartPolicy, containers: names.map((name) => ({ name, image: 'i' })) },
}));

/** Both have run when it begins. */
const begun: readonly Happening[] = names.flatMap((name) => (['create', 'start', 'look'] as const).map((what) => ({ what, name })));

/** @param problemOf what is wrong with a status after the one before it; null: nothing */
function never(t: Test, problemOf: (before: PodStatus, after: PodStatus) => string | null): void {
  const property = fc.property(pod, fc.array(happening, { minLength: 5, maxLength: 40 }), (subject, happened) => {
    const history = new History(subject);
    for (const next of [...begun, ...happened]) {
      const before = history.status;
      history.happen(next);
      const problem = before === null || history.status === null ? null : problemOf(before, history.status);
      if (problem !== null) throw new Error(`${problem}: ${JSON.stringify([before, history.status])}`);
    }
  });
  const found = fc.check(property, { numRuns: 5000, seed: 1 });
  t.equal(found.failed, false, fc.defaultReportMessage(found) ?? '');
  t.end();
}

t.test('a pod that runs never falls back to Pending', (t) =>
  never(t, (before, after) => (before.phase === 'Running' && after.phase === 'Pending' ? 'Running and then Pending' : null)),
);

t.test('the last state is a termination or nothing', (t) =>
  never(
    t,
    (_before, { containerStatuses = [] }) => containerStatuses.find(({ lastState = {} }) => lastState.waiting !== undefined || lastState.running !== undefined)?.name ?? null,
  ),
);

t.test('a termination that was told stays told, until a later one', (t) =>
  never(t, (before, after) => {
    const ends = ({ containerStatuses = [] }: PodStatus): string[] =>
      containerStatuses.filter((status) => hasEnd(status.state) || hasEnd(status.lastState)).map(({ name }) => name);
    return ends(before).find((name) => !ends(after).includes(name)) ?? null;
  }),
);

function hasEnd(state: ContainerState | undefined): boolean {
  return state?.terminated !== undefined;
}
