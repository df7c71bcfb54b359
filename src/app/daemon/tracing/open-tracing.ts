// Opens tracing if configured; otherwise none of it is loaded.

import { hostname } from 'node:os';
import { epochMicros } from '../../../domain/values/instant.js';
import { StartRefusal } from '../../../ports/start-refusal.js';
import type { DaemonContext } from '../daemon-context.js';
import type { Teardown } from '../teardown.js';
import type { DaemonTracing } from './daemon-tracing.js';

/** null: it isn't configured. Errors: StartRefusal. To be opened first, so that it is closed after everything that makes spans. */
export async function openTracing({ loaded, logger, clock }: DaemonContext, teardown: Teardown): Promise<DaemonTracing | null> {
  const { configuration, features, options } = loaded;
  if (configuration.tracing === null || !features.tracing) return null;
  const { endpoint, samplingRatePerMillion } = configuration.tracing;
  const [{ DaemonTracing }, { defaultEndpoint, EndpointProblem }] = await Promise.all([import('./daemon-tracing.js'), import('../../../adapters/tracing/index.js')]);
  try {
    const tracing = new DaemonTracing({
      endpoint: endpoint === null || endpoint === '' ? defaultEndpoint : endpoint,
      samplingRatePerMillion: samplingRatePerMillion ?? 0,
      hostName: options.hostnameOverride.trim() === '' ? hostname().toLowerCase() : options.hostnameOverride.trim().toLowerCase(),
      logger,
      now: () => epochMicros(clock.wall()),
    });
    teardown.add('tracing', () => tracing.close());
    return tracing;
  } catch (error) {
    if (error instanceof EndpointProblem) throw new StartRefusal(`failed to run Kubelet: failed to create kubelet: ${error.message}`);
    throw error;
  }
}
