// What is compared of two kubelets, and where they may differ.
import type { Json } from '../admin-client.js';
import { type Difference, differences, flattened } from './flatten.js';

/** A path of a leaf, without the pod's name, and why it may differ. */
const mayDiffer: readonly (readonly [pods: RegExp, path: RegExp, reason: string])[] = [
  [/./, /^(status|end) resources/, 'a row of docs/differences.md: the cgroup of a pod without limits, and of one that has ended'],
  [/./, /^events .* FailedMount .*failed to fetch token: pod "[^"]*" not found$/, "whether the apiserver's admission has seen the pod by then"],
  [/^end-deadline$/, /state terminated/, 'whether the shell hears of its end within a second'],
  [/crash|^end-crash-loop$/, /restartCount|^end .* state |^logs |^end .* lastState/, 'how often it has been started by the time it is looked at'],
  [/crash/, /^events .* Killing /, 'whether a container runs at the moment of the deletion'],
  [/^image-absent$/, /^logs |state waiting/, 'between two pulls, or while it is pulled'],
  [/^(env-key-absent|env-secret-absent|security-root|volume-sub-path-up)$/, /^files /, 'a row of docs/differences.md: files of a container whose configuration is refused'],
  [/^refused-cpu$/, /used: \d+/, 'what runs beside it'],
  [/^(hook-start-fails|hook-start-http|probe-not-started)$/, /^logs |state terminated/, 'how far it has come when it is killed'],
  [/^hook-start$/, /^events .*PreStopHook/, 'whether the hook ends within the grace period'],
];

const nodeMayDiffer: readonly (readonly [path: RegExp, reason: string])[] = [
  [/^node status (declaredFeatures|nodeInfo kubeletVersion|images|capacity|allocatable|conditions)/, 'rows of docs/differences.md; figures of the machine'],
  [/^lease /, 'times'],
  [/^answers .* (text|type)$/, 'texts of figures; rows of docs/differences.md'],
  [/^root /, 'files of its own'],
  [/^cgroups /, 'what runs at the moment'],
];

/** A container that isn't privileged has fewer devices; a privileged one has all of a host, which differ between machines. */
const mostOwnDevices = 40;

/** Of a view: one text for what is of a moment or of chance. */
function steady(view: Json): Json {
  const text = JSON.stringify(view)
    // The last part of a termination log's path is random.
    .replace(/(containers\/[^/"]+\/)[0-9a-f]{8}\b/g, '$1HEX')
    .replace(/\/proc\/\d+\/ns/g, '/proc/PID/ns')
    .replace(/containerd:\/\/ID-[a-z]+/g, 'containerd://ID');
  return JSON.parse(text, (key, value: Json) => {
    // Go's maps have no order.
    if (key === 'env' && typeof value?.[0] === 'string') return [...value].sort();
    if (key === 'resolv.conf') return value.map((line: string) => line.split(' ').sort().join(' '));
    if (key === 'events') return eventTexts(value);
    if (key === 'devices' && value?.length > mostOwnDevices) return ['of the host'];
    if (key === 'files') return Object.fromEntries(Object.entries(value).map(([path, mode]) => [path.replace(/\/\d+\.log$/, '/N.log'), mode]));
    return value;
  });
}

/** Which events there are; of probes and back-offs it depends on the moment. */
function eventTexts(events: readonly string[]): Record<string, number> {
  const steadyOnes = events.filter((text) => !/ Unhealthy | BackOff |combined from/.test(text));
  return Object.fromEntries(steadyOnes.map((text) => [text.replace(/ in \d[\d.]*m?s( \([^)]*\))?/, ' in TIME').replace(/used: \d+/, 'used: N'), 1]));
}

/** The part of a view that is compared: without figures and the names of metrics. */
export function compared({ pods, node: { node, lease, leaseOwners, csiNode, answers, configz, root, cgroups } }: Json): Json {
  const ofPods = Object.entries(pods).map(([name, pod]) => [name, steady(withoutPlace(pod))]);
  return { pods: Object.fromEntries(ofPods), node: steady({ node, lease, leaseOwners, csiNode, answers, configz, root, cgroups }) };
}

/** Pods that have settled in both views. */
export function inBoth(go: Json, ours: Json): string[] {
  const isSettled = (pod: Json): boolean => pod !== undefined && pod.notSettled === undefined;
  return Object.keys(go.pods).filter((name) => isSettled(go.pods[name]) && isSettled(ours.pods[name]));
}

/** Of two views that are compared: what differs and may not. */
export function faults(go: Json, ours: Json): Difference[] {
  const ofPods = inBoth(go, ours).flatMap((name) => {
    const mayHere = mayDiffer.filter(([pods]) => pods.test(name)).map(([, path]) => path);
    return differences(flattened(withoutServices(name, go.pods[name])), flattened(withoutServices(name, ours.pods[name])))
      .filter(({ path, go: one, ours: other }) => !mayHere.some((pattern) => pattern.test(path) || pattern.test(`${one} ${other}`)))
      .map((found) => ({ ...found, path: `${name}: ${found.path}` }));
  });
  const ofNode = differences(flattened(go.node), flattened(ours.node)).filter(({ path }) => !nodeMayDiffer.some(([pattern]) => pattern.test(path)));
  return [...ofPods, ...ofNode];
}

const servicePod = 'env-services';

/** The service of one case is in the environment of all pods that start after it: which those are depends on the cases of the run. */
function withoutServices(name: string, pod: Json): Json {
  if (name === servicePod) return pod;
  const isOfService = (line: Json): boolean => typeof line === 'string' && line.startsWith('DB_MAIN_');
  return JSON.parse(JSON.stringify(pod), (key, value: Json) => (key === 'env' && Array.isArray(value) ? value.filter((line) => !isOfService(line)) : value));
}

/** The directory of a pod's logs and its own have the same place in the view. */
function withoutPlace(pod: Json): Json {
  if (pod.files === undefined) return pod;
  const { '.': _, ...files } = pod.files;
  return { ...pod, files };
}
