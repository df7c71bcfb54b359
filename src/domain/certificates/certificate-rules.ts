// Renewal times of certificates, and their subjects.
import type { Instant } from '../../ports/instant.js';
import type { NodeAddress } from '../../ports/model/node.js';
import type { CertificateFacts, CertificatePurpose, CertificateTemplate } from '../../ports/outbound/certificates.js';
import { instantAfter, microsBetween } from '../values/instant.js';
import { formatIp, parseIp } from '../values/ip-address.js';

export const signers: Readonly<Record<CertificatePurpose, string>> = {
  client: 'kubernetes.io/kube-apiserver-client-kubelet',
  server: 'kubernetes.io/kubelet-serving',
};

/** For an elliptic curve key: RSA would have key encipherment, too. */
export const usages: Readonly<Record<CertificatePurpose, readonly string[]>> = {
  client: ['digital signature', 'client auth'],
  server: ['digital signature', 'server auth'],
};

/** Between 70 and 90 % of its life. @param chance in [0, 1) */
export function rotationDeadline({ notBefore, notAfter }: Pick<CertificateFacts, 'notBefore' | 'notAfter'>, chance: number): Instant {
  return instantAfter(notBefore, Math.round(microsBetween(notBefore, notAfter) * (0.7 + 0.2 * chance)));
}

/** Whether a certificate covers all requested names; it may have more. */
export function covers(facts: CertificateTemplate, template: CertificateTemplate): boolean {
  const has = (held: readonly string[], wanted: readonly string[]): boolean => wanted.every((item) => held.includes(item));
  return (
    facts.commonName === template.commonName &&
    has(facts.dnsNames, template.dnsNames) &&
    has(facts.ipAddresses, template.ipAddresses) &&
    has(facts.organizations, template.organizations)
  );
}

export function clientTemplate(nodeName: string): CertificateTemplate {
  return { commonName: `system:node:${nodeName}`, organizations: ['system:nodes'], dnsNames: [], ipAddresses: [] };
}

/**
 * For a server at the node's addresses. null: not yet, since no address is known.
 * @param allowsDnsOnly the gate AllowDNSOnlyNodeCSR: names alone are enough
 */
export function servingTemplate(nodeName: string, addresses: readonly NodeAddress[], allowsDnsOnly: boolean): CertificateTemplate | null {
  const dnsNames = new Set<string>();
  const ipAddresses = new Set<string>();
  for (const { type, address } of addresses) {
    const ip = parseIp(address);
    if (type === 'InternalDNS' || type === 'ExternalDNS' || (type === 'Hostname' && ip === null)) dnsNames.add(address);
    else if (ip !== null && (type === 'Hostname' || type === 'InternalIP' || type === 'ExternalIP')) ipAddresses.add(formatIp(ip));
  }
  if (ipAddresses.size === 0 && !(allowsDnsOnly && dnsNames.size > 0)) return null;
  return { commonName: `system:node:${nodeName}`, organizations: ['system:nodes'], dnsNames: [...dnsNames].sort(), ipAddresses: [...ipAddresses].sort() };
}
