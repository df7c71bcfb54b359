// The mock apiserver with kubectl, an independent client.
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { startMockApiserver } from '../../src/adapters/mock-apiserver/index.js';

const kubectl = '/usr/bin/kubectl';
const skip = existsSync(kubectl) ? false : `there is no ${kubectl}`;

const manifest = `apiVersion: v1
kind: ConfigMap
metadata: {name: c, labels: {a: b}}
data: {k: v}
---
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers: [{name: c, image: "busybox:1", env: [{name: A, value: "1"}]}]
`;
const bad = 'apiVersion: v1\nkind: Pod\nmetadata: {name: z}\nspec: {bogus: 1, containers: []}\n';
const node = 'apiVersion: v1\nkind: Node\nmetadata: {name: n1}\nstatus: {allocatable: {cpu: "2", memory: 2Gi, pods: "10"}, conditions: [{type: Ready, status: "True"}]}\n';
const twice = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: s}\ndata: {k: v, l: m}\n';
const once = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: s}\ndata: {k: w}\n';

/** Sentence, words, input, what is answered. In order: one needs what the one before made. */
const rows: readonly (readonly [sentence: string, words: string, input: string, want: RegExp])[] = [
  ['version', 'version', '', /Server Version: v1\.36/],
  ['namespaces', 'get ns -o name', '', /^namespace\/default\nnamespace\/kube-node-lease\nnamespace\/kube-public\nnamespace\/kube-system\n$/],
  ['collections', 'api-resources --api-group= -o name', '', /configmaps\n[\s\S]*pods\n/],
  ['apply creates', 'apply -f -', manifest, /configmap\/c created\npod\/p created/],
  ['apply again', 'apply -f -', manifest, /configmap\/c unchanged\npod\/p unchanged/],
  ['apply changes', 'apply -f -', manifest.replace('k: v', 'k: w'), /configmap\/c configured\npod\/p unchanged/],
  ['diff of what differs', 'diff -f -', manifest, /- {2}k: w\n\+ {2}k: v/],
  ['diff of what does not', 'diff -f -', manifest.replace('k: v', 'k: w'), /^$/],
  ['a field of an object', 'get cm c -o jsonpath={.data.k}', '', /^w$/],
  ['a strict server', 'create -f -', bad, /BadRequest.*Pod in version "v1" cannot be handled as a Pod: strict decoding error: unknown field "spec.bogus"/],
  ['an invalid pod', 'create --validate=false -f -', bad, /The Pod "z" is invalid: spec.containers: Required value/],
  ['no node', 'get pods', '', /NAME +READY +STATUS +RESTARTS +AGE\np +0\/1 +Pending +0/],
  ['a node', 'create -f -', node, /node\/n1 created/],
  ['wait', 'wait pod/p --for=condition=PodScheduled --timeout=10s', '', /pod\/p condition met/],
  ['wide', 'get pods -o wide', '', /p +0\/1 +Pending +0 +\S+ +<none> +n1 +<none> +<none>/],
  ['describe', 'describe pod p', '', /Service Account: +default\nNode: +n1[\s\S]*Scheduled[\s\S]*Successfully assigned default\/p to n1/],
  ['describe a node', 'describe node n1', '', /Allocatable:\n +cpu: +2[\s\S]*default +p /],
  ['label', 'label pod p x=y', '', /labeled/],
  ['annotate', 'annotate pod p z=1', '', /annotated/],
  ['JSON patch', 'patch pod p --type=json -p [{"op":"add","path":"/metadata/labels/q","value":"r"}]', '', /patched/],
  ['merge patch', 'patch pod p --type=merge -p {"metadata":{"labels":{"q":null}}}', '', /patched/],
  ['strategic merge patch', 'patch pod p --type=strategic -p {"spec":{"containers":[{"name":"c","image":"busybox:2"}]}}', '', /patched/],
  ['what came of it', 'get pod p -o jsonpath={.metadata.labels}{.spec.containers[*].image}', '', /^{"x":"y"}busybox:2$/],
  ['a change that no pod takes', 'patch pod p -p {"spec":{"hostNetwork":true}}', '', /Pod "p" is invalid: spec: Forbidden: pod updates may not change fields other than/],
  ['another image', 'set image pod/p c=busybox:3', '', /pod\/p image updated/],
  ['a container to look into it', 'debug p --image=busybox:1 -q --attach=false --profile=general', '', /^$/],
  ['which is there', 'get pod p -o jsonpath={.spec.ephemeralContainers[0].image}', '', /^busybox:1$/],
  ['no more pods on a node', 'cordon n1', '', /node\/n1 cordoned/],
  ['shown', 'get node n1', '', /n1 +Ready,SchedulingDisabled/],
  ['evictions', 'drain n1 --force --timeout=1s', '', /evicting pod default\/p/],
  ['pods again', 'uncordon n1', '', /node\/n1 uncordoned/],
  ['wait for a field', 'wait pod/p --for=jsonpath={.metadata.deletionGracePeriodSeconds}=30 --timeout=5s', '', /condition met/],
  ['explain', 'explain pod.spec.containers.resources', '', /FIELD: resources <ResourceRequirements>[\s\S]*limits/],
  ['explain what is not there', 'explain pod.spec.containers.bogus', '', /field "bogus" does not exist/],
  ['explain what has another version', 'explain clustertrustbundle.spec', '', /VERSION: +v1beta1[\s\S]*signerName/],
  [
    'collections of a group with two versions',
    'api-resources --api-group=certificates.k8s.io -o name',
    '',
    /certificatesigningrequests[\s\S]*clustertrustbundles|clustertrustbundles[\s\S]*certificatesigningrequests/,
  ],
  ['what is in none', 'get clustertrustbundles', '', /No resources found/],
  ['may I', 'auth can-i create pods', '', /^yes/],
  ['may a node', 'auth can-i list secrets --as=system:node:n1 --as-group=system:nodes', '', /^no/],
  ['who am I', 'auth whoami', '', /kubernetes-admin/],
  ['a token', 'create token default', '', /^eyJ/],
  ['server-side apply', 'apply --server-side -f -', twice, /configmap\/s serverside-applied/],
  ['another writer', 'patch cm s -p {"data":{"k":"x"}}', '', /patched/],
  ['a conflict', 'apply --server-side -f -', once, /conflict with "kubectl-patch" using v1: .data.k/],
  ['forced', 'apply --server-side --force-conflicts -f -', once, /serverside-applied/],
  ['what is no longer applied is gone', 'get cm s -o jsonpath={.data}', '', /^{"k":"w"}$/],
  ['run', 'run q --image=busybox:1 --restart=Never', '', /pod\/q created/],
  ['logs of a node that nobody reaches', 'logs q', '', /no preferred addresses found/],
  ['graceful', 'delete pod q --wait=false', '', /deleted/],
  ['waits for its kubelet', 'get pod q', '', /Terminating/],
  ['forced deletion', 'delete pod q --grace-period=0 --force', '', /force deleted/],
  ['gone', 'get pod q', '', /pods "q" not found/],
  ['replace', 'replace -f -', manifest.split('---')[0] ?? '', /configmap\/c replaced/],
  ['events', 'get events --field-selector reason=Scheduled', '', /Normal +Scheduled +pod\/p/],
  ['deletion by label', 'delete cm -l a=b', '', /configmap "c" deleted/],
];

t.test('kubectl', { skip, timeout: 300_000 }, async (t) => {
  const server = await startMockApiserver();
  const directory = mkdtempSync(join(tmpdir(), 'mock-apiserver-'));
  const config = join(directory, 'kubeconfig');
  writeFileSync(config, server.kubeconfig(), { mode: 0o600 });
  t.teardown(async () => {
    await server.stop();
    rmSync(directory, { recursive: true, force: true });
  });
  const run = (words: readonly string[], input: string): Promise<string> =>
    new Promise((resolve) => {
      const child = spawn(kubectl, [...words], { env: { HOME: directory, KUBECONFIG: config, PATH: '/usr/bin:/bin' } });
      let text = '';
      for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (text += chunk.toString('utf8')));
      child.on('close', () => resolve(text));
      child.stdin.end(input);
    });
  for (const [sentence, words, input, want] of rows) t.match(await run(words.split(' '), input), want, `${sentence}: kubectl ${words}`);
});
