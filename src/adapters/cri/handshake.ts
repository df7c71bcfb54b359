// The handshake with the runtime at the agent's start: both services must answer, and the cgroup driver is chosen.

import { goQuote } from '../../domain/values/go-text.js';
import type { Micros } from '../../ports/micros.js';
import type { CancelSignal } from '../../ports/operation.js';
import type { RuntimeVersion } from '../../ports/outbound/container-runtime.js';
import { PortError } from '../../ports/port-error.js';
import { GrpcFailure } from '../grpc/index.js';
import type { CriConnection } from './connection.js';
import type { CriImages } from './cri-images.js';
import type { CriRuntimeState } from './cri-runtime-state.js';
import { CgroupDriver, RuntimeServiceService } from './gen/cri-runtime-v1.js';
import { goErrorText } from './grpc-errors.js';

/** Calls both services once. A failure ends the start; its message names the endpoint. */
export async function validateServices(
  runtime: { readonly connection: CriConnection; readonly state: Pick<CriRuntimeState, 'version'> },
  image: { readonly connection: CriConnection; readonly images: Pick<CriImages, 'fsInfo'> },
  signal: CancelSignal,
): Promise<RuntimeVersion> {
  const version = await naming(runtime.state.version(null, { signal, timeoutMicros: null }), 'runtime', runtime.connection.endpoint);
  await naming(image.images.fsInfo(null, { signal, timeoutMicros: null }), 'image', image.connection.endpoint);
  return version;
}

async function naming<T>(answer: Promise<T>, service: 'runtime' | 'image', endpoint: string): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (!(error instanceof PortError)) throw error;
    // The message names a failed call's code: users search for it when a runtime is down or has its CRI plugin disabled.
    const reason = error.cause instanceof GrpcFailure ? goErrorText(error.cause) : error.message;
    const message = `validate service connection: validate CRI v1 ${service} API for endpoint ${goQuote(endpoint)}: ${reason}`;
    throw new PortError({ ...error.toFailure(), message, cause: error });
  }
}

/** Upper bound of tries, and the pause between them. */
const cgroupDriverTries = 3;
const cgroupDriverPauseMicros: Micros = 2_000_000;

/**
 * The runtime's cgroup driver, which overrides the configured one; null if not reported (older runtimes answer
 * `unimplemented`). `pause` waits that many microseconds. Rejects with the last error if every try fails otherwise.
 */
export async function runtimeCgroupDriver(connection: CriConnection, signal: CancelSignal, pause: (micros: Micros) => Promise<void>): Promise<'systemd' | 'cgroupfs' | null> {
  const target = { operation: 'runtime.config', subject: '', deadlineMicros: connection.requestTimeoutMicros };
  for (let tries = 1; ; tries++) {
    try {
      const { linux } = await connection.unary(RuntimeServiceService.runtimeConfig, {}, { signal, timeoutMicros: null }, target);
      if (linux === undefined) return null;
      if (linux.cgroupDriver === CgroupDriver.SYSTEMD) return 'systemd';
      if (linux.cgroupDriver === CgroupDriver.CGROUPFS) return 'cgroupfs';
      throw new PortError({ kind: 'internal', message: `runtime returned an unknown cgroup driver ${linux.cgroupDriver}`, operation: target.operation, subject: '' });
    } catch (error) {
      if (error instanceof PortError && error.kind === 'unimplemented') return null;
      if (tries === cgroupDriverTries || signal.aborted) throw error;
    }
    await pause(cgroupDriverPauseMicros);
  }
}
