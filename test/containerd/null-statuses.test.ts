// A node with a pod whose status in the API has null in every field that may be, on a real runtime and over restarts of the kubelet: the kubelet
// runs, the node is ready, and no container is started again.
import t from 'tap';
import { structOf } from '../../src/domain/values/api-schema/api-schema.js';
import type { ApiFieldType } from '../../src/domain/values/api-schema/field-types.js';
import type { Node } from '../../src/ports/model/node.js';
import type { Pod } from '../../src/ports/model/pod.js';
import { idOf, isRunning, manifest, nodeName, pausing } from './kubelet-process.js';
import { skipWithoutContainerd } from './private-containerd.js';
import { clusterNode } from './test-node.js';

type Json = Readonly<Record<string, unknown>>;

t.setTimeout(480_000);
const skip = skipWithoutContainerd();
let nulls = 0;

/** Every field that the object lacks, as null. */
function withNulls(value: unknown, type: ApiFieldType): unknown {
  if (value === null || value === undefined) return value;
  if (type.kind === 'list') return (value as readonly unknown[]).map((item) => withNulls(item, type.item));
  return type.kind === 'struct' ? structWithNulls(value as Json, type.struct) : value;
}

function structWithNulls(value: Json, struct: string): Json {
  const filled: Record<string, unknown> = { ...value };
  for (const [name, type] of structOf(struct)) {
    if (filled[name] === undefined || filled[name] === null) {
      filled[name] = null;
      nulls++;
    } else filled[name] = withNulls(filled[name], type);
  }
  return filled;
}

/** A container that was never seen running: Go writes its times as null. */
const neverSeen = { terminated: { exitCode: 137, reason: 'ContainerStatusUnknown', message: 'not seen', startedAt: null, finishedAt: null } };

t.test('over two restarts', { skip }, async (t) => {
  const node = await clusterNode(t);
  const { kubelet, admin, containerd, runtime, server } = node;
  const create = (name: string) => admin.create('pods', 'default', manifest(name, { nodeName, automountServiceAccountToken: false, containers: [pausing(containerd)] }) as never);
  const pod = async (name: string) => (await admin.get('pods', 'default', name)) as Pod | null;
  const untilRuns = (name: string) =>
    kubelet.until(`${name} runs`, async () => {
      const found = await pod(name);
      return found !== null && isRunning(found);
    });
  const isReady = async () => ((await admin.get('nodes', null, nodeName)) as Node | null)?.status?.conditions?.find(({ type }) => type === 'Ready')?.status === 'True';
  const plant = () => {
    const pods = server.api.state.store.objects.get('pods');
    const found = pods?.get('default/nulls') as (Json & { readonly status: { readonly containerStatuses: readonly Json[] } }) | undefined;
    if (found === undefined) throw new Error('the pod is not in the store');
    const containerStatuses = found.status.containerStatuses.map((status) => ({ ...status, lastState: neverSeen }));
    const planted = { ...found, status: structWithNulls({ ...found.status, containerStatuses }, 'PodStatus') };
    pods?.set('default/nulls', planted as never);
    t.match(JSON.stringify(planted.status), /"startedAt":null/);
  };
  await kubelet.start();
  await create('nulls');
  await create('good');
  await untilRuns('nulls');
  await untilRuns('good');
  const ids = { nulls: idOf((await pod('nulls')) as Pod), good: idOf((await pod('good')) as Pod) };
  for (const round of ['first', 'second']) {
    await kubelet.kill();
    plant();
    t.ok(nulls > 20, `${nulls} nulls`);
    await kubelet.start();
    await kubelet.until(`${round}: the node is ready`, isReady);
    await create(`later-${round}`);
    await untilRuns(`later-${round}`);
    const running = (await runtime.runningContainers()).map(({ id }) => id);
    t.ok(running.includes(ids.nulls) && running.includes(ids.good), `${round}: their containers run on`);
    await kubelet.until(`${round}: the kubelet shows the pod as running`, async () => {
      const shown = (await kubelet.pods()).find(({ metadata }) => metadata.name === 'nulls');
      return shown?.status?.phase === 'Running';
    });
    t.equal(await kubelet.health(), 200);
  }
  const errors = kubelet.logLines().filter(({ msg }) => /set aside|can not be read|cannot be read|ended/i.test(String(msg)));
  t.strictSame(errors, [], 'nothing is said of an unreadable object');
});
