// The TLS settings of the kubelet's servers, limited to what this build of OpenSSL supports: names that the Go kubelet accepts and OpenSSL
// lacks are omitted and reported. Invariant: an omission never makes the server weaker than its minimum version.
import { createSecureContext, DEFAULT_CIPHERS } from 'node:tls';
import type { ServingPair } from '../certificates/index.js';
import type { ClientCertificates } from './access/client-certificates.js';

export interface ServerTls {
  /** null: none was issued yet, and handshakes fail. */
  readonly pair: ServingPair | null;
  readonly clientCertificates: ClientCertificates | null;
  readonly minVersion: 'TLSv1' | 'TLSv1.1' | 'TLSv1.2' | 'TLSv1.3';
  /** OpenSSL's names; empty for its own choice. */
  readonly ciphers: readonly string[];
  readonly groups: readonly string[];
}

/** Always on, as they can't be configured; a list without them would switch TLS 1.3 off. The cheapest comes first, as with Go. */
const tls13 = ['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256'];
/** OpenSSL supports old versions only if all weak algorithms are allowed; the suites have a list of their own. */
const weak = '@SECLEVEL=0';
const ownSuites = DEFAULT_CIPHERS.split(':').filter((name) => !name.startsWith('TLS_'));
const usualSuites = ['ECDHE', 'AES128-GCM-SHA256', 'AES256-GCM-SHA384', 'AES128-SHA', 'AES256-SHA'];

export function contextOf({ pair, clientCertificates, minVersion, ciphers, groups }: ServerTls) {
  const isOld = minVersion === 'TLSv1' || minVersion === 'TLSv1.1';
  const suites = ciphers.length > 0 ? ciphers : isOld ? usualSuites : ownSuites;
  return {
    minVersion,
    ...(pair === null ? {} : { cert: pair.certificatePem, key: pair.keyPem }),
    ciphers: [...tls13, ...suites, ...(isOld ? [weak] : [])].join(':'),
    honorCipherOrder: true,
    ...(groups.length === 0 ? {} : { ecdhCurve: groups.join(':') }),
    // Any certificate gets through the handshake: it is each request that is refused.
    ...(clientCertificates === null ? {} : { ca: clientCertificates.authorities, requestCert: true, rejectUnauthorized: false }),
    ALPNProtocols: ['http/1.1'],
  };
}

/** The part of suites and groups that OpenSSL has, and the names of the others. */
export function supportedTls(wanted: Pick<ServerTls, 'ciphers' | 'groups'>): Pick<ServerTls, 'ciphers' | 'groups'> & { readonly missing: readonly string[] } {
  const hasCipher = (name: string) => tls13.includes(name) || works({ ciphers: name });
  const hasGroup = (name: string) => works({ ecdhCurve: name });
  const ciphers = wanted.ciphers.filter(hasCipher);
  const groups = wanted.groups.filter(hasGroup);
  return { ciphers, groups, missing: [...wanted.ciphers.filter((name) => !ciphers.includes(name)), ...wanted.groups.filter((name) => !groups.includes(name))] };
}

function works(options: Parameters<typeof createSecureContext>[0]): boolean {
  try {
    createSecureContext(options);
    return true;
  } catch {
    return false;
  }
}
