// Probe workers: the grid of states and events, thresholds, and that leaving out idle ticks changes nothing that anyone sees.

import fc from 'fast-check';
import t from 'tap';
import { execProbeOutcome } from '../../src/domain/probes/exec-probe.js';
import { grpcProbeOutcome } from '../../src/domain/probes/grpc-probe.js';
import { canonicalHeaderName, httpProbeOutcome, httpProbeRequest } from '../../src/domain/probes/http-probe.js';
import { type ProbeKind, type ProbeOutcome, probeError, probeEvent, probeResult } from '../../src/domain/probes/probe-outcome.js';
import { resolveProbePort } from '../../src/domain/probes/probe-port.js';
import {
  newProbeWorker,
  type ProbeWorker,
  probeAnswered,
  probeDue,
  probeWakeAt,
  skipMissedTicks,
  startByStamp,
  stopProbeWorker,
  triggerProbe,
} from '../../src/domain/probes/probe-worker.js';
import { redirectDecision } from '../../src/domain/values/http-redirect.js';
import { instantOf } from '../../src/domain/values/instant.js';
import { formatRfc3339 } from '../../src/domain/values/time.js';
import { utf8Length } from '../../src/domain/values/utf8.js';
import type { Probe } from '../../src/ports/model/container.js';
import type { Pod } from '../../src/ports/model/pod.js';
import type { PodStatus } from '../../src/ports/model/pod-status.js';

const second = 1_000_000;
const start = 1_700_000_000 * second;
const kinds: readonly ProbeKind[] = ['liveness', 'readiness', 'startup'];
const success = probeResult('success', 'ok');
const failure = probeResult('failure', 'bad');

function podWith(kind: ProbeKind, probe: Probe, restartPolicy = 'Always'): Pod {
  const container = { name: 'c', image: 'i', [`${kind}Probe`]: probe };
  return { metadata: { name: 'p', namespace: 'n', uid: 'u' }, spec: { containers: [container], restartPolicy } };
}

function workerOf(kind: ProbeKind, probe: Probe = {}, restartPolicy = 'Always'): ProbeWorker {
  const pod = podWith(kind, probe, restartPolicy);
  return newProbeWorker(pod, pod.spec.containers[0]!, kind, start - 3600 * second, 0, start);
}

function running(id: string, started: boolean, startedAt = start): PodStatus {
  const state = { running: { startedAt: formatRfc3339(instantOf(startedAt)) } };
  return { phase: 'Running', containerStatuses: [{ name: 'c', state, ready: false, restartCount: 0, image: 'i', imageID: '', containerID: `containerd://${id}`, started }] };
}

function exited(id: string, exitCode: number): PodStatus {
  return {
    phase: 'Running',
    containerStatuses: [{ name: 'c', state: { terminated: { exitCode } }, ready: false, restartCount: 0, image: 'i', imageID: '', containerID: `containerd://${id}` }],
  };
}

t.test('each state has an answer to each event, or refuses it as a mistake of the caller', async (t) => {
  for (const kind of kinds) {
    const status = running('a', kind !== 'startup');
    const reach: Record<ProbeWorker['state'], () => ProbeWorker> = {
      idle: () => workerOf(kind),
      probing: () => {
        const worker = workerOf(kind);
        t.equal(probeDue(worker, status, start, startByStamp).next, 'probe');
        return worker;
      },
      ended: () => {
        const worker = workerOf(kind);
        stopProbeWorker(worker);
        return worker;
      },
    };
    const events: Record<string, (worker: ProbeWorker) => void> = {
      due: (worker) => probeDue(worker, status, start, startByStamp),
      answered: (worker) => probeAnswered(worker, success),
      stopped: (worker) => stopProbeWorker(worker),
    };
    const want: Record<ProbeWorker['state'], Record<string, string>> = {
      idle: { due: 'probing', answered: 'refused', stopped: 'ended' },
      probing: { due: 'refused', answered: 'idle', stopped: 'ended' },
      ended: { due: 'ended', answered: 'ended', stopped: 'ended' },
    };
    for (const state of ['idle', 'probing', 'ended'] as const) {
      for (const [name, apply] of Object.entries(events)) {
        const worker = reach[state]();
        let outcome: string;
        try {
          apply(worker);
          outcome = worker.state;
        } catch {
          outcome = 'refused';
        }
        t.equal(outcome, want[state][name], `${kind}: ${state} + ${name}`);
      }
    }
  }
  t.throws(() => triggerProbe(workerOf('liveness'), start), 'only readiness is triggered');
  t.throws(() => newProbeWorker(podWith('liveness', {}), { name: 'c' }, 'liveness', start, 0, start), 'a worker needs a probe');
});

t.test('an error is tried three times and then counts for nothing', async (t) => {
  const worker = workerOf('liveness', { failureThreshold: 1 });
  probeDue(worker, running('a', true), start, startByStamp);
  t.equal(probeAnswered(worker, probeError('unknown', 'rpc down')).next, 'probe');
  t.equal(probeAnswered(worker, probeError('unknown', 'rpc down')).next, 'probe');
  const step = probeAnswered(worker, probeError('unknown', 'rpc down'));
  t.strictSame(step, { published: [], event: { reason: 'Unhealthy', message: 'Liveness probe errored and resulted in unknown state: rpc down' }, next: 'wait' });
  t.equal(worker.result, 'success');
});

t.test('time: the first probe, missed ticks, triggers, initial delays', async (t) => {
  const pod = podWith('readiness', { periodSeconds: 10 });
  const early = newProbeWorker(pod, pod.spec.containers[0]!, 'readiness', start - second, 0.5, start);
  t.equal(early.nextTickAt, start + 5 * second, 'soon after the start of the kubelet workers spread over their period');
  const later = (periodSeconds: number, random: number) => {
    const pod = podWith('liveness', { periodSeconds });
    const worker = newProbeWorker(pod, pod.spec.containers[0]!, 'liveness', start - 3600 * second, random, start);
    const ticks = [worker.nextTickAt];
    for (let n = 0; n < 3; n++) {
      probeDue(worker, null, worker.nextTickAt, startByStamp);
      ticks.push(worker.nextTickAt);
    }
    return ticks.map((tick) => (tick - start) / second);
  };
  t.strictSame(later(10, 0.5), [0, 10.05, 20.05, 30.05], 'later they begin at once, and what came together drifts apart by 100 ms at most');
  t.strictSame(later(10, 0), [0, 10, 20, 30]);
  t.strictSame(later(1, 0.5), [0, 1.05, 2.05, 3.05]);
  const worker = workerOf('readiness', { periodSeconds: 10 });
  const status = running('a', true);
  probeDue(worker, status, start, startByStamp);
  probeAnswered(worker, failure);
  t.equal(probeWakeAt(worker, status, start + 35 * second, startByStamp), start + 10 * second, 'one tick that fell into a long probe is due at once');
  probeDue(worker, status, start + 35 * second, startByStamp);
  t.equal(worker.nextTickAt, start + 40 * second, 'the others are dropped, the grid stays');
  triggerProbe(worker, start + 36 * second);
  probeAnswered(worker, failure);
  probeDue(worker, status, start + 36 * second, startByStamp);
  t.equal(worker.nextTickAt, start + 46 * second, 'periods count from a trigger');
  const delayed = workerOf('liveness', { periodSeconds: 10, initialDelaySeconds: 25 });
  probeDue(delayed, status, start, startByStamp);
  t.equal(probeWakeAt(delayed, status, start, startByStamp), start + 30 * second, 'ticks within the initial delay are left out');
  t.equal(probeWakeAt(workerOf('startup'), { phase: 'Running' }, start, startByStamp), null, 'without a container there is nothing to wake for');
});

t.test('the end of a worker', async (t) => {
  const rows: [string, PodStatus, string, string][] = [
    ['the pod is over', { phase: 'Succeeded' }, 'Always', 'end'],
    ['an exit that is not restarted', exited('a', 1), 'Never', 'end'],
    ['an exit that is', exited('a', 1), 'OnFailure', 'wait'],
    ['an exit while all containers restart', { ...exited('a', 1), conditions: [{ type: 'AllContainersRestarting', status: 'True' }] }, 'Never', 'wait'],
  ];
  for (const [name, status, policy, next] of rows) t.equal(probeDue(workerOf('readiness', {}, policy), status, start, startByStamp).next, next, name);
});

interface Moment {
  readonly gap: number;
  readonly status: PodStatus | null;
}
const moments = fc.array(
  fc.record({
    gap: fc.integer({ min: 1, max: 40 }),
    status: fc.oneof(
      fc.constant(null),
      fc.constant<PodStatus>({ phase: 'Running' }),
      fc
        .record({ id: fc.constantFrom('a', 'b'), started: fc.boolean(), age: fc.integer({ min: -20, max: 4000 }) })
        .map(({ id, started, age }) => running(id, started, start - age * second)),
      fc.record({ id: fc.constantFrom('a', 'b'), code: fc.constantFrom(0, 1) }).map(({ id, code }) => exited(id, code)),
    ),
  }),
  { maxLength: 12 },
);

/** What became visible, when, and how often the handler ran; ticking at each period or only when there is something to do. */
function played(worker: ProbeWorker, timeline: readonly Moment[], outcomes: readonly ProbeOutcome[], everyTick: boolean): unknown[] {
  const seen: unknown[] = [];
  let now = start;
  let turns = 0;
  const due = (status: PodStatus | null): void => {
    const step = probeDue(worker, status, now, startByStamp);
    for (const change of step.published) seen.push([now, change]);
    if (step.next !== 'probe') return;
    const answer = probeAnswered(worker, outcomes[Math.floor(now / second) % outcomes.length]!);
    seen.push([now, 'probed', answer.published]);
  };
  for (const { gap, status } of timeline) {
    const until = now + gap * second;
    for (;;) {
      skipMissedTicks(worker, now);
      const at = everyTick ? (worker.state === 'ended' ? null : worker.nextTickAt) : probeWakeAt(worker, status, now, startByStamp);
      if (at === null || at >= until) break;
      if (at < now || ++turns > 1000) throw new Error('wake-ups in the past, or without end');
      now = at;
      due(status);
    }
    now = until;
  }
  return seen;
}

t.test('leaving out idle ticks changes nothing; thresholds hold', async (t) => {
  const probes = fc.record({
    periodSeconds: fc.integer({ min: 1, max: 9 }),
    initialDelaySeconds: fc.nat(15),
    failureThreshold: fc.integer({ min: 1, max: 3 }),
    successThreshold: fc.integer({ min: 1, max: 2 }),
  });
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(fc.constantFrom(...kinds), probes, moments, fc.array(fc.constantFrom(success, failure), { minLength: 1, maxLength: 7 }), (kind, probe, timeline, outcomes) => {
        const ticked = played(workerOf(kind, probe, 'Never'), timeline, outcomes, true);
        const woken = played(workerOf(kind, probe, 'Never'), timeline, outcomes, false);
        if (JSON.stringify(ticked) !== JSON.stringify(woken)) return false;
        if (outcomes.includes(failure)) return true;
        return !(kind === 'liveness' && woken.some((entry) => JSON.stringify(entry).includes('"probed",[{"containerId"') && JSON.stringify(entry).includes('failure')));
      }),
      { numRuns: 400 },
    ),
  );
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(fc.array(fc.boolean(), { maxLength: 30 }), fc.integer({ min: 1, max: 5 }), (wells, failureThreshold) => {
        const worker = workerOf('liveness', { failureThreshold });
        let run = 0;
        for (const [i, isWell] of wells.entries()) {
          if (probeDue(worker, running('a', true), start + i * 10 * second, startByStamp).next !== 'probe') return worker.onHold;
          const { published } = probeAnswered(worker, isWell ? success : failure);
          run = isWell ? 0 : run + 1;
          if (published.length > 0 !== (run === failureThreshold)) return false;
          if (worker.onHold !== (run === failureThreshold)) return false;
        }
        return true;
      }),
    ),
  );
});

t.test('outcomes of handlers and requests', async (t) => {
  t.equal(probeEvent('readiness', success), null);
  t.strictSame(probeEvent('startup', probeResult('warning', 'w')), { reason: 'ProbeWarning', message: 'Startup probe warning: w' });
  t.strictSame(
    grpcProbeOutcome({ kind: 'dial-error', address: '10.0.0.1:9', timedOut: true, error: 'e' }, second),
    probeResult('failure', 'timeout: failed to connect service "10.0.0.1:9" within 1s: e'),
  );
  t.strictSame(
    grpcProbeOutcome({ kind: 'dial-error', address: '10.0.0.1:9', timedOut: false, error: 'e' }, second),
    probeResult('failure', 'error: failed to connect service at "10.0.0.1:9": e'),
  );
  const cut = execProbeOutcome({ kind: 'exit', exitCode: 1 }, '\u20ac'.repeat(5000));
  t.ok(cut.kind === 'result' && utf8Length(cut.output) === 10239 && !cut.output.includes('\ufffd'), 'never cut within a character');
  t.strictSame(httpProbeOutcome(204, '', null), probeResult('success', ''));
  t.equal(canonicalHeaderName('x-REQUEST-id'), 'X-Request-Id');
  t.equal(canonicalHeaderName('bad name'), 'bad name');
  t.strictSame(redirectDecision('http://[fd00::1]:80/', 'https://[fd00::1]:443/x', 1), { decision: 'follow' });
  const ports: [number | string, unknown][] = [
    ['-1', { ok: false, error: 'invalid port number: -1' }],
    ['99999999999999999999', { ok: false, error: 'strconv.Atoi: parsing "99999999999999999999": value out of range' }],
    ['web', { ok: true, value: 8080 }],
  ];
  for (const [port, want] of ports) t.strictSame(resolveProbePort(port, [{ name: 'web', containerPort: 8080 }]), want, String(port));
  const paths: [string, string][] = [
    ['/a b', '/a%20b'],
    ['/a%2Fb', '/a%2Fb'],
    ['/a b%2Fc', '/a%20b/c'],
    ['/a?', '/a?'],
    ['/a\n?b', '/a%0A%3Fb'],
    ['/\u00e9', '/%C3%A9'],
  ];
  for (const [path, want] of paths) {
    const made = httpProbeRequest({ path, port: 80 }, [], '10.0.0.1', '1.36');
    t.equal(made.ok && made.request.url, `http://10.0.0.1:80${want}`, JSON.stringify(path));
  }
});
