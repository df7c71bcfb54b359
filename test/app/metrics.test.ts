// The metrics of a daemon for other programs: promtool, and the dashboard and alerts of the kubernetes-mixin.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { CadvisorFamilies, familyTexts } from '../../src/adapters/metrics/index.js';
import { kubeletFamilies } from '../../src/ports/outbound/metrics/kubelet-families.js';
import { busyContainer } from '../adapters/busy-container.js';
import { metricFindings, metricLabels, metricTypes } from '../adapters/metric-lint.js';
import { leftOut, matches, ours, recordedFamilies } from '../adapters/reference-metrics.js';
import { until } from '../support/until.js';
import { ask } from './ask-daemon.js';
import { phaseOf, Stage } from './stage.js';

const endpoints = ['/metrics', '/metrics/probes', '/metrics/slis', '/metrics/cadvisor', '/metrics/resource'] as const;

/** Upstream's names that promtool complains about, and its complaint. */
const disliked: readonly (readonly [name: string, complaint: RegExp])[] = [
  ['kubelet_cpu_manager_exclusive_cpu_allocation_count', /should not have "_count" suffix/],
  ['kubelet_pleg_discard_events', /should have "_total" suffix/],
  ['kubelet_preemptions', /should have "_total" suffix/],
  ['cadvisor_version_info', /snake_case/],
  ['container_memory_failcnt', /should have "_total" suffix/],
  ['kubelet_certificate_manager_client_expiration_renew_errors', /should have "_total" suffix/],
  ['kubelet_server_expiration_renew_errors', /should have "_total" suffix/],
  ['container_fs_inodes_total', /should not have "_total" suffix/],
];

/** Metrics in the dashboard and the alerts of the kubernetes-mixin: family and the labels that they group, filter and join by. */
const mixin: readonly (readonly [family: string, labels: readonly string[]])[] = [
  ['kubelet_node_name', ['node']],
  ['kubelet_certificate_manager_client_ttl_seconds', []],
  ['kubelet_certificate_manager_server_ttl_seconds', []],
  ['kubelet_certificate_manager_client_expiration_renew_errors', []],
  ['kubelet_server_expiration_renew_errors', []],
  ['kubelet_running_pods', []],
  ['kubelet_running_containers', []],
  ['volume_manager_total_volumes', ['state']],
  ['kubelet_runtime_operations_total', ['operation_type']],
  ['kubelet_runtime_operations_errors_total', ['operation_type']],
  ['kubelet_runtime_operations_duration_seconds', ['operation_type']],
  ['kubelet_pod_start_duration_seconds', []],
  ['kubelet_pod_worker_duration_seconds', ['operation_type']],
  ['storage_operation_duration_seconds', ['operation_name', 'volume_plugin']],
  ['kubelet_cgroup_manager_duration_seconds', ['operation_type']],
  ['kubelet_pleg_relist_duration_seconds', []],
  ['kubelet_pleg_relist_interval_seconds', []],
  ['kubelet_volume_stats_available_bytes', ['namespace', 'persistentvolumeclaim']],
  ['kubelet_volume_stats_capacity_bytes', ['namespace', 'persistentvolumeclaim']],
  ['kubelet_volume_stats_inodes', ['namespace', 'persistentvolumeclaim']],
  ['kubelet_volume_stats_inodes_free', ['namespace', 'persistentvolumeclaim']],
  ['kubelet_volume_stats_inodes_used', ['namespace', 'persistentvolumeclaim']],
  ['kubelet_volume_stats_used_bytes', ['namespace', 'persistentvolumeclaim']],
  ['rest_client_requests_total', ['code', 'host', 'method']],
  ['rest_client_request_duration_seconds', ['host', 'verb']],
  ['kubernetes_build_info', ['git_version']],
  ['process_resident_memory_bytes', []],
  ['process_cpu_seconds_total', []],
  ['container_cpu_usage_seconds_total', ['container', 'image', 'namespace', 'pod']],
  ['container_memory_rss', ['container', 'image', 'namespace', 'pod']],
  ['container_memory_cache', ['container', 'image', 'namespace', 'pod']],
  ['container_memory_swap', ['container', 'image', 'namespace', 'pod']],
  ['container_memory_working_set_bytes', ['container', 'image', 'namespace', 'pod']],
  ['container_cpu_cfs_periods_total', ['container', 'namespace', 'pod']],
  ['container_cpu_cfs_throttled_periods_total', ['container', 'namespace', 'pod']],
  ['container_fs_reads_total', ['container', 'device', 'namespace', 'pod']],
  ['container_fs_writes_total', ['container', 'device', 'namespace', 'pod']],
  ['container_fs_reads_bytes_total', ['container', 'device', 'namespace', 'pod']],
  ['container_fs_writes_bytes_total', ['container', 'device', 'namespace', 'pod']],
  ['container_network_receive_bytes_total', ['namespace', 'pod']],
  ['container_network_receive_packets_dropped_total', ['namespace', 'pod']],
  ['container_network_receive_packets_total', ['namespace', 'pod']],
  ['container_network_transmit_bytes_total', ['namespace', 'pod']],
  ['container_network_transmit_packets_dropped_total', ['namespace', 'pod']],
  ['container_network_transmit_packets_total', ['namespace', 'pod']],
];

/** Asked for by the mixin, and not here; `kubelet_node_config_error` and `storage_operation_errors_total` are not in v1.36 either. */
const mixinMissing: readonly string[] = ['kubelet_node_config_error', 'storage_operation_errors_total', 'go_goroutines'];

type Bodies = ReadonlyMap<string, string>;

t.test('a node that has run and lost a pod', async (t) => {
  const stage = await Stage.open();
  t.teardown(() => stage.close());
  stage.configurationMore = 'enableServer: true\naddress: 127.0.0.1\n';
  const daemon = await stage.start();
  const more = 'volumeMounts: [{name: scratch, mountPath: /scratch}], livenessProbe: {exec: {command: [run]}, periodSeconds: 1}';
  stage.manifest('a.yaml', stage.pod('a', 'busybox', 'run=forever', '  volumes: [{name: scratch, emptyDir: {}}]\n').replace('containers: [{', `containers: [{${more}, `));
  stage.manifest('b.yaml', stage.pod('b', 'busybox', 'run=100ms,exit=3; run=forever'));
  await until('a runs', () => phaseOf(daemon, 'a-n1') === 'Running');
  await until('b has ended and begun anew', async () => /kubelet_terminated_containers_total\{[^}]*exit_code="3"/.test((await ask(daemon, '/metrics')).body));
  await until('a was probed', async () => (await ask(daemon, '/metrics/probes')).body.includes('prober_probe_total{'));
  const bodies = new Map<string, string>();
  for (const path of endpoints) bodies.set(path, (await ask(daemon, path)).body);
  t.test('series follow from what happened', (t) => happened(t, bodies));
  t.test('names, types and labels are the reference’s', (t) => named(t, bodies));
  t.test('promtool', (t) => promtool(t, bodies));
  t.test('the dashboard of the process finds its metrics', (t) => dashboard(t, bodies));
  t.test('what the kubernetes-mixin asks for', (t) => mixinFinds(t, bodies));
});

async function happened(t: Test, bodies: Bodies): Promise<void> {
  const own = bodies.get('/metrics') ?? '';
  const rows: readonly RegExp[] = [
    /\nkubelet_started_containers_total\{container_type="container"\} [2-9]/,
    /\nkubelet_terminated_containers_total\{container_type="container",exit_code="3",reason="Error"\} [1-9]/,
    /\nkubelet_active_pods\{static="true"\} 2\n/,
    /\nkubelet_working_pods\{config="desired",lifecycle="sync",static="true"\} 2\n/,
    /\nkubelet_working_pods\{config="runtime_only",lifecycle="terminated",static="unknown"\} 0\n/,
    /\nkubelet_containers_per_pod_count_count 2\n/,
    /\nkubelet_pod_worker_start_duration_seconds_count 2\n/,
    /\nkubelet_image_manager_ensure_image_requests_total\{pull_policy="\w+",present_locally="(true|false)",pull_required="(true|false)"\} [2-9]/,
    /\nkubelet_http_inflight_requests\{method="GET",path="metrics",server_type="readwrite",long_running="false"\} 1\n/,
    /\nvolume_manager_total_volumes\{plugin_name="kubernetes.io\/empty-dir",state="actual_state_of_world"\} 1\n/,
    /\nstorage_operation_duration_seconds_count\{migrated="false",operation_name="volume_mount",status="success",volume_plugin="kubernetes.io\/empty-dir"\} 1\n/,
    /\nvolume_operation_total_seconds_count\{operation_name="overall_volume_mount",plugin_name="kubernetes.io\/empty-dir"\} 1\n/,
    /\nkubelet_pleg_pod_relist_duration_seconds_count [1-9]/,
    /\nkubelet_container_log_filesystem_used_bytes\{container="c",namespace="default",pod="a-n1",uid="[^"]+"\} \d/,
    /\nregistered_metrics_total\{deprecated_version="",stability_level="ALPHA"\} \d\d/,
    /\nprocess_virtual_memory_max_bytes -?\d/,
  ];
  for (const row of rows) t.ok(row.test(own), String(row));
}

async function named(t: Test, bodies: Bodies): Promise<void> {
  const own = bodies.get('/metrics') ?? '';
  for (const [endpoint, body] of bodies) {
    t.strictSame(metricFindings(body), [], endpoint);
    const labels = metricLabels(body);
    const recorded = new Map(recordedFamilies().map((family) => [`${family.endpoint} ${family.name}`, family]));
    for (const [name, type] of metricTypes(body)) {
      const reference = recorded.get(`${endpoint} ${name}`);
      if (reference !== undefined) t.strictSame({ type, labels: labels.get(name) }, { type: reference.type, labels: reference.labels }, name);
    }
  }
  for (const { endpoint, name, type } of recordedFamilies()) {
    if (endpoint === '/metrics' && name.startsWith('process_')) t.equal(metricTypes(own).get(name), type, name);
  }
  for (const [pattern] of ours)
    t.ok(
      [...metricTypes(own).keys(), ...Object.keys(kubeletFamilies)].some((name) => matches(pattern, name)),
      `${pattern} is shown`,
    );
}

async function promtool(t: Test, bodies: Bodies): Promise<void> {
  const own = bodies.get('/metrics') ?? '';
  if (spawnSync('promtool', ['--version']).error !== undefined) {
    if (process.env.CI !== undefined) t.fail('promtool is not installed (Debian: prometheus)');
    t.comment('promtool is not installed (Debian: prometheus): not checked');
    return;
  }
  const found = new Set<string>();
  for (const [endpoint, body] of bodies) {
    const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], { input: body, encoding: 'utf8' });
    const lines = `${stdout}${stderr}`.split('\n').filter((line) => line !== '');
    t.ok(status === 0 || status === 3, `${endpoint} can be parsed: ${status === 0 || status === 3 ? '' : lines[0]}`);
    for (const line of lines) {
      const allowed = disliked.find(([name, complaint]) => line.startsWith(`${name} `) && complaint.test(line));
      if (allowed === undefined) t.fail(`${endpoint}: ${line}`);
      else found.add(allowed[0]);
    }
  }
  for (const [name] of disliked) t.ok(found.has(name) || !own.includes(`${name} `), `${name} is listed for a reason`);
}

async function dashboard(t: Test, bodies: Bodies): Promise<void> {
  const own = bodies.get('/metrics') ?? '';
  const dashboard = readFileSync(fileURLToPath(new URL('../../../docs/grafana/process.json', import.meta.url)), 'utf8');
  const { panels } = JSON.parse(dashboard) as { panels: readonly { targets: readonly { expr: string }[] }[] };
  const names = panels.flatMap(({ targets }) => targets.flatMap(({ expr }) => expr.match(/(?:nodejs|process|kubelet)_\w+/g) ?? []));
  t.ok(names.length >= 10);
  for (const name of names) t.ok(metricTypes(own).has(name.replace(/_sum$/, '')) || Object.hasOwn(kubeletFamilies, name), name);
}

async function mixinFinds(t: Test, bodies: Bodies): Promise<void> {
  const recorded = new Map(recordedFamilies().map(({ name, labels }) => [name, labels]));
  const families = new Map(Object.entries(kubeletFamilies));
  // What the mock's containers do not do: read disks, be throttled.
  const busy = new CadvisorFamilies(1_700_000_000_000, () => '/dev/sda');
  busy.addContainer(busyContainer);
  const shown = [...bodies.values(), [...familyTexts(busy.all())].join('')];
  for (const [family, labels] of mixin) {
    const known = families.get(family)?.labels ?? shown.map((body) => metricLabels(body).get(family)).find((found) => found !== undefined);
    t.ok(known !== undefined, `${family} is there`);
    for (const label of labels) t.ok(known?.includes(label), `${family} has ${label}`);
  }
  // Queries use quantiles of these, which need buckets.
  for (const [family] of mixin) if (/_duration_seconds$|_interval_seconds$/.test(family)) t.equal(families.get(family)?.type, 'histogram', `${family} has buckets`);
  for (const state of ['actual_state_of_world', 'desired_state_of_world']) t.ok(bodies.get('/metrics')?.includes(`state="${state}"`), `volumes are told apart by ${state}`);
  // Sums over containers leave out the sandbox by these: an image that is not empty, and a container that has a name.
  const working = (bodies.get('/metrics/cadvisor') ?? '').split('\n').filter((line) => line.startsWith('container_memory_working_set_bytes{'));
  t.notOk(working.some((line) => line.includes('container="POD"')));
  t.ok(
    working.every((line) => !line.includes('image=""') || line.includes('container=""')),
    'what has no image is no container',
  );
  for (const family of mixinMissing) {
    const reason = leftOut.some(([pattern]) => matches(pattern, family));
    t.ok(reason || !recorded.has(family), `${family} is left out for a reason, or upstream has it no longer`);
  }
}
