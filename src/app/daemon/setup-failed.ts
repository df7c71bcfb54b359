// Events of a start, before the agent that would record them exists; also the last one of a failed start.
// Invariant: an event delays the start or the end of the process by its own time limit at most, and never replaces a failure.

import { eventOf } from '../../domain/events/event-object.js';
import { microsPerSecond } from '../../domain/values/time.js';
import type { Instant } from '../../ports/instant.js';
import type { Micros } from '../../ports/micros.js';
import type { ApiObject } from '../../ports/model/api-object.js';
import type { PortOf } from '../../ports/operation.js';
import type { ApiWriterOperations } from '../../ports/outbound/apiserver.js';
import type { EventSinkOperations } from '../../ports/outbound/event-sink.js';
import type { Logger } from '../../ports/outbound/logger.js';

const timeLimit: Micros = 3 * microsPerSecond;

export interface EventAtStart {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

interface Teller {
  readonly nodeName: string;
  readonly wall: Instant;
  readonly log: PortOf<EventSinkOperations>;
  /** null: no apiserver. */
  readonly writer: Pick<PortOf<ApiWriterOperations>, 'create'> | null;
  readonly logger: Logger;
}

export const setupFailed = (message: string): EventAtStart => ({ type: 'Warning', reason: 'KubeletSetupFailed', message });

export async function recordAtStart(event: EventAtStart, { nodeName, wall, log, writer, logger }: Teller): Promise<void> {
  const record = { involvedObject: { apiVersion: 'v1', kind: 'Node', name: nodeName }, ...event } as const;
  const call = { signal: AbortSignal.timeout(timeLimit / 1000), timeoutMicros: timeLimit };
  await log.record(record, call);
  if (writer === null) return;
  const object = eventOf(record, nodeName, wall, 0, Math.random) as unknown as ApiObject;
  const resource = { group: '', version: 'v1', plural: 'events' };
  try {
    await writer.create({ client: 'events', resource, namespace: object.metadata.namespace ?? null, name: null, subresource: null, object }, call);
  } catch (error) {
    logger.log('error', 'Unable to write event', { reason: record.reason, err: error instanceof Error ? error.message : String(error) });
  }
}
