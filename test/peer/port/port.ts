// The suite that compares what is shown at the port of this project's kubelet with what the Go kubelet showed when it was recorded, in namespaces of
// its own: see ../port.nightly.ts. KUBE_PEER_RECORD=1 records the Go kubelet.
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { PodResourcesListerService } from '../../../src/adapters/plugins/gen/podresources-v1.js';
import { callPlugin } from '../../../src/adapters/plugins/plugin-calls.js';
import { notRecorded, recordedFamilies } from '../../adapters/reference-metrics.js';
import { quietCall } from '../../ports/pull-records.contract.js';
import { collectionOf, type Json } from '../admin-client.js';
import { looking } from '../compare/pod-case.js';
import { busybox, PeerStand } from '../peer-stand.js';
import { localVolume, portCases } from './port-cases.js';
import { portView } from './port-view.js';
import { familyFaults, fieldFaults, recordedPort, recordPort } from './recorded-port.js';

t.setTimeout(900_000);

const records = process.env.KUBE_PEER_RECORD === '1';
const podsPath = '/api/v1/namespaces/default/pods';
const mergePatch = 'application/strategic-merge-patch+json';

async function makePods(stand: PeerStand): Promise<void> {
  const path = join(stand.directory, 'local-volume');
  mkdirSync(path, { recursive: true });
  for (const object of localVolume(path)) {
    const collection = (object as Json).kind === 'PersistentVolume' ? '/api/v1/persistentvolumes' : collectionOf(object);
    const { status, text } = await stand.client.api('POST', collection, object);
    if (status !== 201) throw new Error(text);
  }
  const fixed = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'fixed', namespace: 'default' }, spec: { containers: [looking()] } };
  writeFileSync(join(stand.manifests, 'fixed.yaml'), JSON.stringify(fixed));
  for (const { name, spec } of portCases) await stand.create({ apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec: { nodeName: 'lab-node', ...spec } });
  for (const { name, settled } of portCases) await stand.untilPod(name, 'has settled', settled);
}

/** What a cluster does with pods beside running them. */
async function useKubelet(stand: PeerStand): Promise<void> {
  const patch = async (path: string, body: object): Promise<void> => {
    const { status, text } = await stand.client.api('PATCH', `${podsPath}/${path}`, body, mergePatch);
    if (status !== 200) throw new Error(`${path}: ${status} ${text}`);
  };
  const resize = (cpu: string) =>
    patch('resized/resize', { spec: { containers: [{ name: 'main', resources: { requests: { cpu, memory: '16Mi' }, limits: { cpu, memory: '32Mi' } } }] } });
  const condition = (pod: Json, type: string): boolean => pod.status.conditions.some((one: Json) => one.type === type);
  await resize('60m');
  await stand.untilPod('resized', 'is resized', (pod) => pod.status.containerStatuses[0].resources?.limits?.cpu === '60m' && !condition(pod, 'PodResizeInProgress'));
  await resize('1999m');
  await stand.untilPod('resized', 'has a resize that waits', (pod) => condition(pod, 'PodResizePending'));
  await patch('probed/ephemeralcontainers', { spec: { ephemeralContainers: [{ name: 'debug', image: busybox, command: ['sleep', '1000'] }] } });
  await stand.untilPod('probed', 'has its ephemeral container', (pod) => pod.status.ephemeralContainerStatuses?.[0]?.state.running !== undefined);
  await stand.ok(['exec', 'probed', '-c', 'main', '--', 'true']);
  await stand.ok(['delete', 'pod', 'sleeps', '--grace-period=1']);
  const socket = join(stand.root, 'pod-resources/kubelet.sock');
  await callPlugin({ method: PodResourcesListerService.list, socket, request: {}, timeoutMillis: 60_000, operation: 'test.ask' }, quietCall);
}

/** Usage is read from time to time: the figures of the youngest pod are the last to come. */
async function untilMeasured(stand: PeerStand): Promise<void> {
  const text = async (path: string) => (await stand.client.kubelet(path)).text;
  for (const path of ['/metrics/cadvisor', '/metrics/resource'])
    await stand.until(`${path} has the pods`, async () => /container_cpu_usage_seconds_total\{.*container="main".*pod="probed"/.test(await text(path)));
  await stand.until('the claim is measured', async () => /^kubelet_volume_stats_used_bytes\{/m.test(await text('/metrics')));
  await stand.until('the summary has the rates', async () => {
    const { pods } = JSON.parse(await text('/stats/summary'));
    const container = (pod: string, name: string) => pods.find((one: Json) => one.podRef.name === pod)?.containers?.find((one: Json) => one.name === name);
    return container('probed', 'main')?.cpu?.usageNanoCores !== undefined && container('probed', 'main')?.rootfs?.usedBytes !== undefined;
  });
}

t.test('the families of metrics, the fields of the summary and of the list of pods', async (t) => {
  const stand = PeerStand.up({ volumeStatsAggPeriod: '5s' });
  t.teardown(() => stand.down());
  // Where the Go kubelet's cAdvisor looks up the labels of containers.
  mkdirSync('/run/containerd', { recursive: true });
  symlinkSync(join(stand.directory, 'containerd/c.sock'), '/run/containerd/containerd.sock');
  await stand.start(records ? 'go' : 'ours');
  await makePods(stand);
  await useKubelet(stand);
  await untilMeasured(stand);
  const view = await portView(stand);
  if (records) recordPort(view);
  const go = recordedPort();
  const shownBefore = new Set([
    ...recordedFamilies().map(({ endpoint, name }) => `${endpoint} ${name}`),
    ...notRecorded.flatMap((name) => [`/metrics ${name}`, `/metrics/cadvisor ${name}`]),
  ]);
  t.strictSame(familyFaults(go.metrics, view.metrics, shownBefore), [], 'families');
  t.strictSame(fieldFaults(go.summary, view.summary), [], 'the summary');
  t.strictSame(fieldFaults(go.pods, view.pods), [], 'the list of pods');
});
