// Certificates of the cluster's trust bundles, for a projected volume.
// Invariant: the same bundles in any order give the same text, so that only changes are rewritten. (The Go kubelet shuffles
// the certificates, so that users don't rely on their order; here they are ordered by content, on which users can't rely either.)
import type { ApiObject } from '../../ports/model/api-object.js';
import type { LabelSelector } from '../../ports/model/object-meta.js';
import { goQuote } from '../values/go-text.js';
import { matchesLabelSelector } from '../values/label-selector.js';

export interface ClusterTrustBundle extends ApiObject {
  readonly spec?: { readonly signerName?: string; readonly trustBundle?: string };
}

export interface TrustBundleSource {
  readonly name?: string;
  readonly signerName?: string;
  /** Absent: nothing is selected; empty: all of the signer. */
  readonly labelSelector?: LabelSelector;
  readonly optional?: boolean;
  readonly path: string;
}

export type TrustBundleText = { readonly ok: true; readonly text: string } | { readonly ok: false; readonly message: string };

export const noTrustBundles = 'ClusterTrustBundle projection is not supported in static kubelet mode';
export const trustBundlesNotSynced = 'ClusterTrustBundle informer has not yet synced';
const lineLength = 64;

export function trustBundleText(source: TrustBundleSource, bundles: readonly ClusterTrustBundle[]): TrustBundleText {
  const { name = '', signerName = '', optional = false } = source;
  if (name === '' && signerName === '') return { ok: false, message: 'ClusterTrustBundle projection requires either name or signerName to be set' };
  const chosen = name === '' ? bundles.filter((bundle) => isSelected(source, bundle)) : bundles.filter(({ metadata }) => metadata.name === name);
  if (chosen.length === 0 && !optional) {
    const absent = `while getting ClusterTrustBundle: clustertrustbundle.certificates.k8s.io ${goQuote(name)} not found`;
    return { ok: false, message: name === '' ? 'combination of signerName and labelSelector matched zero ClusterTrustBundles' : absent };
  }
  const certificates = new Set(chosen.flatMap(({ spec }) => certificatesIn(spec?.trustBundle ?? '')));
  return { ok: true, text: [...certificates].sort().map(pemOf).join('') };
}

function isSelected({ signerName, labelSelector }: TrustBundleSource, { metadata, spec }: ClusterTrustBundle): boolean {
  return spec?.signerName === signerName && labelSelector !== undefined && matchesLabelSelector(labelSelector, metadata.labels ?? {});
}

/** The certificates of a PEM text, each a block without surrounding text or headers. */
export function certificateBlocks(text: string): readonly string[] {
  return certificatesIn(text).map(pemOf);
}

/** The certificates' content in base64, without the markers. */
function certificatesIn(text: string): string[] {
  return [...text.matchAll(/-----BEGIN CERTIFICATE-----([A-Za-z0-9+/=\s]*)-----END CERTIFICATE-----/g)].map(([, content = '']) => content.replace(/\s+/g, ''));
}

function pemOf(content: string): string {
  const lines: string[] = [];
  for (let at = 0; at < content.length; at += lineLength) lines.push(content.slice(at, at + lineLength));
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
}
