// The serving certificate of the kubelet's port (spec/config-and-api.md, 8.1): the operator's files, reread when they change, or a
// self-signed pair that the agent makes once and keeps.
// Invariants: an inconsistent pair never replaces a consistent one; a key is readable by its owner only, and written before its certificate.
import { generateKeyPairSync } from 'node:crypto';
import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseIp } from '../../domain/values/ip-address.js';
import { StartRefusal } from '../../ports/start-refusal.js';
import { systemError } from '../config-files/index.js';
import { readTextFileSync } from '../text/index.js';
import { pairProblem } from './certificate-facts.js';
import { issueCertificate } from './issue-certificate.js';

const hourMillis = 3_600_000;
const validMillis = 365 * 24 * hourMillis;

export interface ServingPair {
  readonly certificatePem: string;
  readonly keyPem: string;
}

/** Errors: StartRefusal, naming the file. */
export function readServingPair(certificateFile: string, keyFile: string): ServingPair {
  const pair = { certificatePem: readText(certificateFile), keyPem: readText(keyFile) };
  const problem = pairProblem(pair.certificatePem, pair.keyPem);
  if (problem !== null) throw new StartRefusal(`failed to run Kubelet: unable to use tlsCertFile ${certificateFile} and tlsPrivateKeyFile ${keyFile}: ${problem}`);
  return pair;
}

export interface ServingFiles {
  readonly certificate: string;
  readonly key: string;
}

/** Where the agent keeps the pair that it makes for itself. */
export function servingFilesIn(certificateDirectory: string): ServingFiles {
  return { certificate: join(certificateDirectory, 'kubelet.crt'), key: join(certificateDirectory, 'kubelet.key') };
}

/** The pair in these files, created if absent. */
export function ownServingPair({ certificate: certificateFile, key: keyFile }: ServingFiles, host: string, nowMillis: number): ServingPair {
  // A kill between the two writes leaves a key without a certificate.
  if (existsSync(certificateFile)) {
    if (!existsSync(keyFile)) throw new StartRefusal(`failed to run Kubelet: error reading ${keyFile}, certificate and key must be supplied as a pair`);
    return readServingPair(certificateFile, keyFile);
  }
  const pair = makePair(host, nowMillis);
  try {
    mkdirSync(dirname(certificateFile), { recursive: true, mode: 0o755 });
    writeWhole(keyFile, pair.keyPem, 0o600);
    writeWhole(certificateFile, pair.certificatePem, 0o644);
  } catch (error) {
    throw new StartRefusal(`failed to run Kubelet: unable to write the serving certificate: ${error instanceof Error ? error.message : String(error)}`);
  }
  return pair;
}

/** Signed by a new authority whose key is discarded. */
function makePair(host: string, nowMillis: number): ServingPair {
  const seconds = Math.floor(nowMillis / 1000);
  const authority = { commonName: `${host}-ca@${seconds}`, organizations: [] };
  const times = { notBeforeMillis: nowMillis - hourMillis, notAfterMillis: nowMillis + validMillis };
  const authorityKeys = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const keys = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const issuer = { ...authority, privateKey: authorityKeys.privateKey };
  const names = parseIp(host) === null ? { dnsNames: [host], ipAddresses: [] } : { dnsNames: [], ipAddresses: [host] };
  const leaf = issueCertificate(
    { commonName: `${host}@${seconds}`, organizations: [], ...names, ...times, publicKey: keys.publicKey, isAuthority: false, purposes: ['server'] },
    issuer,
  );
  const signer = issueCertificate({ ...authority, dnsNames: [], ipAddresses: [], ...times, publicKey: authorityKeys.publicKey, isAuthority: true, purposes: [] }, issuer);
  return { certificatePem: leaf + signer, keyPem: keys.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() };
}

function writeWhole(path: string, text: string, mode: number): void {
  const unfinished = `${path}.new`;
  writeFileSync(unfinished, text, { mode, flush: true });
  renameSync(unfinished, path);
}

function readText(path: string): string {
  try {
    return readTextFileSync(path);
  } catch (error) {
    throw new StartRefusal(`failed to run Kubelet: unable to load the serving certificate or its key: ${systemError(error, 'open', path)}`);
  }
}
