// The pods of a swarm, as users might write them, and the expected final state of each after the faults end.
// Invariant: under one uid only images and environment change, as in an API server: scripts come with the sandbox, and a terminated pod
// stays so. A pod's further features are drawn by its uid alone.
import type { Container, LifecycleHandler, Probe } from '../../src/ports/model/container.js';
import type { Pod } from '../../src/ports/model/pod.js';
import { Dice } from './dice.js';
import { podOf } from './sim-pods.js';

/** A runtime class that every world has: a handler of the runtime has the same name. */
export const sandboxedClass = 'sandboxed';
/** Where the file of variables is. */
export const envFileVolume = 'written';
export const envFileName = 'app.env';

/** What a pod has to come to when nothing goes wrong any more. */
export type Expectation = 'runs' | 'ends' | 'crashes';
export interface SwarmPod {
  readonly pod: Pod;
  readonly expected: Expectation;
}

/**
 * A pod as a person might write it; `version` makes one manifest's versions differ. Under one uid of its own only images and environment
 * change, as an API server would have it: scripts come with the sandbox, and a pod that has ended stays so.
 */
export function swarmPod(actions: Dice, file: number, version: number): SwarmPod {
  const made = plainPod(actions, file, version);
  // By what doesn't change under one uid.
  const key = made.pod.metadata.uid ?? String(version);
  const featured = withFeatures(made, new Dice(file, `features of ${key}`));
  const mounts = new Dice(file, key).chance(0.3);
  const surrounded = withSurroundings(featured.pod, new Dice(file, `surroundings of ${key}`));
  const mounted = mounts ? withVolumes(surrounded) : surrounded;
  const classed = withClasses(mounted, new Dice(file, `classes of ${key}`));
  return { ...featured, pod: new Dice(file, `image volumes of ${key}`).chance(0.15) ? withImageVolume(classed) : classed };
}

/** A pod with some of what else a spec may ask for. */
function withFeatures({ pod, expected }: SwarmPod, dice: Dice): SwarmPod {
  const { spec } = pod;
  const env = [
    { name: 'NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
    { name: 'LIMIT', valueFrom: { resourceFieldRef: { resource: 'limits.memory' } } },
    { name: 'BOTH', value: '$(NAME)-$(LIMIT)' },
  ];
  const roll = dice.below(8);
  switch (roll) {
    case 0:
      return { expected: 'ends', pod: { ...pod, spec: { ...spec, activeDeadlineSeconds: dice.between(1, 40) } } };
    case 1:
      return {
        expected,
        pod: {
          ...pod,
          spec: { ...spec, shareProcessNamespace: true, containers: spec.containers.map((container) => ({ ...container, env: [...(container.env ?? []), ...env] })) },
        },
      };
    case 2:
      return {
        expected,
        pod: { ...pod, spec: { ...spec, securityContext: { runAsUser: 1000, runAsNonRoot: true, supplementalGroups: [5] }, setHostnameAsFQDN: true, subdomain: 'sub' } },
      };
    case 3:
      // A container that runs permanently starts again under any policy of its pod.
      return expected === 'runs' && spec.initContainers === undefined
        ? { expected, pod: { ...pod, spec: { ...spec, restartPolicy: 'Never', containers: spec.containers.map((container) => ({ ...container, restartPolicy: 'Always' })) } } }
        : { pod, expected };
    case 4:
      return expected === 'runs' ? { expected, pod: restartedWhole(pod) } : { pod, expected };
    default:
      return { pod, expected };
  }
}

/** Namespaces, groups and pull policies, drawn apart from everything else. */
function withSurroundings({ metadata, spec }: Pod, dice: Dice): Pod {
  // Users of its own and a namespace of the host exclude each other.
  const namespaces = spec.hostNetwork === true ? dice.of([{}, { hostPID: true }]) : dice.of([{}, {}, { hostUsers: false }, { hostIPC: true }, { hostPID: true, hostIPC: true }]);
  const fsGroup = dice.of([null, null, 'Always', 'OnRootMismatch'] as const);
  const groups = fsGroup === null ? {} : { securityContext: { ...spec.securityContext, fsGroup: 2000, fsGroupChangePolicy: fsGroup } };
  const pulled = (container: Container): Container => (dice.chance(0.2) ? { ...container, imagePullPolicy: 'Always' } : container);
  const { containers, initContainers } = spec;
  const inits = initContainers === undefined ? {} : { initContainers: initContainers.map(pulled) };
  return { metadata, spec: { ...spec, ...(spec.shareProcessNamespace === true ? {} : namespaces), ...groups, containers: containers.map(pulled), ...inits } };
}

/** Its rank, what runs it, what it is given, what stops it, and a variable from a file, drawn apart from everything else. */
function withClasses({ metadata, spec }: Pod, dice: Dice): Pod {
  const rank = dice.of([{}, {}, { priorityClassName: 'system-node-critical', priority: 2_000_001_000 }]);
  const runtimeClass = dice.chance(0.2) ? { runtimeClassName: sandboxedClass } : {};
  const resources = dice.of([
    null,
    { requests: { cpu: '10m', memory: '16Mi' } },
    { requests: { cpu: '10m' }, limits: { memory: '64Mi' } },
    { requests: { cpu: '20m', memory: '32Mi' }, limits: { cpu: '20m', memory: '32Mi' } },
  ]);
  const stopSignal = dice.of([null, null, 'SIGINT', 'SIGUSR1']);
  const given = (container: Container): Container => ({ ...container, ...(resources === null ? {} : { resources }) });
  // An init container that ends by itself may have none.
  const stopped = (container: Container): Container => (stopSignal === null ? container : { ...container, lifecycle: { stopSignal } });
  const { containers, initContainers } = spec;
  const inits =
    initContainers === undefined
      ? {}
      : { initContainers: initContainers.map((container) => (container.restartPolicy === 'Always' ? stopped(given(container)) : given(container))) };
  // A container may name its signal only where it is said which system it is for.
  const os = stopSignal === null ? {} : { os: { name: 'linux' } };
  const pod = { metadata, spec: { ...spec, ...rank, ...runtimeClass, ...os, containers: containers.map((container) => stopped(given(container))), ...inits } };
  return dice.chance(0.15) ? withEnvFile(pod, dice.chance(0.5)) : pod;
}

/** Each container mounts the files of an image. */
function withImageVolume({ metadata, spec }: Pod): Pod {
  const volumes = [...(spec.volumes ?? []), { name: 'image', image: { reference: 'files:1', pullPolicy: 'IfNotPresent' } }];
  const volumeMounts = [{ name: 'image', mountPath: '/image', readOnly: true }];
  const using = (container: Container): Container => ({ ...container, volumeMounts: [...(container.volumeMounts ?? []), ...volumeMounts] });
  const { containers, initContainers } = spec;
  return { metadata, spec: { ...spec, volumes, containers: containers.map(using), ...(initContainers === undefined ? {} : { initContainers: initContainers.map(using) }) } };
}

/** A variable of each container comes from a file that something of the pod writes when it likes. */
function withEnvFile({ metadata, spec }: Pod, optional: boolean): Pod {
  const fileKeyRef = { volumeName: envFileVolume, path: envFileName, key: 'WRITTEN', optional };
  const volumeMounts = [{ name: envFileVolume, mountPath: '/written' }];
  const reading = (container: Container): Container => ({
    ...container,
    env: [...(container.env ?? []), { name: 'WRITTEN', valueFrom: { fileKeyRef } }],
    volumeMounts: [...(container.volumeMounts ?? []), ...volumeMounts],
  });
  return { metadata, spec: { ...spec, volumes: [...(spec.volumes ?? []), { name: envFileVolume, emptyDir: {} }], containers: spec.containers.map(reading) } };
}

/** One container ends with a code that has all of them start again. */
function restartedWhole({ metadata, spec }: Pod): Pod {
  const [first, ...others] = spec.containers;
  if (first === undefined) return { metadata, spec };
  const rule = { action: 'RestartAllContainers' as const, exitCodes: { operator: 'In' as const, values: [42] } };
  const annotations = { ...metadata.annotations, [`sim.kubelet-ts/${first.name}`]: 'run=3s,exit=42; run=forever' };
  return { metadata: { ...metadata, annotations }, spec: { ...spec, containers: [{ ...first, restartPolicy: 'Always', restartPolicyRules: [rule] }, ...others] } };
}

/** Every container mounts every kind of volume that the node has, and a part of one. */
function withVolumes({ metadata, spec }: Pod): Pod {
  const items = [{ path: 'name', fieldRef: { fieldPath: 'metadata.name' } }];
  const volumes = [
    { name: 'disk', emptyDir: {} },
    { name: 'memory', emptyDir: { medium: 'Memory' } },
    { name: 'info', downwardAPI: { defaultMode: 0o644, items } },
    { name: 'host', hostPath: { path: '/srv/swarm', type: 'DirectoryOrCreate' } },
    { name: 'share', nfs: { server: 'files', path: '/share' } },
  ];
  const volumeMounts = [...volumes.map(({ name }) => ({ name, mountPath: `/${name}` })), { name: 'disk', mountPath: '/part', subPath: 'a/part' }];
  const mounting = (container: Container): Container => ({ ...container, volumeMounts });
  const { containers, initContainers } = spec;
  return { metadata, spec: { ...spec, volumes, containers: containers.map(mounting), ...(initContainers === undefined ? {} : { initContainers: initContainers.map(mounting) }) } };
}

function plainPod(actions: Dice, file: number, version: number): SwarmPod {
  const name = `p${file}`;
  const uid = actions.chance(0.4) ? `uid-${file}-${actions.below(2)}` : undefined;
  const image = actions.of(['busybox', 'nginx:1', 'app:2']);
  const dice = uid === undefined ? actions : new Dice(file, uid);
  const common = {
    ...(uid === undefined ? {} : { uid }),
    grace: dice.of([0, 1, 3, 8]),
    env: String(version),
    image,
    spec: { hostNetwork: dice.chance(0.2) },
  };
  const stop = dice.of(['term=0s', 'term=1s,log=40/s', 'term=20s', 'ignore-term']);
  switch (dice.below(6)) {
    case 0:
      return { expected: 'ends', pod: podOf(name, { ...common, policy: 'Never', containers: { c: `run=${dice.between(1, 20)}s,exit=${dice.below(2)}`, d: 'run=3s' } }) };
    case 1:
      return { expected: 'ends', pod: podOf(name, { ...common, policy: 'OnFailure', containers: { c: `run=2s,exit=1; run=${dice.between(1, 9)}s` }, sidecars: { s: stop } }) };
    case 2:
      return { expected: 'crashes', pod: podOf(name, { ...common, containers: { c: 'run=2s,exit=1', d: stop } }) };
    case 3:
      return { expected: 'runs', pod: podOf(name, { ...common, init: { i: 'run=1s,exit=1; run=2s', j: 'run=1s' }, containers: { c: stop } }) };
    case 4:
      return {
        expected: 'runs',
        pod: podOf(name, { ...common, sidecars: { s: stop, t: 'term=1s' }, init: { i: 'run=1s' }, containers: { c: stop, d: 'run=30s,exit=1; run=forever' } }),
      };
    default:
      return { expected: 'runs', pod: podOf(name, { ...common, containers: { c: stop, d: stop } }) };
  }
}

/** The same pod with probes and hooks, drawn apart from everything else. */
export function withProbesAndHooks({ pod, expected }: SwarmPod, file: number): SwarmPod {
  const dice = new Dice(file, `probes of ${pod.metadata.uid ?? ''}`);
  const handlers: readonly Probe[] = [{ exec: { command: ['check'] } }, { httpGet: { port: 80 } }, { tcpSocket: { port: 80 } }, { grpc: { port: 80 } }];
  const graces = new Dice(file, `graces of ${pod.metadata.uid ?? ''}`);
  // Of their own, where a failure is followed by a stop.
  const grace = (): Partial<Probe> => graces.of([{}, { terminationGracePeriodSeconds: 1 }, { terminationGracePeriodSeconds: 4 }]);
  const probe = (failureThreshold: number): Probe => ({ ...dice.of(handlers), periodSeconds: dice.between(1, 5), timeoutSeconds: 2, failureThreshold });
  // The node of a world has no address of its own, so a hook on the host's network has no target.
  const httpGet = { port: 80, ...(pod.spec.hostNetwork === true ? { host: '127.0.0.1' } : {}) };
  // One that sleeps for longer would be refused.
  const { terminationGracePeriodSeconds: longest = 30 } = pod.spec;
  const hook = (): LifecycleHandler => dice.of([{ exec: { command: ['hook'] } }, { httpGet }, { sleep: { seconds: Math.min(dice.between(0, 3), longest) } }]);
  const dressed = (container: Container): Container => ({
    ...container,
    ...(dice.chance(0.5) ? { readinessProbe: probe(2) } : {}),
    ...(dice.chance(0.5) ? { livenessProbe: { ...probe(3), ...grace() } } : {}),
    ...(dice.chance(0.3) ? { startupProbe: { ...probe(30), ...grace() } } : {}),
    lifecycle: { ...container.lifecycle, ...(dice.chance(0.3) ? { postStart: hook() } : {}), ...(dice.chance(0.5) ? { preStop: hook() } : {}) },
  });
  const { containers, initContainers } = pod.spec;
  const sidecars = initContainers?.map((container) => (container.restartPolicy === 'Always' ? dressed(container) : container));
  return { expected, pod: { ...pod, spec: { ...pod.spec, containers: containers.map(dressed), ...(sidecars === undefined ? {} : { initContainers: sidecars }) } } };
}
