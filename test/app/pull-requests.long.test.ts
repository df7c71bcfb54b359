// How images are asked for of a runtime: how many at a time, and with whose credentials. The daemon is whole; the runtime is a mock that is
// slow to pull, and shows each request as it came.
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { until } from '../support/until.js';
import { phaseOf, Stage } from './stage.js';

t.setTimeout(180_000);

interface Pull {
  readonly image: { readonly image: string };
  readonly auth?: { readonly username: string; readonly password: string };
  readonly sandboxConfig?: { readonly metadata: { readonly name: string } };
}

class Pulls {
  readonly seen: Pull[] = [];
  /** Pulls that were on their way at once, at most. */
  most = 0;
  /** Images that are there. */
  pulled = (): number => 0;

  note(method: string, request: unknown): void {
    if (method !== 'PullImage') return;
    this.seen.push(request as Pull);
    this.most = Math.max(this.most, this.seen.length - this.pulled());
  }

  of(image: string): Pull | undefined {
    return this.seen.find((pull) => pull.image.image === image);
  }
}

async function stageWith(t: Test, pullMicros: number): Promise<{ readonly stage: Stage; readonly pulls: Pulls }> {
  const pulls = new Pulls();
  const latencies = { look: 500, runSandbox: 5_000, createContainer: 1_000, startContainer: 1_000, stop: 1_000, remove: 1_000, pull: pullMicros };
  const stage = await Stage.open({ latencies, observe: (method, request) => pulls.note(method, request) });
  const { images } = stage.runtime.runtime.state;
  const atFirst = images.size;
  pulls.pulled = () => images.size - atFirst;
  t.teardown(() => stage.close());
  return { stage, pulls };
}

const names = ['a', 'b', 'c', 'd', 'e', 'f'];
/** A pull takes long enough for all that may run beside it to be asked for, on a loaded machine, too. */
const limits: readonly (readonly [sentence: string, configuration: string, atOnce: number, pullMicros: number])[] = [
  ['one at a time, unless said otherwise', '', 1, 400_000],
  ['one at a time, as said', 'serializeImagePulls: true\n', 1, 400_000],
  ['two at a time', 'serializeImagePulls: false\nmaxParallelImagePulls: 2\n', 2, 1_500_000],
  ['all at once', 'serializeImagePulls: false\n', names.length, 6_000_000],
];
for (const [sentence, configuration, atOnce, pullMicros] of limits) {
  t.test(`images are pulled ${sentence}`, async (t) => {
    const { stage, pulls } = await stageWith(t, pullMicros);
    stage.configurationMore = `${configuration}registryPullQPS: 0\n`;
    for (const name of names) stage.manifest(`${name}.yaml`, stage.pod(name, `r.io/${name}:1`));
    const daemon = await stage.start();
    await until('all run', () => names.every((name) => phaseOf(daemon, `${name}-n1`) === 'Running'));
    t.equal(pulls.most, atOnce);
    t.strictSame(pulls.seen.map(({ image }) => image.image).sort(), names.map((name) => `r.io/${name}:1`).sort(), 'each once');
    for (const { sandboxConfig } of pulls.seen) t.match(sandboxConfig?.metadata.name, /^[a-f]-n1$/, 'with the pod that it is for');
  });
}

/** A program that answers as plugins do, and keeps what it was asked. */
function plugin(directory: string, name: string, password: string): string {
  const asked = join(directory, `${name}.asked`);
  const auth = { 'plugin.io': { username: name, password } };
  const answer = { kind: 'CredentialProviderResponse', apiVersion: 'credentialprovider.kubelet.k8s.io/v1', cacheKeyType: 'Registry', cacheDuration: '1h', auth };
  const script = `#!/bin/sh\n{ cat; echo; echo "$1 $MARK"; } >> ${asked}\ncat <<'END'\n${JSON.stringify(answer)}\nEND\n`;
  writeFileSync(join(directory, name), script);
  chmodSync(join(directory, name), 0o755);
  return asked;
}

t.test('credentials: of the node’s file, of a plugin, of nobody', async (t) => {
  const { stage, pulls } = await stageWith(t, 1_000);
  const plugins = join(stage.directory, 'plugins');
  mkdirSync(plugins);
  mkdirSync(stage.root, { recursive: true });
  const [ofFile, ofPlugin] = ['secret-of-the-file', 'secret-of-the-plugin'];
  writeFileSync(join(stage.root, 'config.json'), JSON.stringify({ auths: { 'file.io': { auth: Buffer.from(`node:${ofFile}`).toString('base64') } } }));
  const asked = plugin(plugins, 'helper', ofPlugin);
  const provider = {
    ...{ name: 'helper', matchImages: ['plugin.io'], defaultCacheDuration: '1h', apiVersion: 'credentialprovider.kubelet.k8s.io/v1' },
    ...{ args: ['get'], env: [{ name: 'MARK', value: 'of-the-configuration' }] },
  };
  const configuration = join(stage.directory, 'providers.yaml');
  writeFileSync(configuration, JSON.stringify({ apiVersion: 'kubelet.config.k8s.io/v1', kind: 'CredentialProviderConfig', providers: [provider] }));
  stage.flags.push(`--image-credential-provider-config=${configuration}`, `--image-credential-provider-bin-dir=${plugins}`);
  const images = { file: 'file.io/team/app:1', plugin: 'plugin.io/team/app:1', nobody: 'r.io/app:1', more: 'plugin.io/team/other:1' };
  const daemon = await stage.start();
  for (const [name, image] of Object.entries(images)) {
    stage.manifest(`${name}.yaml`, stage.pod(name, image));
    await until(`${name} runs`, () => phaseOf(daemon, `${name}-n1`) === 'Running');
  }
  t.match(pulls.of(images.file)?.auth, { username: 'node', password: ofFile });
  for (const image of [images.plugin, images.more]) t.match(pulls.of(image)?.auth, { username: 'helper', password: ofPlugin }, image);
  t.equal(pulls.of(images.nobody)?.auth, undefined);
  const [question = '', ...rest] = readFileSync(asked, 'utf8')
    .split('\n')
    .filter((line) => line !== '');
  t.strictSame(JSON.parse(question), { kind: 'CredentialProviderRequest', apiVersion: 'credentialprovider.kubelet.k8s.io/v1', image: 'plugin.io/team/app' });
  t.strictSame(rest, ['get of-the-configuration'], 'asked once: its answer holds for the registry');
  for (const secret of [ofFile, ofPlugin]) t.equal(stage.log.find(secret), undefined, 'no line of the log has it');
});
