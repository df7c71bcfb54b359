import { decideCrashLoop } from '../../../src/domain/backoff/crash-loop-backoff.js';
import { newKeyedBackoff } from '../../../src/domain/backoff/keyed-backoff.js';
import type { Container } from '../../../src/ports/model/container.js';
import type { Pod } from '../../../src/ports/model/pod.js';
import type { VectorDriver } from '../driver.js';

interface Input {
  readonly baseSeconds: number;
  readonly maxSeconds: number;
  readonly steps: readonly {
    readonly atSeconds: number;
    readonly container: string;
    readonly newestExitedFinishedAtSeconds?: number;
    readonly image?: string;
    readonly cpuLimit?: string;
    readonly podUid?: string;
  }[];
}

const second = 1_000_000;

export const driver: VectorDriver = {
  run({ baseSeconds, maxSeconds, steps }: Input) {
    const table = newKeyedBackoff(baseSeconds * second, maxSeconds * second);
    return {
      steps: steps.map((step) => {
        const container: Container = {
          name: step.container,
          image: step.image ?? 'app:1',
          ...(step.cpuLimit === undefined ? {} : { resources: { limits: { cpu: step.cpuLimit } } }),
        };
        const pod: Pod = { metadata: { name: 'p', namespace: 'n', uid: step.podUid ?? 'u' }, spec: { containers: [container] } };
        const finishedAt = step.newestExitedFinishedAtSeconds === undefined ? null : step.newestExitedFinishedAtSeconds * second;
        const decision = decideCrashLoop(table, pod, container, finishedAt, step.atSeconds * second);
        if (decision.kind === 'start') return { inBackoff: false, events: [] };
        const { event, message } = decision;
        return { inBackoff: true, message, retryAtSeconds: decision.retryAt / second, events: [`${event.type} ${event.reason} ${event.message}`] };
      }),
    };
  },
};
