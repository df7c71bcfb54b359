// Values of a pod that exist only once its sandbox or its Node are known, at the first start of a container: every downward field that names an
// address, on the pod's own network and on the host's. And the modes of volumes of the node, whose special bits an fsGroup keeps.
import t from 'tap';
import { type ContainerRequest, environment } from '../../src/domain/containers/container-config.js';
import { nodeFacts } from '../../src/domain/containers/default-node-facts.js';
import { emptyDirSetUp, payloadSetUp } from '../../src/domain/volumes/node-volumes.js';
import { fsGroupMode } from '../../src/domain/volumes/volume-ownership.js';
import type { Pod } from '../../src/ports/model/pod.js';

const fields = ['status.podIP', 'status.podIPs', 'status.hostIP', 'status.hostIPs'];

function variables(hostNetwork: boolean, podIps: readonly string[], nodeAddresses: Parameters<typeof nodeFacts>[0]): readonly (string | undefined)[] {
  const container = { name: 'c', env: fields.map((fieldPath) => ({ name: fieldPath.slice('status.'.length), valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath } } })) };
  const pod: Pod = {
    metadata: { name: 'p', namespace: 'default', uid: 'u' },
    spec: { containers: [container], enableServiceLinks: false, ...(hostNetwork ? { hostNetwork } : {}) },
  };
  const env = environment({ pod, container, podIps } as unknown as ContainerRequest, nodeFacts(nodeAddresses));
  if (!env.ok) return [env.message];
  return fields.map((field) => env.value.find(({ name }) => name === field.slice('status.'.length))?.value) as readonly (string | undefined)[];
}

const dual = {
  nodeAddresses: [
    { type: 'InternalIP', address: '10.0.0.7' },
    { type: 'InternalIP', address: 'fd00::7' },
  ],
};

t.test('addresses in the environment', async (t) => {
  t.strictSame(variables(true, [], dual), ['10.0.0.7', '10.0.0.7,fd00::7', '10.0.0.7', '10.0.0.7,fd00::7'], 'a pod on the host’s network, at its first start');
  t.strictSame(variables(true, ['10.0.0.7'], dual), ['10.0.0.7', '10.0.0.7,fd00::7', '10.0.0.7', '10.0.0.7,fd00::7'], 'and later, when its status has an address');
  t.strictSame(variables(false, ['10.88.0.3'], dual), ['10.88.0.3', '10.88.0.3', '10.0.0.7', '10.0.0.7,fd00::7'], 'a pod with a network of its own');
  t.match(variables(true, [], { nodeAddresses: [] })[0], /host IP unknown/, 'never empty while the Node has no address');
});

t.test('special bits of modes', async (t) => {
  const mode = (medium: string, fsGroup: number | null): number | null => {
    const pod: Pod = { metadata: { name: 'p', uid: 'u' }, spec: { containers: [], ...(fsGroup === null ? {} : { securityContext: { fsGroup } }) } };
    const made = emptyDirSetUp(pod, { name: 'v', emptyDir: { medium } }, {});
    return made.ok ? made.setUp.mode : null;
  };
  t.strictSame([mode('', null), mode('', 5)], [0o777, 0o2777], 'on disk');
  t.strictSame([mode('Memory', null), mode('Memory', 5)], [0o1777, 0o3777], 'in memory');
  t.equal(payloadSetUp({ metadata: { name: 'p', uid: 'u' }, spec: { containers: [] } }, { name: 's', secret: { secretName: 's' } }, {}).mode, 0o1777);
  for (let bits = 0; bits <= 0o7777; bits++) {
    for (const type of ['file', 'directory'] as const) {
      for (const readOnly of [false, true]) if ((fsGroupMode(bits, type, readOnly) & bits) !== bits) t.fail(`${type} ${bits.toString(8)} lost a bit`);
    }
  }
  t.pass('an fsGroup takes no bit away');
});
