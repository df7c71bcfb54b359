// The view of the Go kubelet of v1.36.2, and where this project's may differ from it.
// Invariant: a family that is missing is in the list of docs/metrics.md, which test/adapters/metric-families.test.ts holds to this recording.
import { readFileSync, writeFileSync } from 'node:fs';
import { gunzipSync, gzipSync } from 'node:zlib';
import { leftOut, matches, ours } from '../../adapters/reference-metrics.js';
import type { PortView } from './port-view.js';

const metricsFile = new URL('../../../../test/reference/port.json', import.meta.url);
/** Compressed, since most of it is the same for each pod. */
const fieldsFile = new URL('../../../../test/peer/recordings/port-fields.json.gz', import.meta.url);

export function recordedPort(): PortView {
  return { ...JSON.parse(readFileSync(metricsFile, 'utf8')), ...JSON.parse(gunzipSync(readFileSync(fieldsFile)).toString('utf8')) };
}

export function recordPort({ metrics, summary, pods }: PortView): void {
  writeFileSync(metricsFile, `${JSON.stringify({ metrics }, null, 1)}\n`);
  writeFileSync(fieldsFile, gzipSync(JSON.stringify({ summary, pods }), { level: 9 }));
}

const fieldMayDiffer: readonly (readonly [path: RegExp, reason: string])[] = [
  [/\.(psi|io)(\.|$)/, 'with cgroup v1 the kernel measures no pressure: the Go kubelet shows zeros'],
  [/ status\.(allocatedResources|resources)(\.|$)/, 'a row of docs/differences.md: the cgroup of a pod without limits, and of one that has ended'],
  [/^crashes status\.containerStatuses\[\]\./, 'between two starts'],
  [/^full status\.containerStatuses\[\]\.(lastState|state)\.terminated\.(started|finished)At/, 'whether the containers of an evicted pod have ended yet'],
];

/** The Go kubelet shows them without such an object; this one from the first use on. */
const withFirstUse = new Set(['dra_operations_duration_seconds']);

/** Of the process, whose parts differ. */
const ofProcess = /^(process|nodejs|go)_/;

/** Lines on families that differ. @param shownBefore families that the Go kubelet shows for other pods and hosts */
export function familyFaults(go: PortView['metrics'], here: PortView['metrics'], shownBefore: ReadonlySet<string>): string[] {
  return Object.entries(go).flatMap(([path, families]) => {
    const shown = here[path] ?? {};
    const missing = Object.entries(families).flatMap(([name, declared]) => {
      if (ofProcess.test(name) || shown[name] === declared) return [];
      const isLeftOut = leftOut.some(([pattern]) => matches(pattern, name));
      return (isLeftOut || withFirstUse.has(name)) && shown[name] === undefined ? [] : [`${path} ${name}: go ${declared}, ours ${shown[name] ?? '(absent)'}`];
    });
    const more = Object.keys(shown).filter(
      (name) => families[name] === undefined && !ofProcess.test(name) && !shownBefore.has(`${path} ${name}`) && !ours.some(([pattern]) => matches(pattern, name)),
    );
    return [...missing, ...more.map((name) => `${path} ${name}: only ours`)];
  });
}

/** Lines on fields that differ: of each query, or of each pod that both have. */
export function fieldFaults(go: PortView['summary'], here: PortView['summary']): string[] {
  return Object.entries(go).flatMap(([name, fields]) => {
    const shown = here[name];
    if (shown === undefined) return [`${name}: go has it, ours has not`];
    const paths = [...new Set([...Object.keys(fields), ...Object.keys(shown)])].sort();
    const differ = paths.filter((path) => fields[path] !== shown[path] && !fieldMayDiffer.some(([pattern]) => pattern.test(`${name} ${path}`)));
    return differ.map((path) => `${name} ${path}: go ${fields[path] ?? '(absent)'}, ours ${shown[path] ?? '(absent)'}`);
  });
}
