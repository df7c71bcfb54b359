// Allowed values of tlsMinVersion, tlsCipherSuites and tlsCurvePreferences, and their meaning for OpenSSL.
// Invariant: the names and numbers are IANA's, as in the configuration.
import type { GoParse } from '../values/go-text.js';
import type { KubeletConfiguration } from './schema.js';

/** Configurable suites: IANA name and OpenSSL's. Those of TLS 1.3 are known but are always on. */
const cipherSuites: ReadonlyMap<string, string> = new Map([
  ['TLS_AES_128_GCM_SHA256', 'TLS_AES_128_GCM_SHA256'],
  ['TLS_AES_256_GCM_SHA384', 'TLS_AES_256_GCM_SHA384'],
  ['TLS_CHACHA20_POLY1305_SHA256', 'TLS_CHACHA20_POLY1305_SHA256'],
  ['TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA', 'ECDHE-ECDSA-AES128-SHA'],
  ['TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256', 'ECDHE-ECDSA-AES128-SHA256'],
  ['TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256', 'ECDHE-ECDSA-AES128-GCM-SHA256'],
  ['TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA', 'ECDHE-ECDSA-AES256-SHA'],
  ['TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384', 'ECDHE-ECDSA-AES256-GCM-SHA384'],
  ['TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305', 'ECDHE-ECDSA-CHACHA20-POLY1305'],
  ['TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256', 'ECDHE-ECDSA-CHACHA20-POLY1305'],
  ['TLS_ECDHE_ECDSA_WITH_RC4_128_SHA', 'ECDHE-ECDSA-RC4-SHA'],
  ['TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA', 'ECDHE-RSA-DES-CBC3-SHA'],
  ['TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA', 'ECDHE-RSA-AES128-SHA'],
  ['TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256', 'ECDHE-RSA-AES128-SHA256'],
  ['TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256', 'ECDHE-RSA-AES128-GCM-SHA256'],
  ['TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA', 'ECDHE-RSA-AES256-SHA'],
  ['TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384', 'ECDHE-RSA-AES256-GCM-SHA384'],
  ['TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305', 'ECDHE-RSA-CHACHA20-POLY1305'],
  ['TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256', 'ECDHE-RSA-CHACHA20-POLY1305'],
  ['TLS_ECDHE_RSA_WITH_RC4_128_SHA', 'ECDHE-RSA-RC4-SHA'],
  ['TLS_RSA_WITH_3DES_EDE_CBC_SHA', 'DES-CBC3-SHA'],
  ['TLS_RSA_WITH_AES_128_CBC_SHA', 'AES128-SHA'],
  ['TLS_RSA_WITH_AES_128_CBC_SHA256', 'AES128-SHA256'],
  ['TLS_RSA_WITH_AES_128_GCM_SHA256', 'AES128-GCM-SHA256'],
  ['TLS_RSA_WITH_AES_256_CBC_SHA', 'AES256-SHA'],
  ['TLS_RSA_WITH_AES_256_GCM_SHA384', 'AES256-GCM-SHA384'],
  ['TLS_RSA_WITH_RC4_128_SHA', 'RC4-SHA'],
]);

/** Those that Go counts as insecure: no forward secrecy, RC4, 3DES, CBC with SHA-256. */
export const insecureCipherSuites: ReadonlySet<string> = new Set([...cipherSuites.keys()].filter((name) => /^TLS_RSA_|_RC4_|_3DES_|_CBC_SHA256$/.test(name)));

export type TlsVersion = 'TLSv1' | 'TLSv1.1' | 'TLSv1.2' | 'TLSv1.3';
const versions: Readonly<Record<string, TlsVersion>> = { '': 'TLSv1.2', VersionTLS10: 'TLSv1', VersionTLS11: 'TLSv1.1', VersionTLS12: 'TLSv1.2', VersionTLS13: 'TLSv1.3' };

/** Key exchange groups by IANA number. */
const groups: ReadonlyMap<number, string> = new Map([
  [23, 'P-256'],
  [24, 'P-384'],
  [25, 'P-521'],
  [29, 'X25519'],
  [4587, 'SecP256r1MLKEM768'],
  [4588, 'X25519MLKEM768'],
  [4589, 'SecP384r1MLKEM1024'],
]);
const maxGroup = 65_535;

export interface TlsOptions {
  readonly minVersion: TlsVersion;
  /** OpenSSL names; empty for the defaults. */
  readonly ciphers: readonly string[];
  /** OpenSSL names; empty for the defaults. */
  readonly groups: readonly string[];
}

export function tlsOptions(configuration: Pick<KubeletConfiguration, 'tlsCipherSuites' | 'tlsMinVersion' | 'tlsCurvePreferences'>): GoParse<TlsOptions> {
  const refuse = (error: string): GoParse<never> => ({ ok: false, error });
  const unknown = configuration.tlsCipherSuites.find((name) => !cipherSuites.has(name));
  if (unknown !== undefined) return refuse(`Cipher suite ${unknown} not supported or doesn't exist`);
  const minVersion = Object.hasOwn(versions, configuration.tlsMinVersion) ? versions[configuration.tlsMinVersion] : undefined;
  if (minVersion === undefined) return refuse(`unknown tls version "${configuration.tlsMinVersion}"`);
  const chosen: string[] = [];
  for (const [i, id] of configuration.tlsCurvePreferences.entries()) {
    if (id <= 0 || id > maxGroup) return refuse(`curve preference ${id} is out of range (must be 1-${maxGroup})`);
    if (configuration.tlsCurvePreferences.indexOf(id) < i) return refuse(`duplicate curve preference ${id}`);
    const name = groups.get(id);
    // The text names Go, whose release determines the Go kubelet's groups.
    if (name === undefined) return refuse(`curve preference ${id} is not supported by the current Go version`);
    chosen.push(name);
  }
  const ciphers = configuration.tlsCipherSuites.map((name) => cipherSuites.get(name) as string);
  return { ok: true, value: { minVersion, ciphers: [...new Set(ciphers)], groups: chosen } };
}
