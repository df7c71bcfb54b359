// Makes the pods of the comparison on one kubelet and writes down what there is to see, until they are gone again.
import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Json } from '../admin-client.js';
import { nodeName, type PeerStand, type Which } from '../peer-stand.js';
import { nodeView } from './node-view.js';
import type { PodCase } from './pod-case.js';
import { podView, tree } from './pod-view.js';
import { renamed } from './same-names.js';

const pollMs = 500;
/** A status is at rest when it has been the same for this long. */
const restMs = 2_000;
const allSettledMs = 90_000;
/** Programs that ask the runtime at the same time. */
const askers = 4;
const podsPath = '/api/v1/namespaces/default/pods';

/** Pods at the same time: all at once are too much for a small machine. */
const batchSize = 12;

/** @param seen is told what there is so far, after each batch of pods */
export async function observed(stand: PeerStand, which: Which, cases: readonly PodCase[], seen: (view: Json) => void): Promise<void> {
  await stand.until('there is a service account', async () => (await stand.client.api('GET', '/api/v1/namespaces/default/serviceaccounts/default')).status === 200);
  await stand.start(which);
  const pods: Record<string, Json> = {};
  let node: Json = null;
  for (const batch of batchesOf(cases)) {
    await makeAll(stand, batch);
    const settled = await allSettled(stand, batch);
    progress(`${settled.size} of ${batch.length} settled; not: ${batch.filter(({ name }) => !settled.has(name)).map(({ name }) => name)}`);
    const records = await runtimeRecords(stand);
    for (const { name } of batch) {
      const pod = settled.get(name);
      pods[name] = pod === undefined ? { notSettled: (await stand.client.get(`${podsPath}/${name}`)).status } : await podView(stand, pod, records);
    }
    node ??= await nodeView(stand);
    for (const [name, end] of Object.entries(await allDeleted(stand, batch))) pods[name] = { ...pods[name], end };
    for (const [name, events] of Object.entries(await eventsOf(stand))) if (pods[name] !== undefined || name.includes(' ')) pods[name] = { ...pods[name], events };
    seen({ pods, node, after: { root: tree(stand.root, /^plugins\/|^pki\/./), logs: readdirSync(stand.podLogs).length } });
    progress(`${Object.keys(pods).length} pods done`);
  }
}

/** Each with pods of all kinds; the first has those that the requests to the kubelet name. */
function batchesOf(cases: readonly PodCase[]): PodCase[][] {
  const isNamed = ({ name }: PodCase): boolean => name === 'end-zero' || name === 'image-absent';
  const count = Math.ceil(cases.length / batchSize);
  const batches: PodCase[][] = Array.from({ length: count }, () => []);
  for (const one of cases.filter(isNamed)) batches[0]?.push(one);
  for (const [i, one] of cases.filter((one) => !isNamed(one)).entries()) batches[i % count]?.push(one);
  return batches;
}

async function makeAll(stand: PeerStand, cases: readonly PodCase[]): Promise<void> {
  for (const { name, metadata, spec, others } of cases) {
    await stand.create(...others, { apiVersion: 'v1', kind: 'Pod', metadata: { name, ...metadata }, spec: { nodeName, ...spec } });
  }
}

async function allSettled(stand: PeerStand, cases: readonly PodCase[]): Promise<Map<string, Json>> {
  const settled = new Map<string, Json>();
  const resting = new Map<string, { readonly pod: Json; readonly since: number }>();
  for (const end = Date.now() + allSettledMs; settled.size < cases.length && Date.now() < end; await delay(pollMs)) {
    const pods = new Map<string, Json>((await stand.client.get(podsPath)).items.map((pod: Json) => [pod.metadata.name, pod]));
    for (const { name, settled: holds } of cases) {
      const pod = pods.get(name);
      const before = resting.get(name);
      if (settled.has(name) || pod === undefined) continue;
      if (!isSettled(pod, holds)) resting.delete(name);
      else if (before === undefined || before.pod.metadata.resourceVersion !== pod.metadata.resourceVersion) resting.set(name, { pod, since: Date.now() });
      else if (Date.now() - before.since >= restMs) settled.set(name, pod);
    }
  }
  return settled;
}

function isSettled(pod: Json, holds: (pod: Json) => boolean): boolean {
  try {
    return holds(pod);
  } catch {
    return false; // a part of the status that isn't there yet
  }
}

/** What the runtime keeps of each container and sandbox. */
async function runtimeRecords(stand: PeerStand): Promise<Json[]> {
  const ctr = async (...args: string[]): Promise<string> => {
    const words = ['--address', join(stand.directory, 'containerd/c.sock'), '--namespace', 'k8s.io', ...args];
    return (await promisify(execFile)('ctr', words, { maxBuffer: 64 * 1024 * 1024 })).stdout;
  };
  const ids = (await ctr('containers', 'ls', '-q')).split('\n').filter((id) => id !== '');
  const all: Json[] = [];
  const askOneByOne = async (): Promise<void> => {
    for (let id = ids.pop(); id !== undefined; id = ids.pop()) {
      try {
        all.push(JSON.parse(await ctr('containers', 'info', id)));
      } catch {
        // It has been removed since.
      }
    }
  };
  await Promise.all(Array.from({ length: askers }, askOneByOne));
  // Of a container that was started again only the first is looked at.
  return all.sort((a, b) => (a.CreatedAt < b.CreatedAt ? 1 : -1));
}

function progress(what: string): void {
  if (process.env.KUBE_PEER_OUT !== undefined) console.error(`${new Date().toISOString()} ${what}`);
}

/** Deletes all pods; the last status of each, as the watch shows it with the deletion. */
async function allDeleted(stand: PeerStand, cases: readonly PodCase[]): Promise<Record<string, Json>> {
  const ends: Record<string, Json> = {};
  const list = await stand.client.get(podsPath);
  const watch = stand.client.watch(`${podsPath}?watch=1&resourceVersion=${list.metadata.resourceVersion}`, ({ type, object }) => {
    if (type === 'DELETED') ends[object.metadata.name] = JSON.parse(renamed(JSON.stringify(object.status), stand, [[object.metadata.uid, 'UID']]));
  });
  for (const { name } of cases) await stand.client.api('DELETE', `${podsPath}/${name}`);
  await stand.until('all pods are gone', () => cases.every(({ name }) => ends[name] !== undefined));
  watch.close();
  await stand.until('nothing of the pods is left', () => readdirSync(join(stand.root, 'pods')).length === 0);
  return ends;
}

/** By object: each event once, since how often something was tried depends on the moment. */
async function eventsOf(stand: PeerStand): Promise<Record<string, string[]>> {
  const found: Record<string, Set<string>> = {};
  for (const event of (await stand.client.get('/api/v1/namespaces/default/events?limit=5000')).items) {
    const { involvedObject, type, reason, source, reportingComponent, reportingInstance } = event;
    if (involvedObject.kind !== 'Pod' && involvedObject.kind !== 'Node') continue;
    const message = renamed(event.message, stand, [[involvedObject.kind === 'Pod' ? (involvedObject.uid ?? '') : '', 'UID']]);
    const of = involvedObject.kind === 'Pod' ? involvedObject.name : `${involvedObject.kind} ${involvedObject.name}`;
    const from = `${source?.component}/${source?.host ?? ''}`;
    const seen = found[of] ?? new Set();
    found[of] = seen;
    seen.add(`${type} ${reason} ${involvedObject.fieldPath ?? ''} ${from} ${reportingComponent}/${reportingInstance} ${involvedObject.apiVersion}: ${message}`);
  }
  return Object.fromEntries(Object.entries(found).map(([name, events]) => [name, [...events].sort()]));
}
