// The file `observed_times_state`: when pods and containers started and ended as the kubelet observed it, by CLOCK_MONOTONIC, with the boot that this clock
// belongs to. With it, a restarted kubelet doesn't depend on timestamps of a wall clock that may have been set meanwhile. The Go kubelet has no such file.
// Invariant: times of another boot, or times that have not come yet by this clock, are never used.
import type { Micros } from '../../ports/micros.js';
import { field, fieldsOf, mapOf, numberField, type Read, readJson, textField, unreadable, wholeNumber } from './checkpoint-fields.js';
import { jsonMap, jsonRecord, jsonText } from './checkpoint-text.js';

export const observedTimesFileName = 'observed_times_state';

/** Microseconds since the boot. */
export interface ObservedContainerTimes {
  readonly createdAt: Micros;
  readonly startedAt: Micros | null;
  readonly endedAt: Micros | null;
}

export interface ObservedPodTimes {
  /** null: the pod had no start time. */
  readonly start: { readonly startTime: string; readonly at: Micros } | null;
  /** By container id. */
  readonly containers: ReadonlyMap<string, ObservedContainerTimes>;
}

export interface ObservedTimes {
  readonly bootId: string;
  /** All that had happened by then is in the file; null: not known. */
  readonly upTo: Micros | null;
  /** By pod uid. */
  readonly pods: ReadonlyMap<string, ObservedPodTimes>;
}

/** A pod's entry as text. */
export function writeObservedPod({ start, containers }: ObservedPodTimes): string {
  return jsonRecord([
    ['startTime', start === null ? null : jsonText(start.startTime)],
    ['startedAt', start === null ? null : String(start.at)],
    ['containers', jsonMap(containers, ({ createdAt, startedAt, endedAt }) => `[${createdAt},${startedAt},${endedAt}]`)],
  ]);
}

/** @param pods by uid: the texts of `writeObservedPod` */
export function writeObservedTimes(bootId: string, upTo: Micros | null, pods: ReadonlyMap<string, string>): string {
  return `${jsonRecord([
    ['bootID', jsonText(bootId)],
    ['upTo', upTo === null ? null : String(upTo)],
    ['pods', jsonMap(pods, (text) => text)],
  ])}\n`;
}

/** @param now microseconds since the boot */
export function readObservedTimes(text: string, bootId: string, now: Micros): Read<ObservedTimes> {
  return readJson(text, (value) => {
    const fields = fieldsOf(value, 'observedTimes');
    const written = textField(fields, 'bootID');
    if (written === '') unreadable('bootID is missing');
    if (written !== bootId) return { bootId: written, upTo: null, pods: new Map() };
    const past = (moment: unknown, what: string): Micros => {
      const micros = wholeNumber(moment, what);
      return micros <= now ? micros : unreadable(`${what} ${micros} has not come yet: it is ${now} microseconds since the boot`);
    };
    const upTo = field(fields, 'upTo') ?? null;
    const pods = mapOf(field(fields, 'pods') ?? {}, 'pods', (pod) => podTimes(pod, past)) ?? new Map<string, ObservedPodTimes>();
    return { bootId, upTo: upTo === null ? null : past(upTo, 'upTo'), pods };
  });
}

function podTimes(value: unknown, past: (moment: unknown, what: string) => Micros): ObservedPodTimes {
  const fields = fieldsOf(value, 'pod');
  const startTime = textField(fields, 'startTime');
  const startedAt = past(numberField(fields, 'startedAt'), 'startedAt');
  const orNull = (moment: unknown, what: string): Micros | null => ((moment ?? null) === null ? null : past(moment, what));
  const containers = mapOf(field(fields, 'containers') ?? {}, 'containers', (times): ObservedContainerTimes => {
    if (!Array.isArray(times) || times.length !== 3) return unreadable('expected three times of a container');
    return { createdAt: past(times[0], 'createdAt'), startedAt: orNull(times[1], 'startedAt'), endedAt: orNull(times[2], 'endedAt') };
  });
  return { start: startTime === '' ? null : { startTime, at: startedAt }, containers: containers ?? new Map<string, ObservedContainerTimes>() };
}
