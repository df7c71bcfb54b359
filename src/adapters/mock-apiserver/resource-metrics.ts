// metrics.k8s.io, for `kubectl top`: the answers of a cluster's metrics server, scraped from the kubelets' /metrics/resource as it does.
//
//   a request scrapes each node; a rate needs two samples some seconds apart, so the first request waits for the second sample
//
// Invariants: nothing is scraped without a request; an unreachable node costs its own numbers only; a restarted container has
// no rate across its start.
import { request as httpsRequest } from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';
import { type ApiTarget, type ApiUser, type JsonObject, noSuchPath, refusal, type SimApiserver, wholeList } from '../../sim/index.js';
import { kubeletAddress } from './kubelet-reach.js';
import type { KubeletReach } from './kubelet-streams.js';
import { type NodeSample, parseResourceMetrics, type UsageSample } from './resource-samples.js';

export const metricsGroup = 'metrics.k8s.io';
const metricsVersion = 'v1beta1';
const ownUser: ApiUser = { name: 'system:apiserver', groups: ['system:masters'] };
/** A kubelet shows the same numbers for up to ten seconds. */
const secondSampleMillis = 14_000;
const lookAgainMillis = 1_000;
/** Samples closer together give no useful rate. */
const windowMillis = 5_000;
const scrapeMillis = 10_000;
const scrapeBytesMax = 16 * 1024 * 1024;

interface KnownNode {
  readonly before: NodeSample | null;
  readonly newest: NodeSample;
}

interface Named {
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly labels?: Readonly<Record<string, string>> };
}

export class ResourceMetrics {
  private readonly known = new Map<string, KnownNode>();

  constructor(
    private readonly server: SimApiserver,
    private readonly reach: KubeletReach,
    private readonly now: () => number,
  ) {}

  concerns({ resource }: ApiTarget): boolean {
    return resource.group === metricsGroup;
  }

  /** Throws `ApiRefusal`. */
  async answer(user: ApiUser, target: ApiTarget, labelSelector: string | null): Promise<JsonObject> {
    const { resource, namespace, name, subresource } = target;
    const { plural, version } = resource;
    if (version !== metricsVersion || subresource !== null || (plural !== 'nodes' && plural !== 'pods')) throw noSuchPath();
    this.server.permit(user, name === null ? 'list' : 'get', target, this.now());
    const nodes = this.list('nodes', null, null);
    await this.scrape(nodes);
    const all = plural === 'nodes' ? this.nodeMetrics(this.list('nodes', null, labelSelector)) : this.podMetrics(this.list('pods', namespace, labelSelector));
    if (name === null) return { kind: plural === 'nodes' ? 'NodeMetricsList' : 'PodMetricsList', apiVersion: `${metricsGroup}/${metricsVersion}`, metadata: {}, items: all };
    const one = all.find(({ metadata }) => (metadata as Named['metadata']).name === name);
    if (one === undefined) throw refusal(404, 'NotFound', `${plural}.${metricsGroup} "${name}" not found`, { name, group: metricsGroup, kind: plural });
    return one;
  }

  private list(plural: string, namespace: string | null, labelSelector: string | null): readonly Named[] {
    const target = { resource: { group: '', version: 'v1', plural }, namespace, name: null, subresource: null };
    const { body } = this.server.handle({ ...target, user: ownUser, verb: 'list', options: { ...wholeList, labelSelector } }, this.now());
    return (body as { readonly items?: readonly Named[] }).items ?? [];
  }

  private async scrape(nodes: readonly Named[]): Promise<void> {
    const names = new Set(nodes.map(({ metadata }) => metadata.name));
    for (const name of this.known.keys()) if (!names.has(name)) this.known.delete(name);
    const end = performance.now() + secondSampleMillis;
    await Promise.all(
      nodes.map(async (node) => {
        const { name } = node.metadata;
        do {
          const sample = await this.scrapeNode(node as unknown as JsonObject, name).catch(() => null);
          if (sample === null) return;
          this.take(name, sample);
          if (this.known.get(name)?.before !== null) return;
          await delay(lookAgainMillis);
        } while (performance.now() < end);
      }),
    );
  }

  private take(name: string, sample: NodeSample): void {
    const known = this.known.get(name);
    if (known === undefined) this.known.set(name, { before: null, newest: sample });
    else if (sample.atMillis - known.newest.atMillis >= windowMillis) this.known.set(name, { before: known.newest, newest: sample });
    // A pod that came meanwhile is in the newer sample only.
    else if (sample.atMillis > known.newest.atMillis && known.before !== null && sample.atMillis - known.before.atMillis >= windowMillis)
      this.known.set(name, { before: known.before, newest: sample });
  }

  private async scrapeNode(node: JsonObject, name: string): Promise<NodeSample | null> {
    const { host, port } = kubeletAddress(node, name);
    const { key, certificate: cert } = this.reach.pair;
    const target = { host: this.reach.host ?? host, port, path: '/metrics/resource', key, cert, rejectUnauthorized: false, agent: false, timeout: scrapeMillis };
    const text = await new Promise<string>((resolve, reject) => {
      const asked = httpsRequest(target, (answer) => {
        const chunks: Buffer[] = [];
        let bytes = 0;
        answer.on('data', (chunk: Buffer) => {
          bytes += chunk.length;
          if (bytes > scrapeBytesMax) asked.destroy(new Error('too long'));
          else chunks.push(chunk);
        });
        answer.once('error', reject);
        answer.once('end', () => (answer.statusCode === 200 ? resolve(Buffer.concat(chunks).toString()) : reject(new Error(`status ${answer.statusCode}`))));
      });
      asked.once('timeout', () => asked.destroy(new Error('i/o timeout')));
      asked.once('error', reject);
      asked.end();
    });
    return parseResourceMetrics(text);
  }

  private nodeMetrics(nodes: readonly Named[]): readonly JsonObject[] {
    return nodes.flatMap(({ metadata: { name, labels } }) => {
      const known = this.known.get(name);
      const usage = known === undefined ? null : usageOf(known.before?.node, known.newest.node);
      return known === undefined || usage === null ? [] : [{ metadata: described(name, undefined, labels), ...timed(known), usage }];
    });
  }

  private podMetrics(pods: readonly Named[]): readonly JsonObject[] {
    return pods.flatMap((pod) => {
      const { name, namespace = '', labels } = pod.metadata;
      const known = this.known.get((pod as unknown as { readonly spec?: { readonly nodeName?: string } }).spec?.nodeName ?? '');
      const newest = known?.newest.pods.get(`${namespace}/${name}`);
      if (known === undefined || newest === undefined) return [];
      const before = known.before?.pods.get(`${namespace}/${name}`);
      const containers = [...newest].flatMap(([container, sample]) => {
        const usage = usageOf(before?.get(container), sample);
        return usage === null ? [] : [{ name: container, usage }];
      });
      return containers.length === 0 ? [] : [{ metadata: described(name, namespace, labels), ...timed(known), containers }];
    });
  }
}

function described(name: string, namespace: string | undefined, labels: Readonly<Record<string, string>> | undefined): JsonObject {
  return { name, ...(namespace === undefined ? {} : { namespace }), creationTimestamp: new Date().toISOString(), ...(labels === undefined ? {} : { labels }) };
}

function timed({ before, newest }: KnownNode): JsonObject {
  const seconds = (newest.atMillis - (before?.atMillis ?? newest.atMillis)) / 1_000;
  return { timestamp: new Date(newest.atMillis).toISOString().replace(/\.\d+Z$/, 'Z'), window: `${seconds}s` };
}

/** null: no rate yet. */
function usageOf(before: UsageSample | undefined, newest: UsageSample): { readonly cpu: string; readonly memory: string } | null {
  if (newest.cpu === null || newest.memoryBytes === null) return null;
  // A container that started after the previous sample is measured from its start.
  const isNew = before?.cpu == null || (newest.startedAtMillis !== null && newest.startedAtMillis > before.cpu.atMillis);
  const from = isNew ? (newest.startedAtMillis === null ? null : { atMillis: newest.startedAtMillis, seconds: 0 }) : before.cpu;
  if (from === null || newest.cpu.atMillis <= from.atMillis || newest.cpu.seconds < from.seconds) return null;
  const cores = (newest.cpu.seconds - from.seconds) / ((newest.cpu.atMillis - from.atMillis) / 1_000);
  return { cpu: `${Math.ceil(cores * 1e9)}n`, memory: `${Math.ceil(newest.memoryBytes / 1024)}Ki` };
}

const verbs = ['get', 'list'];

/** Its discovery documents, in several forms. */
export const metricsDiscovery = {
  group: {
    name: metricsGroup,
    versions: [{ groupVersion: `${metricsGroup}/${metricsVersion}`, version: metricsVersion }],
    preferredVersion: { groupVersion: `${metricsGroup}/${metricsVersion}`, version: metricsVersion },
  },
  version: metricsVersion,
  resources: {
    kind: 'APIResourceList',
    apiVersion: 'v1',
    groupVersion: `${metricsGroup}/${metricsVersion}`,
    resources: [
      { name: 'nodes', singularName: '', namespaced: false, kind: 'NodeMetrics', verbs },
      { name: 'pods', singularName: '', namespaced: true, kind: 'PodMetrics', verbs },
    ],
  },
  aggregated: {
    metadata: { name: metricsGroup, creationTimestamp: null },
    versions: [
      {
        version: metricsVersion,
        freshness: 'Current',
        resources: [
          { resource: 'nodes', responseKind: { group: metricsGroup, version: metricsVersion, kind: 'NodeMetrics' }, scope: 'Cluster', singularResource: '', verbs },
          { resource: 'pods', responseKind: { group: metricsGroup, version: metricsVersion, kind: 'PodMetrics' }, scope: 'Namespaced', singularResource: '', verbs },
        ],
      },
    ],
  },
} as const;
