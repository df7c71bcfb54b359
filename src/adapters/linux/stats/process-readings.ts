// Metrics of this process that prom-client lacks, from /proc.
import type { KubeletReading } from '../../../ports/outbound/metrics/kubelet-metrics.js';
import { textOrEmptyNow } from './proc-readings.js';

export function processReadings(): readonly KubeletReading[] {
  const limit = /^Max address space\s+(\S+)/m.exec(textOrEmptyNow('/proc/self/limits'))?.[1];
  let received = 0;
  let sent = 0;
  for (const line of textOrEmptyNow('/proc/self/net/dev').split('\n').slice(2)) {
    const fields = line
      .slice(line.indexOf(':') + 1)
      .trim()
      .split(/\s+/);
    received += Number(fields[0] ?? 0) || 0;
    sent += Number(fields[8] ?? 0) || 0;
  }
  return [
    ['process_network_receive_bytes_total', {}, received],
    ['process_network_transmit_bytes_total', {}, sent],
    ['process_virtual_memory_max_bytes', {}, limit === undefined || limit === 'unlimited' ? -1 : Number(limit)],
  ];
}
