// The delay table, and its two users: container restarts and image pulls.

import { crashLoopKey, decideCrashLoop, newCrashLoopBackoff } from '../../../src/domain/backoff/crash-loop-backoff.js';
import { imagePullFailed, imagePullKey, imagePullSucceeded, imagePullWait, neverPullProblem, newImagePullBackoff } from '../../../src/domain/backoff/image-pull-backoff.js';
import {
  advanceBackoff,
  backoffDelay,
  collectExpiredBackoff,
  isInBackoffSinceEvent,
  isInBackoffSinceUpdate,
  newKeyedBackoff,
  resetBackoff,
} from '../../../src/domain/backoff/keyed-backoff.js';
import { beginEnsureImage } from '../../../src/domain/images/ensure-image.js';
import { formatGoDuration, parseGoDuration } from '../../../src/domain/values/go-duration.js';
import type { Container } from '../../../src/ports/model/container.js';
import type { Pod } from '../../../src/ports/model/pod.js';
import type { VectorDriver } from '../driver.js';

interface Sequence {
  readonly op: 'sequence';
  readonly initial: string;
  readonly max: string;
  readonly steps: readonly { readonly now: string; readonly do: string; readonly key?: string; readonly eventTime?: string }[];
}
interface CrashLoop {
  readonly op: 'crashLoop';
  readonly initial: string;
  readonly max: string;
  readonly steps: readonly {
    readonly now: string;
    readonly finishedAt?: string;
    readonly container: string;
    readonly image: string;
    readonly cpuRequest?: string;
    readonly podUid: string;
  }[];
}
interface ImagePull {
  readonly op: 'imagePull';
  readonly steps: readonly { readonly now: string; readonly podUid: string; readonly image: string; readonly imagePullPolicy: string; readonly pullResult: string }[];
}
interface Config {
  readonly op: 'config';
  readonly maxContainerRestartPeriod?: string;
}

const micros = (time: string): number => Date.parse(time) * 1000;
const duration = (text: string): number => parseGoDuration(text) as number;
const timeText = (time: number): string => new Date(time / 1000).toISOString().replace(/\.000Z$|(\.\d*[1-9])0*Z$/, '$1Z');

function runSequence({ initial, max, steps }: Sequence): unknown {
  const table = newKeyedBackoff(duration(initial), duration(max));
  const ask = (step: Sequence['steps'][number]): boolean | undefined => {
    const now = micros(step.now);
    const eventTime = step.eventTime === undefined ? now : micros(step.eventTime);
    const key = step.key ?? '';
    if (step.do === 'inBackOffSinceEvent') return isInBackoffSinceEvent(table, key, eventTime, now);
    if (step.do === 'inBackOffSinceUpdate') return isInBackoffSinceUpdate(table, key, eventTime);
    if (step.do === 'next') advanceBackoff(table, key, eventTime, now);
    else if (step.do === 'reset') resetBackoff(table, key);
    else if (step.do === 'collect') collectExpiredBackoff(table, now);
    else throw new Error(`unknown step ${step.do}`);
    return undefined;
  };
  return {
    steps: steps.map((step) => {
      const result = ask(step);
      return { delay: formatGoDuration(backoffDelay(table, step.key ?? '')), ...(result === undefined ? {} : { result }) };
    }),
  };
}

function runCrashLoop({ initial, max, steps }: CrashLoop): unknown {
  const table = newKeyedBackoff(duration(initial), duration(max));
  return {
    steps: steps.map((step) => {
      const container: Container = {
        name: step.container,
        image: step.image,
        ...(step.cpuRequest === undefined ? {} : { resources: { requests: { cpu: step.cpuRequest } } }),
      };
      const pod: Pod = { metadata: { name: 'web', namespace: 'default', uid: step.podUid }, spec: { containers: [container] } };
      const decision = decideCrashLoop(table, pod, container, step.finishedAt === undefined ? null : micros(step.finishedAt), micros(step.now));
      const delay = formatGoDuration(backoffDelay(table, crashLoopKey(pod, container)));
      if (decision.kind === 'start') return { start: true, delay };
      const { event, message } = decision;
      return { start: false, delay, message, event: `${event.type} ${event.reason} ${event.message}`, retryAt: timeText(decision.retryAt) };
    }),
  };
}

function runImagePull({ steps }: ImagePull): unknown {
  const backoff = newImagePullBackoff();
  const present = new Set<string>();
  return {
    steps: steps.map((step) => {
      const now = micros(step.now);
      const delay = (): string => formatGoDuration(backoffDelay(backoff.delays, imagePullKey(step.podUid, step.image)));
      if (step.imagePullPolicy !== 'Always' && present.has(step.image)) return { pulled: false, delay: delay() };
      if (step.imagePullPolicy === 'Never') return { pulled: false, delay: delay(), ...neverPullProblem(step.image) };
      const named = beginEnsureImage({ podUid: step.podUid, image: step.image, pullPolicy: step.imagePullPolicy }).run.step;
      if (named.kind === 'done' && named.outcome.kind === 'problem') return { pulled: false, delay: delay(), reason: named.outcome.reason, message: named.outcome.message };
      const wait = imagePullWait(backoff, step.podUid, step.image, now);
      if (wait !== null) return { pulled: false, delay: delay(), ...wait };
      if (step.pullResult === 'ok') {
        present.add(step.image);
        imagePullSucceeded(backoff, now);
        return { pulled: true, delay: delay() };
      }
      const problem = imagePullFailed(backoff, step.podUid, step.image, step.pullResult, now);
      return { pulled: true, delay: delay(), ...problem };
    }),
  };
}

function runConfig({ maxContainerRestartPeriod }: Config): unknown {
  const { initial, max } = newCrashLoopBackoff(maxContainerRestartPeriod === undefined ? null : duration(maxContainerRestartPeriod));
  return { initial: formatGoDuration(initial), max: formatGoDuration(max) };
}

export const driver: VectorDriver = {
  run(input: Sequence | CrashLoop | ImagePull | Config) {
    if (input.op === 'sequence') return runSequence(input);
    if (input.op === 'crashLoop') return runCrashLoop(input);
    return input.op === 'imagePull' ? runImagePull(input) : runConfig(input);
  },
};
