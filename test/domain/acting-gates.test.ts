// The feature gates that act, and the names of those that were set in vain.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { actingGates, gatedFeatures, unusedGates } from '../../src/domain/configuration/acting-gates.js';
import { knownFeatureGates, noFeatureGates } from '../../src/domain/configuration/feature-gates.js';

t.test('each gate of the table is known, and switches its feature alone', async (t) => {
  const usual = gatedFeatures(noFeatureGates);
  for (const [name, gate] of Object.entries(actingGates)) {
    const known = knownFeatureGates.get(gate);
    t.equal(usual[name as keyof typeof usual], known?.enabledByDefault, `${gate} has its default`);
    const switched = gatedFeatures(new Map([[gate, known?.enabledByDefault !== true]]));
    t.strictSame(
      Object.keys(switched).filter((other) => switched[other as keyof typeof usual] !== usual[other as keyof typeof usual]),
      [name],
      gate,
    );
  }
});

t.test('gates that nothing acts on are named where they differ from their default', async (t) => {
  t.strictSame(unusedGates({ WindowsHostNetwork: true, PodLevelResources: false, AllAlpha: true, CPUManagerPolicyAlphaOptions: true }), ['WindowsHostNetwork']);
  const some = [...knownFeatureGates.values()].find(
    ({ name, locked }) => !locked && !(Object.values(actingGates) as string[]).includes(name) && !name.startsWith('All') && !name.startsWith('Logging'),
  );
  t.ok(some !== undefined);
  if (some !== undefined) {
    t.strictSame(unusedGates({ [some.name]: some.enabledByDefault }), []);
    t.strictSame(unusedGates({ [some.name]: !some.enabledByDefault }), [some.name]);
  }
});

t.test('the app reads gates through the table', async (t) => {
  const root = fileURLToPath(new URL('../../../src/app/', import.meta.url));
  const readers = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(
    (path) => path.endsWith('.ts') && readFileSync(join(root, path), 'utf8').includes('featureEnabled('),
  );
  t.strictSame(readers, ['daemon/open-kubelet-metrics.ts'], 'the metric kubernetes_feature_enabled shows each gate');
});
