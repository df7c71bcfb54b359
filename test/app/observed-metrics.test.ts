// Single observations in metrics: preemptions by the missing resource, and runtimes that lack a future requirement.
import t from 'tap';
import { KubeletMetrics } from '../../src/adapters/metrics/kubelet-metrics.js';
import { newAllocation } from '../../src/domain/allocation/allocation-state.js';
import { resizeConditions } from '../../src/domain/allocation/resize-conditions.js';
import { newRetryPauses, tryFailed } from '../../src/domain/backoff/retry-pauses.js';
import { AgentObserver } from '../../src/domain/kubelet-metrics/agent-observer.js';
import { orphanReadings, pluginReadings, resizeReadings, volumeReadings } from '../../src/domain/kubelet-metrics/kubelet-readings.js';
import { ObservedImages } from '../../src/domain/kubelet-metrics/observed-images.js';
import { ObservedOperations } from '../../src/domain/kubelet-metrics/observed-operations.js';
import { ObservedResizes } from '../../src/domain/kubelet-metrics/observed-resizes.js';
import { ObservedVolumes } from '../../src/domain/kubelet-metrics/observed-volumes.js';
import { newPluginManager } from '../../src/domain/plugins/plugin-manager-state.js';
import { newVolumeManager } from '../../src/domain/volume-manager/volume-manager-state.js';
import type { KubeletReading } from '../../src/ports/outbound/metrics/kubelet-metrics.js';
import { joined } from '../support/joined.js';

t.test('pods that made room are counted by what the critical pod lacked', async (t) => {
  const metrics = new KubeletMetrics({ steady: [], readings: async () => [], startedMillis: 1 });
  t.teardown(() => metrics.close());
  const preempted = new Map([
    ['u1', 'cpu'],
    ['u2', 'vendor.io/gpu'],
    ['u3', 'cpu'],
  ]);
  const state = { agent: { admission: { preempted, rejected: new Set() } } };
  const observed = new ObservedOperations({ metrics, state } as never);
  const say = (uid: string, reason: string) =>
    observed.begun(1, { op: 'events.record', address: { machine: 'm', key: uid }, request: { involvedObject: { uid }, type: 'Warning', reason } } as never);
  for (const uid of ['u1', 'u2', 'u3']) say(uid, 'Preempting');
  say('u1', 'BackOff');
  const lines = (await joined(metrics.texts())).split('\n').filter((line) => line.startsWith('kubelet_preemptions{'));
  t.strictSame(lines.sort(), ['kubelet_preemptions{preemption_signal="cpu"} 2', 'kubelet_preemptions{preemption_signal="vendor.io/gpu"} 1']);
});

const answered = { failed: false, isUnimplemented: false };
const failed = { failed: true, isUnimplemented: false };
const unknown = { failed: true, isUnimplemented: true };
const rows: readonly (readonly [sentence: string, calls: readonly (readonly [operationType: string, how: typeof answered])[], isOld: boolean])[] = [
  ['nothing was asked yet', [], false],
  ['it says how it is configured', [['runtime_config', answered]], false],
  ['it has no such operation', [['runtime_config', unknown]], true],
  ['it could not be reached, which says nothing of it', [['runtime_config', failed]], false],
  [
    'it could not be reached after it was found to lack it',
    [
      ['runtime_config', unknown],
      ['runtime_config', failed],
    ],
    true,
  ],
  [
    'it was replaced by a newer one',
    [
      ['runtime_config', unknown],
      ['runtime_config', answered],
    ],
    false,
  ],
  ['it lacks another operation', [['list_metric_descriptors', unknown]], false],
];

t.test('a runtime that lacks what a later version will need', async (t) => {
  for (const [sentence, calls, isOld] of rows) {
    const observer = new AgentObserver();
    for (const [operationType, how] of calls) observer.criCall({ operationType, durationMicros: 1, ...how });
    t.equal(observer.isRuntimeOld, isOld, sentence);
  }
});

t.test('runs of credential provider plugins', async (t) => {
  const metrics = new KubeletMetrics({ steady: [], readings: async () => [], startedMillis: 1 });
  t.teardown(() => metrics.close());
  const observed = new ObservedImages({ metrics, state: {} } as never);
  const command = { op: 'registryCredentials.runPlugin', request: { name: 'ecr' } };
  const answer = (ok: boolean, op = command.op) => observed.answered(2_000_000, { at: 1_700_000, command } as never, { op, outcome: { ok } } as never);
  answer(true);
  answer(false);
  answer(false, 'registryCredentials.readNodeConfig');
  observed.answered(2_000_000, null, { op: command.op, outcome: { ok: false } } as never);
  const lines = (await joined(metrics.texts())).split('\n').filter((line) => line.startsWith('kubelet_credential_provider_plugin_') && !line.includes('_bucket'));
  t.strictSame(lines.sort(), [
    'kubelet_credential_provider_plugin_duration_count{plugin_name="ecr"} 2',
    'kubelet_credential_provider_plugin_duration_sum{plugin_name="ecr"} 0.6',
    'kubelet_credential_provider_plugin_errors_total{plugin_name="ecr"} 1',
  ]);
  t.match(await joined(metrics.texts()), /_duration_bucket\{le="0.25",plugin_name="ecr"\} 0\n.*_duration_bucket\{le="0.5",plugin_name="ecr"\} 2\n/, 'in seconds');
});

t.test('calls of CSI drivers by driver, method and code; volumes that were left by an earlier agent', async (t) => {
  const metrics = new KubeletMetrics({ steady: [], readings: async () => [], startedMillis: 1 });
  t.teardown(() => metrics.close());
  const drivers = new Map([['csi.example.com', { name: 'csi.example.com', endpoint: '/d.sock' }]]);
  const spec = { kind: 'persistent', persistentVolume: { metadata: { name: 'pv' }, spec: { csi: { driver: 'csi.example.com', volumeHandle: 'h' } } } };
  const volumes = { actual: new Map([['v1', { plugin: 'kubernetes.io/csi', spec }]]) };
  const observed = new ObservedVolumes({ metrics, state: { agent: { plugins: { drivers }, volumes } } } as never);
  const answer = (op: string, outcome: object) =>
    observed.answered(
      2_000_000,
      { at: 1_700_000, command: { op, address: { machine: 'volume', key: 'v1' }, request: { endpoint: '/d.sock' } } } as never,
      { op, outcome } as never,
    );
  answer('csiNode.publish', { ok: true });
  answer('csiNode.publish', { ok: false, error: { kind: 'deadline-exceeded' } });
  answer('podVolumes.setUp', { ok: true });
  answer('volumeMounts.setOwnership', { ok: true });
  const left = (plugin: string, data: string | null = null) => ({ plugin, volume: 'v', data, isDevice: false });
  answer('volumeMounts.survey', { ok: true, value: [{ uid: 'u', volumes: [left('kubernetes.io~empty-dir'), left('vendor~x'), left('kubernetes.io~csi', 'spoiled')] }] });
  const lines = (await joined(metrics.texts()))
    .split('\n')
    .filter((line) => /^(csi_operations_seconds_count|reconstruct_volume|storage_operation_duration_seconds_(count|sum))/.test(line));
  const of = (code: string) =>
    `csi_operations_seconds_count{driver_name="csi.example.com",grpc_status_code="${code}",method_name="/csi.v1.Node/NodePublishVolume",migrated="false"} 1`;
  const access = '{migrated="false",operation_name="volume_apply_access_control",status="success",volume_plugin="kubernetes.io/csi:csi.example.com"}';
  t.strictSame(lines.sort(), [
    of('DeadlineExceeded'),
    of('OK'),
    'reconstruct_volume_operations_errors_total 2',
    'reconstruct_volume_operations_total 3',
    `storage_operation_duration_seconds_count${access} 1`,
    `storage_operation_duration_seconds_sum${access} 0.3`,
  ]);
});

t.test('images that are volumes, and hooks that fell back to HTTP', async (t) => {
  const metrics = new KubeletMetrics({ steady: [], readings: async () => [], startedMillis: 1 });
  t.teardown(() => metrics.close());
  const run = (containerName: string | null) => ({ request: { containerName, pullPolicy: 'Always' }, image: null, tookMicros: 0, credentials: null, attempt: 0, failures: [] });
  const runs = new Map([
    [1, run(null)],
    [2, run('c')],
    [3, run(null)],
  ]);
  const state = { agent: { images: { runs }, admission: { rejected: new Set() } } };
  const images = new ObservedImages({ metrics, state } as never);
  images.stepped();
  images.stepped();
  const volume = { containerPath: '/v', image: { image: 'data:1' } };
  const created = (mounts: readonly object[] | undefined, ok: boolean) =>
    images.answered(2, { at: 1, command: { op: 'containers.create', request: { config: { mounts } } } } as never, { op: 'containers.create', outcome: { ok } } as never);
  created([volume, { hostPath: '/h' }, volume], true);
  created([volume], false);
  created(undefined, false);
  const operations = new ObservedOperations({ metrics, state } as never);
  for (const reason of ['LifecycleHTTPFallback', 'Created'])
    operations.begun(1, { op: 'events.record', address: { machine: 'm', key: 'u' }, request: { involvedObject: { uid: 'u' }, type: 'Warning', reason } } as never);
  const lines = (await joined(metrics.texts())).split('\n').filter((line) => /^kubelet_(image_volume|lifecycle)/.test(line));
  t.strictSame(lines.sort(), [
    'kubelet_image_volume_mounted_errors_total 1',
    'kubelet_image_volume_mounted_succeed_total 2',
    'kubelet_image_volume_requested_total 2',
    'kubelet_lifecycle_handler_http_fallbacks_total 1',
  ]);
});

t.test('what was said of SELinux labels of volumes', async (t) => {
  const volumes = newVolumeManager();
  volumes.labelCounts.set('a', { metric: 'pod_context_mismatch_errors', plugin: null, accessMode: 'RWOP', count: 2 });
  volumes.labelCounts.set('b', { metric: 'volumes_admitted', plugin: 'kubernetes.io/csi/d', accessMode: 'RWX', count: 3 });
  const metrics = new KubeletMetrics({ steady: [], readings: async () => volumeReadings({ volumes }), startedMillis: 1 });
  t.teardown(() => metrics.close());
  const lines = (await joined(metrics.texts())).split('\n').filter((line) => line.startsWith('volume_manager_selinux_'));
  t.strictSame(lines, [
    'volume_manager_selinux_pod_context_mismatch_errors_total{access_mode="RWOP"} 2',
    'volume_manager_selinux_volumes_admitted_total{access_mode="RWX",volume_plugin="kubernetes.io/csi/d"} 3',
  ]);
});

t.test('a reading that a later scrape lacks has no series any more', async (t) => {
  let readings: readonly KubeletReading[] = [
    ['kubelet_volume_stats_used_bytes', { namespace: 'n', persistentvolumeclaim: 'c' }, 5],
    ['kubelet_mirror_pods', {}, 1],
  ];
  const metrics = new KubeletMetrics({ steady: [['kubelet_node_name', { node: 'n' }, 1]], readings: async () => readings, startedMillis: 1 });
  t.teardown(() => metrics.close());
  t.match(await joined(metrics.texts()), /^kubelet_volume_stats_used_bytes\{.*\} 5$/m);
  readings = [['kubelet_mirror_pods', {}, 2]];
  const text = await joined(metrics.texts());
  t.notMatch(text, /^kubelet_volume_stats_used_bytes/m, 'the last claim is gone');
  t.match(text, /^kubelet_mirror_pods 2$/m);
  t.match(text, /^kubelet_node_name\{node="n"\} 1$/m, 'what never changes stays');
});

t.test('resizes: how they wait, what was counted, how long their actuation takes', async (t) => {
  const allocation = newAllocation({} as never);
  const pending = (reason: string) => resizeConditions({ type: 'PodResizePending', status: 'True', reason } as never, null);
  allocation.conditions.set('u1', pending('Deferred'));
  allocation.conditions.set('u2', pending('Deferred'));
  allocation.conditions.set('u3', resizeConditions(null, { type: 'PodResizeInProgress', status: 'True' } as never));
  allocation.counters.requested.set('cpu limits increase', 2);
  allocation.counters.infeasible.set('swap_limitation', 1);
  allocation.counters.deferredAccepted.set('pods_removed', 3);
  const metrics = new KubeletMetrics({ steady: [], readings: async () => resizeReadings({ allocation }), startedMillis: 1 });
  t.teardown(() => metrics.close());
  const runs = new Map<string, object>();
  const observed = new ObservedResizes({ metrics, state: { agent: { runs } } } as never);
  const run = (uid: string, kind: string) => ({ uid, steps: [{ kind }], results: [] as object[] });
  const [resized, refused, cancelled, other] = [run('a', 'resize'), run('b', 'resize'), run('c', 'resize'), run('d', 'start')];
  for (const one of [resized, refused, cancelled, other]) runs.set(one.uid, one);
  for (const { uid } of [resized, refused, cancelled, other]) observed.begun(1_000_000, { address: { machine: 'pod', key: uid } } as never);
  observed.stepped(1_100_000);
  resized.results.push({ action: 'ResizePodInPlace', error: null });
  refused.results.push({ action: 'ResizePodInPlace', error: null }, { action: 'ResizePodInPlace', error: { reason: 'ResizePodInPlaceError' } });
  runs.delete('c');
  observed.stepped(1_250_000);
  observed.stepped(9_000_000);
  const lines = (await joined(metrics.texts())).split('\n').filter((line) => /resize/.test(line) && !/^#|_bucket|_total 0/.test(line));
  t.strictSame(lines.sort(), [
    'kubelet_container_requested_resizes_total{operation="increase",requirement="limits",resource="cpu"} 2',
    'kubelet_pod_deferred_accepted_resizes_total{retry_trigger="pods_removed"} 3',
    'kubelet_pod_in_progress_resizes 1',
    'kubelet_pod_infeasible_resizes_total{reason_detail="swap_limitation"} 1',
    'kubelet_pod_pending_resizes{reason="deferred"} 2',
    'kubelet_pod_pending_resizes{reason="infeasible"} 0',
    'kubelet_pod_resize_duration_milliseconds_count{success="false"} 1',
    'kubelet_pod_resize_duration_milliseconds_count{success="true"} 1',
    'kubelet_pod_resize_duration_milliseconds_sum{success="false"} 250',
    'kubelet_pod_resize_duration_milliseconds_sum{success="true"} 250',
  ]);
});

t.test('sockets of plugins, orphaned pods, checks of present images', async (t) => {
  const plugins = newPluginManager();
  const socket = (path: string, phase: string, seen: string | null) => plugins.sockets.set(path, { path, phase, seen } as never);
  socket('/a', 'registered', 'i');
  socket('/b', 'info', 'i');
  socket('/c', 'registered', null);
  const retries = newRetryPauses(1, 2);
  for (const key of ['pass', 'cgroup/u', 'directory/u', 'directory/v']) tryFailed(retries, key, 0);
  const housekeeping = { orphansSeen: 3, retries } as never;
  const metrics = new KubeletMetrics({ steady: [], readings: async () => [...pluginReadings({ plugins }), ...orphanReadings({ housekeeping })], startedMillis: 1 });
  t.teardown(() => metrics.close());
  const lines = (await joined(metrics.texts())).split('\n').filter((line) => /^(plugin_manager|kubelet_orphan_)/.test(line));
  t.strictSame(lines.sort(), [
    'kubelet_orphan_pod_cleaned_volumes 3',
    'kubelet_orphan_pod_cleaned_volumes_errors 2',
    'plugin_manager_total_plugins{socket_path="/a",state="actual_state_of_world"} 1',
    'plugin_manager_total_plugins{socket_path="/a",state="desired_state_of_world"} 1',
    'plugin_manager_total_plugins{socket_path="/b",state="desired_state_of_world"} 1',
    'plugin_manager_total_plugins{socket_path="/c",state="actual_state_of_world"} 1',
  ]);
});

t.test('a sleep of a preStop hook that the grace period ends', async (t) => {
  const metrics = new KubeletMetrics({ steady: [], readings: async () => [], startedMillis: 1 });
  t.teardown(() => metrics.close());
  const item = (containerId: string, sleepsUntil: number | null) => ({ containerId, hook: sleepsUntil === null ? null : { sleepsUntil } });
  const steps = [{ kind: 'kill', kill: { items: [item('early', 5_000_000), item('done', 1_000_000), item('none', null)] } }];
  const observed = new ObservedOperations({ metrics, state: { agent: { runs: new Map([['u', { steps }]]) } } } as never);
  for (const containerId of ['early', 'done', 'none', 'unknown'])
    observed.begun(2_000_000, { op: 'containers.stop', address: { machine: 'pod', key: 'u' }, request: { containerId } } as never);
  t.match(await joined(metrics.texts()), /^kubelet_sleep_action_terminated_early_total 1$/m);
});
