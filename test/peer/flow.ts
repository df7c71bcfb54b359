// Common parts of all flows: a name, the actions, and short ways to write objects.
import type { Test } from 'tap';
import { busybox, type PeerStand } from './peer-stand.js';

export interface Flow {
  readonly name: string;
  /** @param t its assertions; @param stand a stand with a ready node, shared with other flows */
  run(t: Test, stand: PeerStand): Promise<void>;
}

/** A container that ends at once when it is asked to. */
export function shell(script: string, more: object = {}): object {
  return { name: 'main', image: busybox, command: ['sh', '-c', `trap 'exit 0' TERM\n${script}`], ...more };
}

/** Runs until it is ended, ends at once on SIGTERM, and uses no CPU. */
export const waiting = 'sleep 1000000 & wait';

/** Template of a controller's pods. */
export function template(app: string, containers: readonly object[], spec: object = {}): object {
  return { metadata: { labels: { app } }, spec: { terminationGracePeriodSeconds: 2, containers, ...spec } };
}

export function flowPod(name: string, containers: readonly object[], spec: object = {}, metadata: object = {}): object {
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: 'default', ...metadata }, spec: { terminationGracePeriodSeconds: 2, containers, ...spec } };
}

/** KUBE_PEER_FLOW=WORD,WORD selects the flows whose names contain one of the words. */
function wanted(flows: readonly Flow[]): readonly Flow[] {
  const words = (process.env.KUBE_PEER_FLOW ?? '').split(',');
  return flows.filter(({ name }) => words.some((word) => name.includes(word)));
}

/** Runs flows side by side: most of their time they wait for controllers. */
export async function allOf(t: Test, stand: PeerStand, flows: readonly Flow[]): Promise<void> {
  await Promise.all(wanted(flows).map(({ name, run }) => t.test(name, (t) => run(t, stand))));
}

/** Runs flows of which each changes what the others rely on: the kubelet, the node, the apiserver. */
export async function oneByOne(t: Test, stand: PeerStand, flows: readonly Flow[]): Promise<void> {
  for (const { name, run } of wanted(flows)) await t.test(name, (t) => run(t, stand));
}
