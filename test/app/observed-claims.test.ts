// Metrics of claims for devices: calls of drivers, and the work on a pod's claims.
import t from 'tap';
import { KubeletMetrics } from '../../src/adapters/metrics/kubelet-metrics.js';
import { ObservedClaims } from '../../src/domain/kubelet-metrics/observed-claims.js';
import { joined } from '../support/joined.js';

t.test('calls of drivers, and how long a pod’s claims took', async (t) => {
  const metrics = new KubeletMetrics({ steady: [], readings: async () => [], startedMillis: 1 });
  t.teardown(() => metrics.close());
  const tasks = new Map<string, { kind: string; phase: string; error: string | null }>();
  const plugins = { draPlugins: [{ name: 'gpu.example.com', endpoint: '/gpu.sock' }] };
  const observed = new ObservedClaims({ metrics, state: { agent: { plugins, dra: { tasks } } } } as never);
  const command = { request: { endpoint: '/gpu.sock', claims: [] } };
  const answer = (op: string, outcome: object) => observed.answered(3_000_000, { at: 1_000_000, command } as never, { op, outcome } as never);
  answer('draPlugin.prepare', { ok: true });
  answer('draPlugin.unprepare', { ok: false, error: { kind: 'deadline-exceeded' } });
  answer('csiNode.stage', { ok: true });
  const first = { kind: 'prepare', phase: 'read', error: null };
  const second = { kind: 'unprepare', phase: 'call', error: null };
  tasks.set('u1', first).set('u2', second);
  observed.stepped(1_000_000);
  first.phase = 'done';
  tasks.delete('u1');
  observed.stepped(1_500_000);
  Object.assign(second, { phase: 'done', error: 'no' });
  observed.stepped(2_000_000);
  observed.stepped(9_000_000);
  const lines = (await joined(metrics.texts())).split('\n').filter((line) => /^dra_\w+_(count|sum)/.test(line));
  const service = '/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin';
  const call = (what: string, method: string, code: string) =>
    `dra_grpc_operations_duration_seconds_${what}{driver_name="gpu.example.com",grpc_status_code="${code}",method_name="${service}/${method}"}`;
  t.strictSame(
    lines.sort(),
    [
      `${call('count', 'NodePrepareResources', 'OK')} 1`,
      `${call('count', 'NodeUnprepareResources', 'DeadlineExceeded')} 1`,
      `${call('sum', 'NodePrepareResources', 'OK')} 2`,
      `${call('sum', 'NodeUnprepareResources', 'DeadlineExceeded')} 2`,
      'dra_operations_duration_seconds_count{is_error="false",operation_name="PrepareResources"} 1',
      'dra_operations_duration_seconds_count{is_error="true",operation_name="UnprepareResources"} 1',
      'dra_operations_duration_seconds_sum{is_error="false",operation_name="PrepareResources"} 0.5',
      'dra_operations_duration_seconds_sum{is_error="true",operation_name="UnprepareResources"} 1',
    ].sort(),
  );
});
