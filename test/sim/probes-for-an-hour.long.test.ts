// Hundreds of probes for an hour of virtual time: each is sent exactly at its time, and their state does not grow.

import { serialize } from 'node:v8';
import t from 'tap';
import { epochMicros, instantOf } from '../../src/domain/values/instant.js';
import { parseRfc3339 } from '../../src/domain/values/time.js';
import type { AnyChecker } from '../../src/sim/checkers/checker.js';
import { SimCluster } from '../../src/sim/index.js';
import { minute, podOf, second } from './sim-pods.js';

t.setTimeout(600_000);

const pods = 100;
/** No two of them a multiple of each other, so that their times meet in all ways. */
const probes = {
  livenessProbe: { exec: { command: ['check'] }, periodSeconds: 10, initialDelaySeconds: 25, timeoutSeconds: 5 },
  readinessProbe: { httpGet: { port: 8080, path: '/' }, periodSeconds: 7 },
};
/** Never passes, never kills: the worker that works most. */
const startupProbe = { exec: { command: ['check'] }, periodSeconds: 3, initialDelaySeconds: 4, failureThreshold: 1_000_000 };

for (const runtimeSendsEvents of [true, false]) {
  t.test(`on its time, ${runtimeSendsEvents ? 'told of changes' : 'looking for them'}`, async (t) => {
    /** When each worker asked, by its address. */
    const asked = new Map<string, number[]>();
    const recorder: AnyChecker = {
      name: 'times of probes',
      fresh: () => null,
      look(_memory, what, { now }) {
        if (what.kind !== 'command' || what.command.address.machine !== 'probe') return;
        const { key } = what.command.address;
        const times = asked.get(key);
        if (times === undefined) asked.set(key, [now]);
        else times.push(now);
      },
    };
    const cluster = new SimCluster({ seed: 11, runtimeSendsEvents, checkers: [recorder] });
    const node = cluster.node();
    for (let i = 0; i < pods; i++) {
      const pod = podOf(`p${i}`, { uid: `p${i}`, containers: { c: 'run=forever', slow: 'healthy=3h,exec=1500ms' } });
      const containers = pod.spec.containers.map((container) => ({ ...container, ...(container.name === 'c' ? probes : { startupProbe, livenessProbe: probes.livenessProbe }) }));
      node.put(`p${i}.yaml`, { ...pod, spec: { ...pod.spec, containers } });
    }
    cluster.run(10 * minute);
    const size = (): number => serialize(node.agent).length;
    const before = { size: size(), probes: serialize(node.agent.probes).length };
    cluster.run(60 * minute);
    t.equal(asked.size, 3 * pods, 'liveness, readiness and start-up; liveness of what has not started is not asked');

    const late: string[] = [];
    for (const [key, times] of asked) {
      const [kind = '', container = '', uid = ''] = key.split('/');
      const { periodSeconds: period, initialDelaySeconds: delay = 0 } =
        kind === 'startup' ? startupProbe : { initialDelaySeconds: 0, ...(kind === 'liveness' ? probes.livenessProbe : probes.readinessProbe) };
      const status = node.status(uid)?.containerStatuses?.find(({ name }) => name === container);
      const startedAt = parseRfc3339(status?.state?.running?.startedAt ?? '') ?? instantOf(Number.NaN);
      const [first = Number.NaN] = times;
      const since = first - epochMicros(startedAt);
      // A status has whole seconds.
      if (!(since >= delay * second && since < (delay + period + 1) * second)) late.push(`${key}: first after ${since / second} s`);
      if (status?.restartCount !== 0) late.push(`${key}: was started again`);
      // Readiness is asked at once, and again while the container isn't ready: periods count from the last of these.
      const steady = times.filter((time) => time > first + minute);
      for (const [i, time] of steady.entries()) {
        const previous = steady[i - 1] ?? time - period * second;
        if (time - previous !== period * second) late.push(`${key}: ${(time - previous) / second} s after the one before`);
      }
      const expected = (cluster.now - first) / (period * second);
      if (Math.abs(times.length - expected) > 2) late.push(`${key}: ${times.length} times, not ${expected}`);
    }
    t.strictSame(late, []);
    const phases = new Set([...asked].flatMap(([key, times]) => (key.startsWith('liveness') ? [(times.at(-1) ?? 0) % (10 * second)] : [])));
    t.ok(phases.size > pods / 2, `spread over the period: ${phases.size} times of ${pods} probes`);
    // The count of equal results in a row may take a byte more.
    const grown = serialize(node.agent.probes).length - before.probes;
    t.ok(grown <= asked.size, `what is kept of ${asked.size} probes: ${before.probes} bytes, and ${grown} more`);
    t.ok(size() < before.size * 1.01, `what the agent keeps: ${before.size} bytes, ${size()} an hour later`);
    t.strictSame(cluster.violations, []);
  });
}
