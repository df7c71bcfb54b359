// API objects that the pods of a swarm refer to: classes, secrets and config maps, that change, disappear and return while pods use them;
// pods' uses of them, and the final content of their volumes.
import { utf8Decode } from '../../src/domain/values/utf8.js';
import type { Container, EnvVar } from '../../src/ports/model/container.js';
import type { Pod } from '../../src/ports/model/pod.js';
import type { Volume } from '../../src/ports/model/volume.js';
import type { SimCluster, SimClusterNode } from '../../src/sim/index.js';
import { ApiCaller } from './api-caller.js';
import type { Dice } from './dice.js';
import { sandboxedClass } from './swarm-pods.js';

type Data = readonly [plural: 'secrets' | 'configmaps', name: string];

/** What changes: collection and name. `options` is optional everywhere. */
const data: readonly Data[] = [
  ['secrets', 'login'],
  ['secrets', 'pull'],
  ['configmaps', 'settings'],
  ['configmaps', 'options'],
];

const urgentClass = 'urgent';

/** Requests of an administrator, at the world's time. */
export function administrator(cluster: SimCluster): ApiCaller {
  const clock = {
    get now() {
      return cluster.now;
    },
    set now(_: number) {},
  };
  return new ApiCaller(cluster.apiserver, undefined, clock);
}

export class SwarmObjects {
  private readonly admin: ApiCaller;
  private version = 0;

  constructor(cluster: SimCluster) {
    this.admin = administrator(cluster);
    this.admin.create('priorityclasses', { metadata: { name: urgentClass }, value: 1000 }, null);
    this.restore();
  }

  /** One is changed, removed or made again. */
  act(dice: Dice): void {
    if (dice.chance(0.2)) this.changeClass();
    else {
      const [plural, name] = dice.of(data);
      if (!this.has(plural, name)) this.make([plural, name]);
      else if (dice.chance(0.3)) this.admin.remove(plural, name, {});
      else this.admin.patch(plural, name, this.contentOf([plural, name]));
    }
  }

  /** All are there. */
  restore(): void {
    if (!this.has('runtimeclasses', sandboxedClass, null)) this.changeClass();
    for (const one of data) if (!this.has(...one)) this.make(one);
  }

  /** The pod can be made: the server refuses one whose class it doesn't know. */
  admit({ spec }: Pod): void {
    if (spec.runtimeClassName !== undefined && !this.has('runtimeclasses', sandboxedClass, null)) this.changeClass();
  }

  private changeClass(): void {
    if (this.has('runtimeclasses', sandboxedClass, null)) this.admin.remove('runtimeclasses', sandboxedClass, {}, null);
    else this.admin.create('runtimeclasses', { metadata: { name: sandboxedClass }, handler: sandboxedClass }, null);
  }

  private has(plural: string, name: string, namespace: string | null = 'default'): boolean {
    return this.admin.get(plural, name, namespace).code === 200;
  }

  private make(one: Data): void {
    const [plural, name] = one;
    this.admin.create(plural, { metadata: { name, namespace: 'default' }, ...(name === 'pull' ? { type: 'kubernetes.io/dockerconfigjson' } : {}), ...this.contentOf(one) });
  }

  private contentOf([plural, name]: Data): object {
    const value = `v${this.version++}`;
    if (plural === 'configmaps') return { data: { value } };
    if (name === 'login') return { stringData: { value } };
    return { stringData: { '.dockerconfigjson': JSON.stringify({ auths: { 'docker.io': { username: 'swarm', password: value } } }) } };
  }

  /** What a running pod's volumes show, and the API does not have. */
  differences(node: SimClusterNode, uid: string, { spec }: Pod): string[] {
    const shown = node.host.state.podDirectories.get(uid)?.volumes;
    const found: string[] = [];
    for (const { name, secret, configMap, projected } of spec.volumes ?? []) {
      const plugin = secret === undefined ? (configMap === undefined ? 'projected' : 'configmap') : 'secret';
      const kept = shown?.get(`kubernetes.io~${plugin}/${name}`)?.nodes;
      const current = kept?.get('..data');
      const fileOf = (path: string): string | null => {
        const file = current?.kind === 'symlink' ? kept?.get(`${current.target}/${path}`) : undefined;
        return file?.kind === 'file' ? utf8Decode(file.bytes) : null;
      };
      const compare = (path: string, one: Data): void => {
        const [is, has] = [fileOf(path), this.valueOf(one)];
        if (is !== has) found.push(`shows ${JSON.stringify(is)} in ${name}/${path}, the API has ${JSON.stringify(has)}`);
      };
      if (secret !== undefined) compare('value', ['secrets', 'login']);
      else if (configMap !== undefined) compare('value', ['configmaps', name === 'options' ? 'options' : 'settings']);
      else if (projected !== undefined && name === 'all') {
        compare('login', ['secrets', 'login']);
        compare('settings', ['configmaps', 'settings']);
        if (fileOf('token') === null) found.push(`shows no token in ${name}`);
      }
    }
    return found;
  }

  private valueOf([plural, name]: Data): string | null {
    const { code, body } = this.admin.get(plural, name);
    if (code !== 200) return null;
    const value = (body.data as Readonly<Record<string, string>>).value ?? '';
    return plural === 'secrets' ? base64Decoded(value) : value;
  }
}

function base64Decoded(text: string): string {
  return utf8Decode(Uint8Array.from(atob(text), (character) => character.charCodeAt(0)));
}

/** Features of a pod of the API beyond those of a static one, drawn separately from everything else. */
export function withObjects({ metadata, spec }: Pod, dice: Dice): Pod {
  const rank = spec.priorityClassName === undefined && dice.chance(0.3) ? { priorityClassName: urgentClass } : {};
  const pulling = dice.chance(0.4) ? { imagePullSecrets: [{ name: 'pull' }, { name: 'absent' }] } : {};
  const account = dice.chance(0.2) ? { automountServiceAccountToken: true } : {};
  const volumes = dice.chance(0.5) ? [] : volumesOf(dice);
  const volumeMounts = volumes.map(({ name }) => ({ name, mountPath: `/${name}` }));
  const variables: Partial<Container> = dice.chance(0.3) ? { envFrom: [{ configMapRef: { name: 'settings' } }, { configMapRef: { name: 'options', optional: true } }] } : {};
  const env: EnvVar[] = dice.chance(0.3) ? [{ name: 'LOGIN', valueFrom: { secretKeyRef: { name: 'login', key: 'value' } } }] : [];
  const using = (container: Container): Container => ({
    ...container,
    ...variables,
    env: [...(container.env ?? []), ...env],
    volumeMounts: [...(container.volumeMounts ?? []), ...volumeMounts],
  });
  const { containers, initContainers } = spec;
  const inits = initContainers === undefined ? {} : { initContainers: initContainers.map(using) };
  return { metadata, spec: { ...spec, ...rank, ...pulling, ...account, volumes: [...(spec.volumes ?? []), ...volumes], containers: containers.map(using), ...inits } };
}

function volumesOf(dice: Dice): Volume[] {
  const sources = [
    { secret: { name: 'login', items: [{ key: 'value', path: 'login' }] } },
    { configMap: { name: 'settings', items: [{ key: 'value', path: 'settings' }] } },
    { serviceAccountToken: { path: 'token', expirationSeconds: 600 } },
    { downwardAPI: { items: [{ path: 'name', fieldRef: { fieldPath: 'metadata.name' } }] } },
  ];
  const all: Volume[] = [
    { name: 'login', secret: { secretName: 'login', defaultMode: 0o400 } },
    { name: 'settings', configMap: { name: 'settings' } },
    { name: 'options', configMap: { name: 'options', optional: true } },
    { name: 'all', projected: { sources } },
  ];
  return all.filter(() => dice.chance(0.6));
}
