// A disk on which no state file can be written: a gauge shows each file with its age, the log has few lines, and all is written once the disk works.
import t from 'tap';
import { stateFileReadings } from '../../src/domain/kubelet-metrics/kubelet-readings.js';
import { DraRun } from './dra-run.js';
import { minute, second } from './sim-pods.js';

const gibibyte = 1024 ** 3;
const files = ['actuated_pods_state', 'allocated_pods_state', 'cpu_manager_state', 'dra_manager_state', 'memory_manager_state', 'observed_times_state'];

t.test('every state file that is written has a gauge, which grows while it cannot be written', { timeout: 300_000 }, async (t) => {
  const lines: string[] = [];
  const run = new DraRun({
    machine: { sockets: 2, cores: 4, memoryBytes: 4 * gibibyte },
    alignment: {
      cpuManagerPolicy: 'static',
      memoryManagerPolicy: 'Static',
      reservation: { cpu: '1', memory: '1Gi' },
      reservedMemory: [{ numaNode: 0, limits: { memory: '1Gi' } }],
    },
    log: (_node, _now, level, message, fields) => {
      if (message === 'Failed to save state') lines.push(`${level} ${fields.file}`);
    },
  });
  const { cluster } = run;
  const node = cluster.node();
  const readings = (): ReadonlyMap<string, number> =>
    new Map(stateFileReadings(node.agent, cluster.now).map(([, labels, value]) => [(labels as { readonly file: string }).file, value]));
  const current = (): readonly string[] => [...readings()].filter(([, value]) => value === 0).map(([name]) => name);
  run.driver();
  run.deviceClaim('plain');
  cluster.run(10 * second);
  t.strictSame(current().length, readings().size, 'all files are current');
  node.setFaults([{ operation: 'stateFiles.write', trigger: {}, action: { kind: 'error', moment: 'before', error: 'resource-exhausted', message: 'no space left on device' } }]);
  run.deviceClaim('late');
  const list = { cpu: '1', memory: '64Mi' };
  run.claimingPod('a', ['late'], {}, { requests: list, limits: list });
  run.pod('plain', []);
  cluster.run(10 * minute);
  const failing = [...readings()].filter(([, value]) => value > 60).map(([name]) => name);
  t.strictSame(failing.sort(), files, 'each has been out of date for minutes');
  for (const file of files) {
    const shown = lines.filter((line) => line === `error ${file}`).length;
    t.ok(shown >= 1 && shown <= 3, `${file}: ${shown} lines in ten minutes`);
  }
  node.setFaults([]);
  cluster.run(2 * minute);
  t.strictSame(current().length, readings().size, 'all files are current again');
  for (const name of files) t.ok(node.host.state.stateFiles.has(name), `${name} is written`);
  for (const name of node.host.state.stateFiles.keys()) t.ok(readings().has(name), `${name} has a gauge`);
  t.strictSame(cluster.violations, []);
});
