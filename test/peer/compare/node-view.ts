// What a kubelet says of its node: in the API, and at its own port.
import { join } from 'node:path';
import type { Json } from '../admin-client.js';
import type { PeerStand } from '../peer-stand.js';
import { tree, valuesOf } from './pod-view.js';
import { renamed } from './same-names.js';

/** Answers that don't depend on pods, or are errors: compared with their type and text. */
const requests: readonly (readonly [method: string, path: string])[] = [
  ...[
    '/',
    '/none',
    '/healthz',
    '/healthz/ping',
    '/healthz/log',
    '/healthz/syncloop',
    '/healthz/none',
    '/readyz',
    '/livez',
    '/version',
    '/spec',
    '/spec/',
    '/logs',
    '/logs/none',
    '/debug/flags/v',
    '/debug/pprof/none',
  ].map((path) => ['GET', path] as const),
  ...[
    '/containerLogs',
    '/containerLogs/default/none/main',
    '/containerLogs/default/end-zero/none',
    '/containerLogs/default/end-zero/main?tailLines=x',
    '/containerLogs/default/end-zero/main?tailLines=-1',
    '/containerLogs/default/end-zero/main?limitBytes=0',
    '/containerLogs/default/end-zero/main?sinceSeconds=0',
    '/containerLogs/default/end-zero/main',
    '/containerLogs/default/image-absent/main',
    '/containerLogs/default/end-zero/main?previous=true',
  ].map((path) => ['GET', path] as const),
  ...[
    '/exec/default/none/main?command=true&output=1',
    '/exec/default/end-zero/main',
    '/exec/default/end-zero/main?command=true&output=1',
    '/attach/default/none/main?output=1',
    '/portForward/default/none',
    '/run/default/none/main?cmd=true',
  ].map((path) => ['POST', path] as const),
  ...['/pods', '/configz', '/healthz', '/metrics', '/stats/summary', '/runningpods/'].map((path) => ['POST', path] as const),
  ['PUT', '/debug/flags/v'],
  ['DELETE', '/pods'],
  ['POST', '/checkpoint/default/none/main'],
  ['GET', '/runningpods'],
  ['GET', '/stats'],
  ['GET', '/stats/none'],
];

export async function nodeView(stand: PeerStand, started: ReadonlySet<string>): Promise<Json> {
  const { client } = stand;
  const node = await client.get('/api/v1/nodes/lab-node');
  const lease = await client.get('/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/lab-node');
  const answers: Record<string, Json> = {};
  for (const [method, path] of requests) {
    const { status, type, text } = await client.kubelet(path, method);
    answers[`${method} ${path}`] = { status, type, text: text.slice(0, 300) };
  }
  const view = {
    node: {
      labels: node.metadata.labels,
      annotations: node.metadata.annotations,
      finalizers: node.metadata.finalizers,
      spec: node.spec,
      status: { ...node.status, images: imagesOf(node.status.images) },
    },
    lease: lease.spec,
    leaseOwners: lease.metadata.ownerReferences,
    csiNode: (await client.get('/apis/storage.k8s.io/v1/csinodes/lab-node')).spec,
    answers,
    configz: JSON.parse((await client.kubelet('/configz')).text),
    metrics: await metricsOf(stand),
    summary: shapeOf(JSON.parse((await client.kubelet('/stats/summary')).text), started),
    pods: podsShape(JSON.parse((await client.kubelet('/pods')).text), started),
    root: Object.fromEntries(Object.entries(tree(stand.root, /^pods\/|^plugins\/|^pki\/./)).map(([path, value]) => [path, value])),
    cgroups: classCgroups(stand.cgroupRoot),
  };
  return JSON.parse(renamed(JSON.stringify(view), stand, [[node.metadata.uid, 'NODE_UID']]));
}

function imagesOf(images: Json[]): Json {
  return Object.fromEntries(images.map(({ names, sizeBytes }) => [[...names].sort().join(' '), sizeBytes]));
}

function classCgroups(cgroupRoot: string): Json {
  return Object.fromEntries(
    ['', 'kubepods', 'kubepods/burstable', 'kubepods/besteffort'].map((name) => [
      name,
      Object.assign({}, ...['cpu', 'memory', 'pids', 'cpuset'].map((hierarchy) => valuesOf(join('/sys/fs/cgroup', hierarchy, cgroupRoot, name)))),
    ]),
  );
}

/** Families by name: type, help, and the label names that their samples have. */
async function metricsOf(stand: PeerStand): Promise<Json> {
  const found: Record<string, Json> = {};
  for (const path of ['/metrics', '/metrics/cadvisor', '/metrics/resource', '/metrics/probes']) {
    const { type, text } = await stand.client.kubelet(path);
    found[path] = { contentType: type, families: families(text) };
  }
  return found;
}

function families(text: string): Json {
  const all: Record<string, { type: string; help: string; labels: string[] }> = {};
  for (const line of text.split('\n')) {
    const [, what, name = '', rest = ''] = /^# (HELP|TYPE) (\S+) ?(.*)$/.exec(line) ?? [];
    if (what !== undefined) {
      const family = all[name] ?? { type: '', help: '', labels: [] };
      all[name] = family;
      if (what === 'HELP') family.help = rest;
      else family.type = rest;
    } else {
      const [, sample = '', labels = ''] = /^([a-zA-Z_:0-9]+)(?:\{(.*)\})? /.exec(line) ?? [];
      const family = all[sample] ?? all[sample.replace(/_(bucket|sum|count)$/, '')];
      const names = [...labels.matchAll(/([a-zA-Z_0-9]+)="/g)]
        .map(([, label]) => label)
        .filter((label) => label !== 'le')
        .sort()
        .join(',');
      if (family !== undefined && !family.labels.includes(names)) family.labels = [...family.labels, names].sort();
    }
  }
  return all;
}

/** Which fields there are, and of which type: figures are different in every run. */
function shapeOf({ node, pods }: Json, started: ReadonlySet<string>): Json {
  const ofPod = (pod: Json) => ({ ...shape({ ...pod, podRef: 0, containers: 0, volume: 0 }), containers: byName(pod.containers), volume: byName(pod.volume) });
  const own = pods.filter((pod: Json) => started.has(pod.podRef.name)).map((pod: Json) => [pod.podRef.name, ofPod(pod)]);
  return { node: { ...shape({ ...node, systemContainers: 0 }), nodeName: node.nodeName, systemContainers: byName(node.systemContainers) }, pods: Object.fromEntries(own) };
}

function byName(list: Json[] | undefined): Json {
  return Object.fromEntries((list ?? []).map(({ name, ...rest }) => [name.replace(/^kube-api-access-.*/, 'kube-api-access'), shape(rest)]));
}

function shape(value: Json): Json {
  if (Array.isArray(value)) return value.map(shape);
  if (typeof value === 'object' && value !== null) return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, shape(one)]));
  return typeof value === 'string' && /^\d{4}-/.test(value) ? 'time' : typeof value;
}

/** What the kubelet's list of pods has beside the API's: each field of metadata and spec, by its shape. */
function podsShape({ kind, apiVersion, items }: Json, started: ReadonlySet<string>): Json {
  const own = items
    .filter((pod: Json) => started.has(pod.metadata.name))
    .map(({ metadata, spec, status, ...rest }: Json) => [
      metadata.name,
      {
        ...rest,
        metadata: { ...shape(metadata), annotations: metadata.annotations, managedFields: metadata.managedFields?.length ?? 0 },
        spec: shape({ ...spec, containers: 0, initContainers: 0, volumes: 0 }),
        status: shape({ ...status, containerStatuses: 0, initContainerStatuses: 0 }),
      },
    ]);
  return { kind, apiVersion, pods: Object.fromEntries(own) };
}
