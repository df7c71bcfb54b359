// Which certificates a projected volume shows of the cluster's trust bundles, and how.
import t from 'tap';
import { type ClusterTrustBundle, type TrustBundleSource, trustBundleText } from '../../src/domain/volumes/trust-bundles.js';

const pem = (...contents: readonly string[]) => contents.map((content) => `-----BEGIN CERTIFICATE-----\n${content}\n-----END CERTIFICATE-----\n`).join('');
const bundle = (name: string, signerName: string, trustBundle: string, labels: Record<string, string> = {}): ClusterTrustBundle => ({
  metadata: { name, labels },
  spec: { signerName, trustBundle },
});
const bundles = [
  bundle('one', 'a/s', `a comment\n${pem('QkJC', 'QUFB')}`, { live: 'yes' }),
  bundle('two', 'a/s', pem('QUFB', 'Q0ND'), { live: 'no' }),
  bundle('three', 'b/s', pem('RERE')),
];
const rows: readonly (readonly [sentence: string, source: Omit<TrustBundleSource, 'path'>, want: { readonly text: string } | { readonly message: string }])[] = [
  ['one by name', { name: 'one' }, { text: pem('QUFB', 'QkJC') }],
  ['all of a signer, each certificate once, in an order of their own', { signerName: 'a/s', labelSelector: {} }, { text: pem('Q0ND', 'QUFB', 'QkJC') }],
  ['those of a signer with a label', { signerName: 'a/s', labelSelector: { matchLabels: { live: 'no' } } }, { text: pem('Q0ND', 'QUFB') }],
  ['a signer without a selector selects nothing', { signerName: 'a/s' }, { message: 'combination of signerName and labelSelector matched zero ClusterTrustBundles' }],
  ['nothing that may be absent', { signerName: 'c/s', labelSelector: {}, optional: true }, { text: '' }],
  ['a name that isn’t there', { name: 'none' }, { message: 'while getting ClusterTrustBundle: clustertrustbundle.certificates.k8s.io "none" not found' }],
  ['a name that may be absent', { name: 'none', optional: true }, { text: '' }],
  ['neither', {}, { message: 'ClusterTrustBundle projection requires either name or signerName to be set' }],
];
for (const [sentence, source, want] of rows) {
  t.test(sentence, async (t) => {
    for (const all of [bundles, bundles.toReversed()]) t.strictSame(trustBundleText({ path: 'p', ...source }, all), { ok: 'text' in want, ...want });
  });
}

t.test('long certificates have lines of 64 characters', async (t) => {
  const content = 'QUFB'.repeat(40);
  const found = trustBundleText({ path: 'p', name: 'x' }, [bundle('x', '', pem(content))]);
  t.strictSame(found, { ok: true, text: pem(`${content.slice(0, 64)}\n${content.slice(64, 128)}\n${content.slice(128)}`) });
});
