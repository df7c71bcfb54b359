// Answers of a runtime with a field that is absent, empty, absurd or broken, with the whole daemon above them: the daemon goes on, the pods that aren't concerned
// run, a pod that is says what is wrong with the answer, and runs once the runtime answers as it should.
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { criProtocol } from '../../src/adapters/cri/index.js';
import type { Daemon } from '../../src/app/daemon/start-daemon.js';
import { varint, wireMutations } from '../adapters/wire-mutations.js';
import { until } from '../support/until.js';
import { ask } from './ask-daemon.js';
import { startCriProxy } from './cri-proxy.js';
import { phaseOf, Stage } from './stage.js';

t.setTimeout(580_000);

/** Pods that failed are retried after back-offs, and there are many. */
const patience = { boundMillis: 120_000 };

interface Oddity {
  /** The pod that it concerns, without the node's name. */
  readonly pod: string;
  readonly method: string;
  /** As wireMutations names it. */
  readonly change: string;
}

/** The name of the pod of a request, where the pod can be told from the request. */
type PodOf = (request: Buffer, answer: Buffer) => string | undefined;

const { RunPodSandboxRequest, CreateContainerRequest, PodSandboxStatusResponse, ContainerStatusResponse, ImageStatusRequest, PullImageRequest, PodSandbox, Container } =
  criProtocol as unknown as Readonly<Record<string, { decode(bytes: Buffer): never }>>;
const { Image } = criProtocol as unknown as { readonly Image: { decode(bytes: Buffer): never } };
const decoded = <T>(type: { decode(bytes: Buffer): never } | undefined, bytes: Buffer): T => type?.decode(bytes) as T;
const podLabel = 'io.kubernetes.pod.name';
const nameOf: Readonly<Record<string, PodOf>> = {
  RunPodSandbox: (request) => decoded<{ config?: { metadata?: { name: string } } }>(RunPodSandboxRequest, request).config?.metadata?.name,
  CreateContainer: (request) => decoded<{ sandboxConfig?: { metadata?: { name: string } } }>(CreateContainerRequest, request).sandboxConfig?.metadata?.name,
  PodSandboxStatus: (_request, answer) => decoded<{ status?: { metadata?: { name: string } } }>(PodSandboxStatusResponse, answer).status?.metadata?.name,
  ContainerStatus: (_request, answer) => decoded<{ status?: { labels?: Readonly<Record<string, string>> } }>(ContainerStatusResponse, answer).status?.labels?.[podLabel],
  ImageStatus: (request) => podOfImage(decoded<{ image?: { image: string } }>(ImageStatusRequest, request).image?.image),
  PullImage: (request) => podOfImage(decoded<{ image?: { image: string } }>(PullImageRequest, request).image?.image),
};

/** Lists have an item for each pod: the messages within their one field. */
const itemsOf: Readonly<Record<string, { decode(bytes: Buffer): never } | undefined>> = { ListPodSandbox: PodSandbox, ListContainers: Container };

/** A list as its items, each with its pod's name. */
function itemsIn(type: { decode(bytes: Buffer): never }, list: Buffer): readonly { readonly pod: string | undefined; readonly bytes: Buffer }[] {
  const items: { readonly pod: string | undefined; readonly bytes: Buffer }[] = [];
  for (let at = 0; at < list.length; ) {
    let [length, shift] = [0, 0];
    // The tag of field 1 is one byte; a varint of the length follows.
    for (at++; ; shift += 7) {
      const byte = list[at++] ?? 0;
      length += (byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    const bytes = list.subarray(at, at + length);
    at += length;
    items.push({ pod: decoded<{ labels?: Readonly<Record<string, string>> }>(type, bytes).labels?.[podLabel], bytes });
  }
  return items;
}

function listOf(items: readonly Buffer[]): Buffer {
  return Buffer.concat(items.flatMap((bytes) => [Buffer.from([0x0a]), varint(BigInt(bytes.length)), bytes]));
}

/** Each pod has an image of its own: `r.io/<pod>:1`. */
function podOfImage(image = ''): string | undefined {
  const name = /r\.io\/([^:@]+)/.exec(image)?.[1];
  return name === undefined ? undefined : `${name}-n1`;
}

class OddRuntime {
  isOdd = true;
  readonly oddities = new Map<string, Oddity>();
  /** Pods whose answers were changed. */
  readonly changed = new Set<string>();
  readonly answers = new Map<string, Buffer>();
  /** The last change for each pod: a list is asked for every second, and making a change costs a turn. */
  private readonly made = new Map<string, { readonly answer: Buffer; readonly bytes: Buffer | null }>();

  change(method: string, request: Buffer, answer: Buffer): Buffer {
    const type = itemsOf[method];
    if (type !== undefined) return listOf(itemsIn(type, answer).map(({ pod, bytes }) => this.changeOf(method, pod, bytes)));
    return this.changeOf(method, nameOf[method]?.(request, answer), answer);
  }

  private changeOf(method: string, podName: string | undefined, answer: Buffer): Buffer {
    const pod = podName?.replace(/-n1$/, '');
    if (pod?.startsWith('model') === true && answer.length > (this.answers.get(method)?.length ?? -1)) this.answers.set(method, answer);
    const oddity = pod === undefined ? undefined : this.oddities.get(pod);
    if (!this.isOdd || oddity === undefined || oddity.method !== method) return answer;
    const before = this.made.get(oddity.pod);
    const made = before?.answer.equals(answer) === true ? before.bytes : changedAs(oddity.change, answer);
    this.made.set(oddity.pod, { answer, bytes: made });
    if (made === null) return answer;
    this.changed.add(oddity.pod);
    return made;
  }
}

/** null: the answer has no such field. */
function changedAs(change: string, answer: Buffer): Buffer | null {
  for (const [name, bytes] of wireMutations(answer)) if (name === change) return bytes;
  return null;
}

/** The state's default, created: such a container waits to be started, as its status says. */
const saysCreated: ReadonlySet<string> = new Set(['1.3 absent', '1.3 of another wire type', '1.3 is 0']);

async function stageWith(t: Test): Promise<{ readonly stage: Stage; readonly odd: OddRuntime; readonly daemon: Daemon }> {
  const odd = new OddRuntime();
  const stage = await Stage.open({ offersEvents: false });
  const proxy = await startCriProxy(join(stage.directory, 'odd.sock'), stage.runtime.endpoint, (method, request, answer) => odd.change(method, request, answer));
  t.teardown(async () => {
    await stage.close();
    proxy.close();
  });
  stage.configurationMore = `containerRuntimeEndpoint: ${proxy.endpoint}\nmaxPods: 1000\nregistryPullQPS: 0\nserializeImagePulls: false\n`;
  return { stage, odd, daemon: await stage.start() };
}

/**
 * Changes of an answer that differ in kind: of each field down to that depth, by the number of dots. Of a list's item, those that leave the list readable:
 * otherwise no pod has an answer.
 */
function changesOf(method: string, answer: Buffer, depth: number): readonly string[] {
  const readable = (bytes: Buffer): boolean => {
    try {
      itemsOf[method]?.decode(bytes);
      return true;
    } catch {
      return false;
    }
  };
  const names = new Set([...wireMutations(answer)].flatMap(([name, bytes]) => (readable(bytes) ? [name] : [])));
  return [...names].filter((name) => name !== 'cut off' && name.split('.').length <= depth && !/repeated/.test(name));
}

for (const [method, depth] of [
  ['RunPodSandbox', 2],
  ['CreateContainer', 2],
  ['PodSandboxStatus', 2],
  ['ContainerStatus', 2],
  ['ImageStatus', 2],
  ['PullImage', 2],
  ['ListPodSandbox', 1],
  ['ListContainers', 1],
] as const) {
  t.test(`odd answers of ${method}`, async (t) => {
    const { stage, odd, daemon } = await stageWith(t);
    stage.manifest('model.yaml', stage.pod('model', 'r.io/model:1'));
    await until('the first pod runs', () => phaseOf(daemon, 'model-n1') === 'Running' && odd.answers.has(method), patience);
    const changes = changesOf(method, odd.answers.get(method) as Buffer, depth);
    t.ok(changes.length > 2, `${changes.length} changes`);
    for (const [i, change] of changes.entries()) {
      const pod = `odd${i}`;
      odd.oddities.set(pod, { pod, method, change });
      stage.manifest(`${pod}.yaml`, stage.pod(pod, `r.io/${pod}:1`));
    }
    stage.manifest('good.yaml', stage.pod('good', 'r.io/good:1'));
    const unchanged = (): readonly string[] => [...odd.oddities.values()].filter(({ pod }) => !odd.changed.has(pod)).map(({ pod, change }) => `${pod}: ${change}`);
    await until('the answers were odd', () => unchanged().length === 0, patience).catch(() => t.strictSame(unchanged(), [], 'pods whose answers were as they should be'));
    await until('a pod beside them runs', () => phaseOf(daemon, 'good-n1') === 'Running', patience);
    const says = (pod: string): boolean =>
      stage.log.lines.some((line) => line.includes(`${pod}-n1`) && (/^(warn|error)/.test(line) || line.includes('state, try killing it before restart')));
    const shows = ({ pod, change }: Oddity): boolean => phaseOf(daemon, `${pod}-n1`) === 'Running' || says(pod) || (method === 'ContainerStatus' && saysCreated.has(change));
    const silent = (): readonly string[] => [...odd.oddities.values()].filter((oddity) => !shows(oddity)).map(({ pod, change }) => `${pod}: ${change}`);
    await until('each runs, or the log says why not', () => silent().length === 0, patience).catch(() => t.strictSame(silent(), [], 'pods that neither run nor say why'));
    odd.isOdd = false;
    const waits = (): readonly string[] => [...odd.oddities.values()].filter(({ pod }) => phaseOf(daemon, `${pod}-n1`) !== 'Running').map(({ pod, change }) => `${pod}: ${change}`);
    await until('all run once the runtime answers as it should', () => waits().length === 0, patience).catch(() => t.strictSame(waits(), [], 'pods that never run'));
    t.equal(phaseOf(daemon, 'model-n1'), 'Running', 'the first pod runs on');
  });
}

/** Answers about the node, of which no pod is the subject: asked for again and again. */
const ofTheNode = ['Status', 'Version', 'RuntimeConfig', 'ListContainerStats', 'ImageFsInfo', 'ListImages'] as const;

t.test('odd answers about the node', async (t) => {
  const seen = new Map<string, Buffer>();
  const waiting = new Map<string, Buffer[]>();
  const stage = await Stage.open({ offersEvents: false });
  const proxy = await startCriProxy(join(stage.directory, 'odd.sock'), stage.runtime.endpoint, (method, _request, answer) => {
    if (!ofTheNode.some((name) => name === method)) return answer;
    if (!seen.has(method) && answer.length > 0) {
      seen.set(method, answer);
      waiting.set(
        method,
        [...wireMutations(answer)].map(([, bytes]) => bytes),
      );
    }
    return hasStarted ? (waiting.get(method)?.shift() ?? answer) : answer;
  });
  let hasStarted = false;
  t.teardown(async () => {
    await stage.close();
    proxy.close();
  });
  stage.configurationMore = `containerRuntimeEndpoint: ${proxy.endpoint}\nenableServer: true\nnodeStatusUpdateFrequency: 1s\n`;
  stage.manifest('first.yaml', stage.pod('first'));
  const daemon = await stage.start();
  await until('the first pod runs', () => phaseOf(daemon, 'first-n1') === 'Running');
  const [running] = stage.running;
  hasStarted = true;
  for (let i = 0; i < 60; i++) {
    // Statistics are asked for by their readers.
    for (const path of ['/stats/summary', '/metrics/resource', '/metrics/cadvisor']) t.ok((await ask(daemon, path)).status < 600, `${path} is answered`);
  }
  hasStarted = false;
  stage.manifest('second.yaml', stage.pod('second'));
  await until('another one runs afterwards', () => phaseOf(daemon, 'second-n1') === 'Running');
  t.ok(running !== undefined && stage.running.includes(running), 'the container that ran runs on');
  t.ok(seen.size > 1, `answers of ${[...seen.keys()].join(', ')}`);
});

/** A list of images: the given ones, and after them each image of which one field is odd, as far as the list stays readable. */
function oddImages(list: Buffer): Buffer {
  const [first] = itemsIn(Image, list);
  if (first === undefined) return list;
  const readable = (bytes: Buffer): boolean => {
    try {
      Image.decode(bytes);
      return true;
    } catch {
      return false;
    }
  };
  const changed = [...wireMutations(first.bytes)].map(([, bytes]) => bytes).filter(readable);
  return Buffer.concat([list, listOf(changed)]);
}

t.test('odd answers of ListImages', async (t) => {
  let change = (list: Buffer): Buffer => list;
  let lists = 0;
  const removed: string[] = [];
  const stage = await Stage.open({ offersEvents: false });
  const proxy = await startCriProxy(join(stage.directory, 'odd.sock'), stage.runtime.endpoint, (method, request, answer) => {
    if (method === 'RemoveImage') removed.push(decoded<{ image?: { image: string } }>(ImageStatusRequest, request).image?.image ?? '');
    if (method !== 'ListImages' || answer.length === 0) return answer;
    lists++;
    return change(answer);
  });
  t.teardown(async () => {
    await stage.close();
    proxy.close();
  });
  stage.configurationMore = `containerRuntimeEndpoint: ${proxy.endpoint}\n`;
  stage.manifest('first.yaml', stage.pod('first'));
  const once = await stage.start();
  await until('the first pod runs', () => phaseOf(once, 'first-n1') === 'Running');
  await once.stop();
  const [running] = stage.running;
  for (const [what, changed, line] of [
    ['each field of an image', oddImages, /InvalidImageID.*ImageID is not valid, skipping, image: /],
    ['cut off', (list: Buffer) => list.subarray(0, list.length - 1), /Image garbage collection failed once.*list answer can't be read/],
  ] as const) {
    change = changed;
    lists = 0;
    // The images are listed when the runtime's containers are known.
    const daemon = await stage.start({ ownsImages: true });
    await until(`${what}: they were listed`, () => lists > 0);
    await until(`${what}: the log says so`, () => stage.log.lines.some((each) => line.test(each)));
    stage.manifest(`${lists}-${what.length}.yaml`, stage.pod(`after-${what.length}`));
    await until(`${what}: another pod runs`, () => phaseOf(daemon, `after-${what.length}-n1`) === 'Running');
    t.equal(phaseOf(daemon, 'first-n1'), 'Running', what);
    await daemon.stop();
  }
  t.ok(running !== undefined && stage.running.includes(running), 'the container that ran runs on');
  t.strictSame(removed, [], 'no image is removed');
});
