// The sandbox image of the runtime, which only its verbose status reports.
import type { Call } from '../../ports/operation.js';
import { PortError } from '../../ports/port-error.js';
import type { CriConnection } from './connection.js';
import { RuntimeServiceService } from './gen/cri-runtime-v1.js';

/** null: the runtime doesn't report it. @param operation the calling operation. Rejects with PortError. */
export async function sandboxImage(connection: CriConnection, call: Call, operation: string): Promise<string | null> {
  const target = { operation, subject: '', deadlineMicros: connection.requestTimeoutMicros };
  try {
    const { info } = await connection.unary(RuntimeServiceService.status, { verbose: true }, call, target);
    return sandboxImageOf(info.config ?? '');
  } catch (error) {
    if (error instanceof PortError && error.kind === 'unimplemented') return null;
    throw error;
  }
}

/** containerd 1 has it as `sandboxImage`, containerd 2 as the pinned image `sandbox`. */
export function sandboxImageOf(config: string): string | null {
  return /"sandboxImage"\s*:\s*"([^"]+)"/.exec(config)?.[1] ?? /"pinnedImages"\s*:\s*\{[^}]*"sandbox"\s*:\s*"([^"]+)"/.exec(config)?.[1] ?? null;
}
