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

export async function nodeView(stand: PeerStand): Promise<Json> {
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
