// What the kubelet pays to decode the ListContainers answer of a node with 500 containers, with the text encoding of the
// CRI adapter and with the protobuf library's own. Each sample is a fresh process, since the setting is global and a
// process that saw both would run code compiled for both; samples alternate, so that other load hits both alike.
// Output: one line {"bench","containers","messageBytes","decodeMedianMs","libraryDecodeMedianMs","ratio"}; ratio < 1 is a gain.
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { ContainerState, ListContainersResponse } from '../src/adapters/cri/gen/cri-runtime-v1.js';
import { installTextEncoding } from '../src/adapters/cri/text-encoding.js';

const containers = 500;
const samples = 7;
const warmUpRuns = 40;
const timedRuns = 60;

/** Hexadecimal digits that differ from one seed to the next, as ids and digests do. */
function hex(seed: number, length: number): string {
  let state = (seed * 2_654_435_761 + 1) >>> 0;
  let text = '';
  while (text.length < length) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    text += state.toString(16).padStart(8, '0');
  }
  return text.slice(0, length);
}

/** A container as containerd lists it: what the kubelet labelled and annotated it with comes back. */
function container(index: number) {
  const uid = hex(index, 32).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
  const image = `sha256:${hex(index % 40, 64)}`;
  return {
    id: hex(index + 1000, 64),
    podSandboxId: hex(index + 2000, 64),
    metadata: { name: `app-${index % 7}`, attempt: index % 3 },
    image: { image, userSpecifiedImage: `registry.example/team-${index % 9}/service-${index % 40}:v1.${index % 40}.0` },
    imageRef: image,
    imageId: image,
    state: index % 10 === 0 ? ContainerState.CONTAINER_EXITED : ContainerState.CONTAINER_RUNNING,
    createdAt: 1_770_000_000_123_456_789n + BigInt(index) * 1_000_000_007n,
    labels: {
      'io.kubernetes.container.name': `app-${index % 7}`,
      'io.kubernetes.pod.name': `service-${index % 40}-${hex(index, 10)}-${hex(index, 5)}`,
      'io.kubernetes.pod.namespace': `team-${index % 9}`,
      'io.kubernetes.pod.uid': uid,
    },
    annotations: {
      'io.kubernetes.container.hash': hex(index, 8),
      'io.kubernetes.container.ports': JSON.stringify([{ name: 'http', containerPort: 8080 + (index % 10), protocol: 'TCP' }]),
      'io.kubernetes.container.restartCount': String(index % 3),
      'io.kubernetes.container.terminationMessagePath': '/dev/termination-log',
      'io.kubernetes.container.terminationMessagePolicy': 'File',
      'io.kubernetes.pod.terminationGracePeriod': '30',
    },
  };
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)]!;
}

function message(): Buffer {
  const response = ListContainersResponse.fromPartial({ containers: Array.from({ length: containers }, (_, index) => container(index)) });
  return Buffer.from(ListContainersResponse.encode(response).finish());
}

/** One process, one setting: the median of its warm runs, in ms. */
function sample(): number {
  const bytes = message();
  const timings: number[] = [];
  for (let run = 0; run < warmUpRuns + timedRuns; run++) {
    const start = performance.now();
    const { length } = ListContainersResponse.decode(bytes).containers;
    const took = performance.now() - start;
    if (length !== containers) throw new Error(`decoded ${length} containers`);
    if (run >= warmUpRuns) timings.push(took);
  }
  return median(timings);
}

const mode = process.argv[2];
if (mode === undefined) {
  const self = fileURLToPath(import.meta.url);
  const child = (name: string) => Number(execFileSync(process.execPath, [self, name], { encoding: 'utf8', timeout: 60_000 }));
  const pairs = Array.from({ length: samples }, () => ({ ours: child('ours'), library: child('library') }));
  const decodeMedianMs = median(pairs.map(({ ours }) => ours));
  const libraryDecodeMedianMs = median(pairs.map(({ library }) => library));
  const rounded = (value: number) => Number(value.toFixed(3));
  const figures = { decodeMedianMs: rounded(decodeMedianMs), libraryDecodeMedianMs: rounded(libraryDecodeMedianMs), ratio: rounded(decodeMedianMs / libraryDecodeMedianMs) };
  console.log(JSON.stringify({ bench: 'cri-decode', containers, messageBytes: message().length, ...figures }));
} else {
  if (mode === 'ours') installTextEncoding();
  console.log(sample());
}
