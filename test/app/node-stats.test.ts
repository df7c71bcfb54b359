// /stats/summary and the metrics of a daemon on the mock runtime, in the form of the recorded Go kubelet.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { metricFindings, metricTypes } from '../adapters/metric-lint.js';
import { shapeOf } from '../peer/port/port-view.js';
import { recordedPort } from '../peer/port/recorded-port.js';
import { until } from '../support/until.js';
import { ask } from './ask-daemon.js';
import { phaseOf, podNamed, Stage } from './stage.js';

/** What a host with cgroup v1 or without swap may lack, and what the mock runtime's images lack, which are on no disk. */
const mayLack = /\.(psi|io|swap|systemContainers)\b|^node\.runtime\.\w+\.(available|capacity|inodes(Free)?$)/;

/** Every field is one of the Go kubelet, of the same type; and those of the node are all there. */
function checkFields(t: Test, summary: unknown, query: '' | '?only_cpu_and_memory=true'): void {
  const go = recordedPort().summary[query] ?? {};
  const ours = shapeOf(summary);
  const known = new Map([...knownFields(), ...Object.entries(go)]);
  t.strictSame(
    Object.entries(ours).filter(([path, type]) => known.get(path) !== type),
    [],
    `fields of the reference${query}`,
  );
  t.strictSame(
    Object.keys(go).filter((path) => path.startsWith('node.') && !mayLack.test(path) && ours[path] === undefined),
    [],
    `fields of the node${query}`,
  );
}

/** Also those that no recording shows, such as the condition of a volume. */
function knownFields(): readonly (readonly [path: string, type: string])[] {
  const lines = readFileSync(new URL('../../../test/reference/stats-summary-shape.tsv', import.meta.url), 'utf8')
    .trimEnd()
    .split('\n')
    .slice(1);
  return lines.map((line) => {
    const [path = '', type = ''] = line.split('\t');
    return [path, type.startsWith('RFC3339') ? 'time' : type === 'integer' ? 'number' : type];
  });
}

const volumes = '  volumes: [{name: scratch, emptyDir: {}}]\n';

t.test('the numbers of a node', async (t) => {
  const stage = await Stage.open();
  t.teardown(() => stage.close());
  stage.configurationMore = 'enableServer: true\naddress: 127.0.0.1\n';
  stage.manifest('a.yaml', stage.pod('a', 'busybox', 'run=forever,log=50/s', volumes));
  const daemon = await stage.start();
  await until('a runs', () => phaseOf(daemon, 'a-n1') === 'Running');
  const uid = podNamed(daemon, 'a-n1')?.metadata.uid ?? '';
  const scratch = join(stage.root, 'pods', uid, 'volumes/kubernetes.io~empty-dir/scratch');
  mkdirSync(scratch, { recursive: true });
  writeFileSync(join(scratch, 'file'), 'x'.repeat(100_000));

  // What eviction measured before it ran is shown until it is too old.
  const known = async () => (JSON.parse((await ask(daemon, '/stats/summary')).body) as { pods: readonly unknown[] }).pods.length === 1;
  await until('the numbers know of it', known);
  const first = await ask(daemon, '/stats/summary');
  t.equal(first.status, 200, first.body.slice(0, 200));
  t.equal(first.type, 'application/json');
  t.match(first.body, /^\{\n "node": \{\n {2}"nodeName": "n1",\n/, 'indented by one space');
  const { node, pods } = JSON.parse(first.body);
  t.match(node, {
    cpu: { time: String, usageNanoCores: Number, usageCoreNanoSeconds: Number },
    memory: { availableBytes: Number, usageBytes: Number, workingSetBytes: Number, rssBytes: Number, pageFaults: Number, majorPageFaults: Number },
    fs: { availableBytes: Number, capacityBytes: Number, usedBytes: Number, inodesFree: Number, inodes: Number, inodesUsed: Number },
    runtime: { imageFs: { usedBytes: Number }, containerFs: { usedBytes: Number } },
    rlimit: { maxpid: Number, curproc: Number },
    network: { interfaces: Array },
  });
  t.ok(node.cpu.usageNanoCores > 0, 'a rate is there at the first question');
  t.match(pods, [
    {
      podRef: { name: 'a-n1', namespace: 'default', uid },
      containers: [{ name: 'c', cpu: { usageCoreNanoSeconds: Number }, memory: { workingSetBytes: 16 * 1024 * 1024 }, rootfs: { usedBytes: 32_768 }, logs: { usedBytes: Number } }],
      'ephemeral-storage': { usedBytes: Number },
    },
  ]);
  t.equal((await ask(daemon, '/stats/summary', 'POST')).status, 200);
  t.equal((await ask(daemon, '/stats/summary', 'PUT')).status, 405);
  t.equal((await ask(daemon, '/stats/nope')).status, 404);
  const only = JSON.parse((await ask(daemon, '/stats/summary?only_cpu_and_memory=true')).body);
  t.notOk('fs' in only.node || 'rlimit' in only.node || 'network' in only.node);
  t.strictSame(Object.keys(only.pods[0].containers[0]).sort(), ['cpu', 'memory', 'name', 'startTime', 'swap']);
  const twice = JSON.parse((await ask(daemon, '/stats/summary?only_cpu_and_memory=true&only_cpu_and_memory=true')).body);
  t.ok('fs' in twice.node, 'exactly one value counts');

  checkFields(t, JSON.parse(first.body), '');
  checkFields(t, only, '?only_cpu_and_memory=true');

  const resource = await ask(daemon, '/metrics/resource');
  t.equal(resource.type, 'text/plain; version=0.0.4; charset=utf-8; escaping=underscores');
  t.strictSame(metricFindings(resource.body), []);
  t.match(resource.body, /\nresource_scrape_error 0\n/);
  t.match(resource.body, /\ncontainer_memory_working_set_bytes\{container="c",namespace="default",pod="a-n1"\} 1\.6777216e\+07 \d{13}\n/);
  t.match(resource.body, /\nnode_cpu_usage_seconds_total [\d.e+]+ \d{13}\n/);
  t.match(resource.body, /\ncontainer_start_time_seconds\{[^}]*\} 1\.\d+e\+09\n/, 'without a time stamp');

  const cadvisor = await ask(daemon, '/metrics/cadvisor', 'GET', { 'Accept-Encoding': 'gzip' });
  t.strictSame(metricFindings(cadvisor.body), []);
  t.match(cadvisor.body, /\ncontainer_scrape_error 0\n/);
  t.match(cadvisor.body, /\ncontainer_cpu_usage_seconds_total\{container="",cpu="total",id="\/",image="",name="",namespace="",pod=""\} [\d.e+]+ \d{13}\n/);
  for (const [name, type] of recordedCadvisor) t.equal(metricTypes(cadvisor.body).get(name), type, name);
});

t.test('the kubelet’s own metrics', async (t) => {
  const stage = await Stage.open();
  t.teardown(() => stage.close());
  stage.configurationMore = 'enableServer: true\naddress: 127.0.0.1\n';
  const daemon = await stage.start();
  stage.manifest('a.yaml', stage.pod('a').replace('containers: [{', 'containers: [{livenessProbe: {exec: {command: [run]}, periodSeconds: 1}, '));
  await until('a runs', () => phaseOf(daemon, 'a-n1') === 'Running');
  const uid = podNamed(daemon, 'a-n1')?.metadata.uid ?? '';
  let probes = await ask(daemon, '/metrics/probes');
  await until('it was probed', async () => {
    probes = await ask(daemon, '/metrics/probes');
    return probes.body.includes('prober_probe_total{');
  });
  t.strictSame(metricFindings(probes.body), []);
  t.match(probes.body, new RegExp(`prober_probe_total\\{probe_type="Liveness",container="c",pod="a-n1",namespace="default",result="successful",pod_uid="${uid}"\\} \\d`));
  const { body, type } = await ask(daemon, '/metrics');
  t.equal(type, 'text/plain; version=0.0.4; charset=utf-8; escaping=underscores');
  t.strictSame(metricFindings(body), []);
  const samples: readonly RegExp[] = [
    /\nkubelet_node_name\{node="n1"\} 1\n/,
    /\nkubelet_running_pods 1\n/,
    /\nkubelet_running_containers\{container_state="running"\} 1\n/,
    /\nkubelet_desired_pods\{static="true"\} 1\n/,
    /\nkubelet_started_pods_total 1\n/,
    /\nkubelet_pod_start_duration_seconds_count 1\n/,
    /\nkubelet_pod_worker_duration_seconds_count\{operation_type="create"\} 1\n/,
    /\nkubelet_run_podsandbox_duration_seconds_count\{runtime_handler=""\} 1\n/,
    /\nkubelet_runtime_operations_total\{operation_type="run_podsandbox"\} 1\n/,
    /\nkubelet_pleg_relist_duration_seconds_count [1-9]/,
    /\nkubelet_http_requests_total\{method="GET",path="metrics\/probes",server_type="readwrite",long_running="false"\} [1-9]/,
    /\nkubernetes_feature_enabled\{name="ContainerCheckpoint",stage="BETA"\} 1\n/,
    /\nprocess_resident_memory_bytes \d/,
    /\nnodejs_eventloop_lag_seconds /,
  ];
  for (const sample of samples) t.ok(sample.test(body), String(sample));
  const slis = await ask(daemon, '/metrics/slis');
  t.strictSame(metricFindings(slis.body), []);
  t.match(slis.body, /\nkubernetes_healthcheck\{name="ping",type="healthz"\} 1\n/);
  t.match(await ask(daemon, '/metrics/slis', 'DELETE'), { status: 200, body: 'metrics reset\n' });
  stage.remove('a.yaml');
  await until('the series of its probes went with the pod', async () => !(await ask(daemon, '/metrics/probes')).body.includes(uid));
});

/** Families of any node, as recorded. */
const recordedCadvisor: readonly (readonly [name: string, type: string])[] = [
  ['cadvisor_version_info', 'gauge'],
  ['container_cpu_system_seconds_total', 'counter'],
  ['container_cpu_usage_seconds_total', 'counter'],
  ['container_cpu_user_seconds_total', 'counter'],
  ['container_fs_inodes_free', 'gauge'],
  ['container_fs_limit_bytes', 'gauge'],
  ['container_fs_usage_bytes', 'gauge'],
  ['container_last_seen', 'gauge'],
  ['container_memory_cache', 'gauge'],
  ['container_memory_failcnt', 'counter'],
  ['container_memory_failures_total', 'counter'],
  ['container_memory_rss', 'gauge'],
  ['container_memory_usage_bytes', 'gauge'],
  ['container_memory_working_set_bytes', 'gauge'],
  ['container_network_receive_bytes_total', 'counter'],
  ['container_oom_events_total', 'counter'],
  ['container_processes', 'gauge'],
  ['container_spec_cpu_period', 'gauge'],
  ['container_spec_cpu_shares', 'gauge'],
  ['container_spec_memory_limit_bytes', 'gauge'],
  ['container_start_time_seconds', 'gauge'],
  ['machine_cpu_cores', 'gauge'],
  ['machine_memory_bytes', 'gauge'],
  ['machine_scrape_error', 'gauge'],
];
