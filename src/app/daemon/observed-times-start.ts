// What an earlier kubelet has written down about the times of pods and containers, and the boot that its clock belongs to. An unreadable file never prevents a start.
import type { ObservedTimesSettings } from '../../domain/agent/observed-times/observed-times-state.js';
import { observedTimesFileName } from '../../domain/checkpoints/observed-times.js';
import type { Call } from '../../ports/operation.js';
import type { Logger } from '../../ports/outbound/logger.js';
import type { MachineReading } from '../../ports/outbound/machine.js';
import type { OutboundPorts } from '../../ports/outbound/outbound-ports.js';
import type { Clock } from '../clock.js';

export async function observedTimesSettings(
  { bootId }: Pick<MachineReading, 'bootId'>,
  stateFiles: OutboundPorts['stateFiles'],
  { bootedAt }: Clock,
  logger: Logger,
  call: Call,
): Promise<ObservedTimesSettings> {
  try {
    return { text: await stateFiles.read({ name: observedTimesFileName }, call), bootId, bootedAt };
  } catch (error) {
    logger.log('warn', 'Times that an earlier kubelet observed cannot be used', { file: observedTimesFileName, err: error instanceof Error ? error.message : String(error) });
    return { text: null, bootId, bootedAt };
  }
}
