// The usage of a volume from its CSI driver (NodeGetVolumeStats). The volume is omitted if its driver is unreachable, fails or reports nothing.
// Invariant: it never throws; numbers of a unit that the driver does not report are absent.
import type { MeasuredVolume } from '../../ports/model/node-measurements.js';
import type { Call, PortOf } from '../../ports/operation.js';
import type { CsiNodeOperations } from '../../ports/outbound/csi-node.js';
import type { DriverUsage } from './pod-disk-usage.js';

const statsCapability = 'GET_VOLUME_STATS';
const conditionCapability = 'VOLUME_CONDITION';
const unlimited: Call = { signal: new AbortController().signal, timeoutMicros: null };

/**
 * @param endpointOf the endpoint of a registered driver; null: not registered
 * @param reportsHealth whether the volume's condition counts (`CSIVolumeHealth`)
 * @param abnormal called with the driver's message for an abnormal volume
 */
export async function driverUsage(
  node: PortOf<CsiNodeOperations>,
  endpointOf: (driver: string) => string | null,
  { driver, path }: MeasuredVolume,
  reportsHealth = false,
  abnormal?: (message: string) => void,
): Promise<DriverUsage | null> {
  const endpoint = driver === null ? null : endpointOf(driver.name);
  if (driver === null || endpoint === null) return null;
  try {
    const capabilities = await node.capabilities({ endpoint }, unlimited);
    if (!capabilities.includes(statsCapability)) return null;
    const { usage, condition } = await node.stats({ endpoint, volumeId: driver.volumeId, volumePath: path, stagingTargetPath: '' }, unlimited);
    if (usage.length === 0) return null;
    const hasCondition = reportsHealth && condition !== null && capabilities.includes(conditionCapability);
    if (hasCondition && condition.abnormal) abnormal?.(condition.message);
    const of = (unit: string) => usage.find((one) => one.unit === unit);
    const [bytes, inodes] = [of('BYTES'), of('INODES')];
    return {
      ...(bytes === undefined ? {} : { availableBytes: Number(bytes.available), capacityBytes: Number(bytes.total), usedBytes: Number(bytes.used) }),
      ...(inodes === undefined ? {} : { inodes: Number(inodes.total), inodesFree: Number(inodes.available), inodesUsed: Number(inodes.used) }),
      ...(hasCondition ? { volumeHealthStats: { abnormal: condition.abnormal } } : {}),
    };
  } catch {
    return null;
  }
}
