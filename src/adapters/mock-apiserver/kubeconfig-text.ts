// Kubeconfigs for a mock apiserver's clients. They are JSON, which is YAML.
import type { KeyAndCertificate } from './authority.js';

/** The client's credentials. */
export type KubeconfigUser =
  | { readonly kind: 'certificate'; readonly pair: KeyAndCertificate }
  | { readonly kind: 'token'; readonly token: string }
  | { readonly kind: 'anonymous' };

export function kubeconfigText(url: string, caPem: string | null, user: KubeconfigUser): string {
  const base64 = (text: string): string => Buffer.from(text, 'utf8').toString('base64');
  const cluster = { server: url, ...(caPem === null ? {} : { 'certificate-authority-data': base64(caPem) }) };
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'mock', cluster }],
    users: [{ name: 'mock', user: credentials(user, base64) }],
    contexts: [{ name: 'mock', context: { cluster: 'mock', user: 'mock', namespace: 'default' } }],
    'current-context': 'mock',
  };
  return `${JSON.stringify(config, null, 2)}\n`;
}

function credentials(user: KubeconfigUser, base64: (text: string) => string): object {
  if (user.kind === 'token') return { token: user.token };
  if (user.kind === 'anonymous') return {};
  return { 'client-certificate-data': base64(user.pair.certificate), 'client-key-data': base64(user.pair.key) };
}
