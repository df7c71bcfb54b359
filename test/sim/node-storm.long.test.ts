// A node of a cluster in a storm: an apiserver that fails, loses answers, is late and cuts watches; agents that are killed, a runtime that
// fails, a Node and config maps that are deleted. In the end the state matches the API, and nothing is left behind.
import t from 'tap';
import { draw } from '../../src/domain/kernel/random.js';
import { utf8Decode } from '../../src/domain/values/utf8.js';
import type { Lease } from '../../src/ports/model/lease.js';
import type { Node } from '../../src/ports/model/node.js';
import type { Pod } from '../../src/ports/model/pod.js';
import { type ApiFaultAction, type ApiFaultRule, SimCluster } from '../../src/sim/index.js';
import { ApiCaller } from './api-caller.js';

t.setTimeout(600_000);

const second = 1_000_000;
const minute = 60 * second;
const seeds = 10;
const actions = 60;
const configMaps = ['m0', 'm1', 'm2'];

class Storm {
  readonly cluster: SimCluster;
  private readonly admin: ApiCaller;
  private draws = 0;
  private pods = 0;
  private readonly live = new Set<string>();

  constructor(private readonly seed: number) {
    const objectChangeDetection = this.one(['Watch', 'Cache', 'Get'] as const);
    const cluster = new SimCluster({ seed, nodes: ['n1'], node: {}, apiserver: {}, runtimeSendsEvents: this.chance(0.5), settings: { objectChangeDetection } });
    this.cluster = cluster;
    const clock = {
      get now() {
        return cluster.now;
      },
      set now(_: number) {},
    };
    this.admin = new ApiCaller(cluster.apiserver, undefined, clock);
    cluster.run(5 * second);
  }

  rage(): void {
    this.faults();
    for (let i = 0; i < actions; i++) {
      this.act(String(i));
      this.cluster.run(this.upTo(20 * second));
    }
  }

  calm(): void {
    this.cluster.apiserver.setFaults([], this.cluster.now);
    for (const name of configMaps) this.put(name, 'end');
    this.cluster.run(8 * minute);
  }

  /** What is not as it should be. */
  problems(): string[] {
    const node = this.admin.get('nodes', 'n1', null).body as unknown as Node;
    const lease = this.admin.get('leases', 'n1', 'kube-node-lease').body as unknown as Lease;
    const found: string[] = [];
    const isReady = node.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true;
    if (!isReady) found.push('the node is not ready');
    if (lease.metadata.ownerReferences?.[0]?.uid !== node.metadata.uid) found.push('the lease is not the node’s');
    if (Date.parse(lease.spec.renewTime ?? '') * 1000 < this.cluster.now - 15 * second) found.push('the lease is old');
    const pods = this.admin.list('pods').body.items as Pod[];
    for (const { metadata, status } of pods) {
      if (status?.phase !== 'Running') found.push(`${metadata.name} is ${status?.phase}`);
      found.push(...this.stale(metadata.uid ?? '').map((volume) => `${metadata.name} shows something old in ${volume}`));
    }
    const uids = new Set(pods.map(({ metadata }) => metadata.uid));
    const { objects, tokens } = this.cluster.node().agent.api ?? { objects: { registered: new Map<string, unknown>() }, tokens: { tokens: new Map<string, { podUid: string }>() } };
    for (const uid of objects.registered.keys()) if (!uids.has(uid)) found.push(`${uid} is registered still`);
    for (const { podUid } of tokens.tokens.values()) if (!uids.has(podUid)) found.push(`${podUid} has a token still`);
    return [...found, ...this.cluster.violations.map(({ checker, message }) => `${checker}: ${message}`)];
  }

  private stale(uid: string): string[] {
    const volumes = this.cluster.node().host.state.podDirectories.get(uid)?.volumes ?? new Map();
    return [...volumes].flatMap(([name, { nodes }]) => {
      if (!name.endsWith('/v')) return [];
      const data = nodes.get('..data');
      const file = data?.kind === 'symlink' ? nodes.get(`${data.target}/x`) : undefined;
      return file?.kind === 'file' && utf8Decode(file.bytes) === 'end' ? [] : [name];
    });
  }

  private act(mark: string): void {
    const node = this.cluster.node();
    const kind = this.random();
    if (kind < 0.25) this.create();
    else if (kind < 0.35 && this.live.size > 0) this.remove(this.one([...this.live]));
    else if (kind < 0.55) this.put(this.one(configMaps), mark);
    else if (kind < 0.6) this.admin.remove('configmaps', this.one(configMaps), {});
    else if (kind < 0.63) this.admin.remove('nodes', 'n1', {}, null);
    else if (kind < 0.66) {
      node.kill();
      this.cluster.run(this.upTo(5 * second));
      node.start();
    } else if (kind < 0.7) node.runtimeDown(this.upTo(40 * second));
    else if (kind < 0.75) this.faults();
  }

  private create(): void {
    const name = `p${this.pods++}`;
    const configMap = this.one(configMaps);
    const sources = [{ serviceAccountToken: { path: 'token', expirationSeconds: 600 } }, { configMap: { name: configMap, optional: true } }];
    const volume = this.chance(0.5) ? { name: 'v', configMap: { name: configMap, optional: this.chance(0.5) } } : { name: 'v', projected: { sources } };
    const envFrom = this.chance(0.3) ? [{ configMapRef: { name: configMap, optional: true } }] : [];
    const containers = [{ name: 'c', image: 'busybox', envFrom, volumeMounts: [{ name: 'v', mountPath: '/v' }] }];
    const spec = { nodeName: 'n1', terminationGracePeriodSeconds: 3, automountServiceAccountToken: this.chance(0.5), containers, volumes: [volume] };
    if (this.admin.create('pods', { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: 'default' }, spec }).code === 201) this.live.add(name);
  }

  private remove(name: string): void {
    this.admin.remove('pods', name, {});
    this.live.delete(name);
  }

  private put(name: string, x: string): void {
    const made = this.admin.create('configmaps', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'default' }, data: { x } });
    if (made.code !== 201) this.admin.patch('configmaps', name, { data: { x } });
  }

  /** Three kinds of faults at once, for the node and for other clients. */
  private faults(): void {
    const rules = [0, 1, 2].map((): ApiFaultRule => {
      const operation = this.one(['*', '*', 'patch.*', 'list.*', 'watch.*', 'get.*', 'create.*', 'update.*']);
      return { operation, trigger: { probability: 0.05 + this.random() / 2 }, action: this.trouble() };
    });
    this.cluster.apiserver.setFaults(rules, this.cluster.now);
  }

  private trouble(): ApiFaultAction {
    const code = this.one([500, 503, 429, 409, 410]);
    return this.one<ApiFaultAction>([
      { kind: 'error', code, message: 'no', retryAfterSeconds: null },
      { kind: 'error', code, message: 'no', retryAfterSeconds: 3 },
      { kind: 'lost' },
      { kind: 'latency', micros: this.upTo(20 * second) },
      { kind: 'cut', afterMicros: this.upTo(5 * second) },
      { kind: 'stale', versions: 5 },
      { kind: 'silent' },
    ]);
  }

  private random(): number {
    return draw(this.seed + 1, this.draws++);
  }
  private chance(probability: number): boolean {
    return this.random() < probability;
  }
  private upTo(micros: number): number {
    return Math.floor(this.random() * micros);
  }
  private one<T>(choices: readonly T[]): T {
    return choices[Math.floor(this.random() * choices.length)] as T;
  }
}

for (let seed = 0; seed < seeds; seed++) {
  t.test(`seed ${seed}`, async (t) => {
    const storm = new Storm(seed);
    storm.rage();
    storm.calm();
    t.strictSame(storm.problems(), []);
  });
}
