// Whose the node is: by the root directory, by a kubeconfig, and by what the own settings say, which goes before both.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { defaultRootDirectory, kubeletProfile } from '../../src/app/daemon/daemon-profile.js';
import { noOwnSettings, readOwnSettings } from '../../src/app/daemon/own-settings.js';

const elsewhere = '/srv/kubelet';
const rows: readonly (readonly [rootDirectory: string, joinsCluster: boolean, ownsNode: boolean | null, owns: boolean])[] = [
  [defaultRootDirectory, false, null, true],
  [defaultRootDirectory, true, null, true],
  [elsewhere, true, null, true],
  [elsewhere, false, null, false],
  [elsewhere, false, true, true],
  [elsewhere, true, false, false],
  [defaultRootDirectory, true, false, false],
];
t.test('a node is its kubelet’s', async (t) => {
  for (const [rootDirectory, joinsCluster, ownsNode, owns] of rows) {
    const profile = kubeletProfile({ rootDirectory, joinsCluster }, { ...noOwnSettings, ownsNode });
    const sentence = `${rootDirectory}, kubeconfig: ${joinsCluster}, own settings: ${ownsNode}`;
    t.match(profile, { ownsNode: owns, ownsImages: owns, containerLogLinks: owns ? '/var/log/containers' : `${rootDirectory}/containers-log` }, sentence);
    t.equal(profile.logind.dropIn !== null, owns, sentence);
  }
  t.match(kubeletProfile({ rootDirectory: elsewhere, joinsCluster: false }, { ...noOwnSettings, ownsImages: true }), { ownsNode: false, ownsImages: true });
});

t.test('the own settings name the node’s owner', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'kubelet-ts-test-'));
  t.teardown(() => rmSync(directory, { recursive: true }));
  const path = join(directory, 'own.yaml');
  for (const [text, owns] of [
    ['node: own\n', true],
    ['node: shared\n', false],
    ['images: own\n', null],
  ] as const) {
    writeFileSync(path, text);
    t.equal(readOwnSettings(path).ownsNode, owns, text);
  }
  for (const text of ['node: mine\n', 'node: true\n', 'node: [own]\n']) {
    writeFileSync(path, text);
    t.throws(() => readOwnSettings(path), { message: /own\.yaml: node: must be own or shared$/ }, text);
  }
});
