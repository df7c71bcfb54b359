// Ports of the runtime, the node and the API: each operation fails for half an hour.
import t from 'tap';
import { isWholeSweep } from '../support/sweep.js';
import { sweepPorts } from './fault-sweep.js';
import { isStoragePort } from './fault-sweep-ports.js';

t.setTimeout(900_000);

t.test('each operation fails for half an hour', async (t) => {
  const { struck, told, operations } = await sweepPorts(t, (port) => !isStoragePort(port));
  if (!isWholeSweep) return;
  t.ok(struck.size >= 40, `${struck.size} operations; not: ${operations.filter((one) => !struck.has(one)).join()}`);
  for (const operation of ['podCgroups.destroy', 'sandboxes.stop', 'runtime.inspectPod']) t.ok(told.has(operation), `${operation} keeps pods from ending: ${[...told].join('; ')}`);
});
