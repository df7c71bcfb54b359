// A node of a cluster where everything but the daemon is a mock: the bundled program as a process of its own, an apiserver and a runtime in this
// one, which count its requests. For benchmarks of the daemon's own cost.
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type MockApiserver, startMockApiserver } from '../../src/adapters/mock-apiserver/index.js';
import { type MockCriServer, startMockCri } from '../../src/adapters/mock-cri/index.js';
import type { Pod } from '../../src/ports/model/pod.js';
import { type ApiRequest, type ApiUser, wholeList } from '../../src/sim/index.js';
import { KubeletProcess, manifest, nodeName } from '../../test/containerd/kubelet-process.js';
import type { PrivateContainerd } from '../../test/containerd/private-containerd.js';
import { beginLoopDelay, IdleProcess, type LoopDelay, measurable } from './loop-delay.js';
import { cpuMsOf, round } from './process-cost.js';

export { nodeName } from '../../test/containerd/kubelet-process.js';

const untilMs = 120_000;
const pollMs = 50;
const quietMs = 5_000;
const admin: ApiUser = { name: 'admin', groups: ['system:masters'] };
const pods = { group: '', version: 'v1', plural: 'pods' };
const nodeUserName = `system:node:${nodeName}`;

export type Counts = ReadonlyMap<string, number>;

/** What was used and asked between two moments. */
export interface Span {
  readonly seconds: number;
  readonly cpuMs: number;
  /** By kind: `patch pods/status`. */
  readonly requests: Readonly<Record<string, number>>;
  /** By method of the runtime's interface. */
  readonly calls: Readonly<Record<string, number>>;
}

export class MockNode {
  private readonly requests: Counts;
  private readonly calls: Counts;
  readonly loopDelayFile: string;
  readonly kubeconfig: string;

  private constructor(
    readonly directory: string,
    readonly server: MockApiserver,
    readonly runtime: MockCriServer,
    readonly kubelet: KubeletProcess,
    private readonly idle: IdleProcess,
    calls: Counts,
  ) {
    this.calls = calls;
    this.loopDelayFile = join(directory, 'loop-delay');
    this.kubeconfig = server.kubeconfig({ commonName: nodeUserName, organizations: ['system:nodes'] });
    this.requests = countRequests(server);
    const path = join(directory, 'kubelet.conf');
    writeFileSync(path, this.kubeconfig);
    kubelet.flags.push('--kubeconfig', path);
    Object.assign(kubelet.environment, measurable(this.loopDelayFile));
  }

  /** The daemon runs, and its node is ready. @param settings further fields of its configuration */
  static async start(name: string, settings: object = {}): Promise<MockNode> {
    const directory = realpathSync(mkdtempSync(join(tmpdir(), `${name}-bench-`)));
    const calls = new Map<string, number>();
    const listen = `unix://${directory}/cri.sock`;
    const observe = (method: string): void => count(calls, method);
    const latencies = { pull: 1_000 };
    const runtime = await startMockCri({ seed: 1, registry: 'any', pullBytesPerSecond: 1e12, latencies, profile: 'containerd-1.6', listen, observe });
    const server = await startMockApiserver();
    const place = { directory, endpoint: runtime.endpoint, cgroupRoot: '/', images: {} } as unknown as PrivateContainerd;
    const kubelet = await KubeletProcess.prepare(place, 'node', { cgroupsPerQOS: false, enforceNodeAllocatable: [], maxPods: 400, ...settings });
    const idle = await IdleProcess.start(join(directory, 'idle-delay'));
    const node = new MockNode(directory, server, runtime, kubelet, idle, calls);
    try {
      await node.boot();
      return node;
    } catch (error) {
      await node.stop();
      throw error;
    }
  }

  async boot(): Promise<void> {
    await this.kubelet.start();
    await this.until('the node is ready', () => this.nodes().some(isReady));
  }

  async stop(): Promise<void> {
    await this.kubelet.kill();
    this.idle.stop();
    await this.server.stop();
    await this.runtime.stop();
    rmSync(this.directory, { recursive: true });
  }

  /** A request of the administrator's; throws when it is refused. */
  ask(verb: ApiRequest['verb'], plural: string, name: string | null, body?: object, more: Partial<ApiRequest> = {}): unknown {
    const resource = { ...pods, plural };
    const namespace = plural === 'nodes' ? null : 'default';
    const patch = verb === 'patch' ? ({ patch: 'merge-patch' } as const) : {};
    const options = verb === 'list' ? { options: { ...wholeList, fieldSelector: `spec.nodeName=${nodeName}` } } : {};
    const request = { user: admin, verb, resource, namespace, name, subresource: null, body, ...patch, ...options, ...more };
    const answer = this.server.api.handle(request, this.server.time.now());
    if (answer.code >= 400) throw new Error(String(answer.body.message));
    return answer.body;
  }

  /** Pods of one container each. */
  create(names: readonly string[], spec: object = {}): void {
    const containers = [{ name: 'main', image: 'app:1', env: [{ name: 'GREETING', value: 'hello' }], resources: { requests: { cpu: '1m', memory: '1Mi' } } }];
    const usual = { nodeName, hostNetwork: false, dnsPolicy: 'Default', automountServiceAccountToken: false, containers };
    for (const name of names) this.ask('create', 'pods', null, manifest(name, { ...usual, ...spec }));
  }

  pods(): readonly Pod[] {
    return (this.ask('list', 'pods', null) as { readonly items: readonly Pod[] }).items;
  }

  private nodes(): readonly Pod[] {
    return (this.ask('list', 'nodes', null, undefined, { options: wholeList }) as { readonly items: readonly Pod[] }).items;
  }

  async untilReady(many: number): Promise<void> {
    await this.until(`${many} pods are ready`, () => this.pods().filter(isReady).length === many);
  }

  /** Waits until nothing follows any more from what happened: events are written as slowly as they are allowed to be. */
  async untilQuiet(): Promise<void> {
    for (const end = Date.now() + untilMs; ; ) {
      const since = this.begin();
      await delay(quietMs);
      if (Object.keys(since().requests).every((kind) => kind === 'update leases')) return;
      if (Date.now() > end) throw new Error(`the node does not come to rest: ${JSON.stringify(since().requests)}`);
    }
  }

  /** Waits until the runtime holds no sandbox but those of the pods that there are. */
  async untilCollected(): Promise<void> {
    const made = (method: string): number => this.calls.get(method) ?? 0;
    await this.until('ended sandboxes are removed', () => made('RunPodSandbox') - made('RemovePodSandbox') === this.pods().length);
  }

  async until(what: string, holds: () => boolean | Promise<boolean>, everyMs = pollMs): Promise<void> {
    for (const end = Date.now() + untilMs; !(await holds()); await delay(everyMs)) {
      if (Date.now() > end) throw new Error(`it did not come about: ${what}`);
    }
  }

  /** Begins to count; the answer says what was used since. @param pid another process whose processor time is meant */
  begin(pid = this.kubelet.pid): () => Span {
    const from = { at: performance.now(), cpu: cpuMsOf(pid), requests: new Map(this.requests), calls: new Map(this.calls) };
    return () => {
      const cpuMs = cpuMsOf(pid) - from.cpu;
      const seconds = (performance.now() - from.at) / 1000;
      return { seconds, cpuMs, requests: difference(this.requests, from.requests), calls: difference(this.calls, from.calls) };
    };
  }

  /** Begins to measure how late the loop of a process is; the answer ends it, and says beside it how late an idle process was meanwhile. */
  beginLoopDelay(pid = this.kubelet.pid, path = this.loopDelayFile): () => Promise<LoopDelay & { readonly idleProcess: LoopDelay }> {
    const ends = [beginLoopDelay(pid, path), this.idle.begin()] as const;
    return async () => ({ ...(await ends[0]()), idleProcess: await ends[1]() });
  }
}

/** Counts what the node asks from now on, by kind: `patch pods/status`. What the server itself remembers is bounded. */
export function countRequests(server: MockApiserver): Counts {
  const counts = new Map<string, number>();
  const { audit } = server.api;
  const add = audit.add.bind(audit);
  audit.add = (request, code, at) => {
    const subresource = request.subresource === null ? '' : `/${request.subresource}`;
    if (request.user.name === nodeUserName) count(counts, `${request.verb} ${request.resource.plural}${subresource}`);
    add(request, code, at);
  };
  return counts;
}

export function isReady({ status }: Pod): boolean {
  return (status?.conditions ?? []).some((condition) => condition.type === 'Ready' && condition.status === 'True');
}

/** Each as many a minute. */
export function aMinute(counts: Readonly<Record<string, number>>, seconds: number): Record<string, number> {
  return Object.fromEntries(Object.entries(counts).map(([kind, times]) => [kind, round((times * 60) / seconds)]));
}

function count(counts: Map<string, number>, kind: string): void {
  counts.set(kind, (counts.get(kind) ?? 0) + 1);
}

export function difference(now: Counts, before: Counts): Record<string, number> {
  const rows = [...now].map(([kind, times]): [string, number] => [kind, times - (before.get(kind) ?? 0)]);
  return Object.fromEntries(rows.filter(([, times]) => times > 0).sort(([a], [b]) => (a < b ? -1 : 1)));
}
