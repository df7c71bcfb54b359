// The certificates port on files: pairs in their stores, requests with keys that stay here.
// Invariant: a key is in memory until a certificate is stored for it, in the store's file, or in the file of the pending request; nowhere else.
import { createHash, createPrivateKey, createPublicKey, generateKeyPair, type KeyObject } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import type { PortOf } from '../../ports/operation.js';
import type { CertificateFacts, CertificateOperations, CertificatePurpose } from '../../ports/outbound/certificates.js';
import { PortError } from '../../ports/port-error.js';
import { certificatesOf, factsOf } from './certificate-facts.js';
import { certificateRequest, type RequestedCertificate, readCertificateRequest } from './certificate-request.js';
import { type FileCertificateStore, type KeyPair, StoreRefusal } from './file-certificate-store.js';

type Requests = { readonly [Name in keyof CertificateOperations]: CertificateOperations[Name]['request'] };

export interface FileCertificatesOptions {
  readonly stores: Readonly<Partial<Record<CertificatePurpose, FileCertificateStore>>>;
  /** The path of a pending request's key. */
  readonly keptKeyPath: string;
  /** Called for an unusable pair in the store. */
  problem(text: string): void;
  /** A pair was put in use. */
  changed(purpose: CertificatePurpose, pair: KeyPair): void;
  giveUp(reason: string): void;
}

interface Pending {
  readonly id: string;
  readonly key: KeyObject;
  readonly wanted: RequestedCertificate;
  readonly isKept: boolean;
}

const newKeys = promisify(generateKeyPair);

export class FileCertificates implements PortOf<CertificateOperations> {
  /** The last request of each purpose. */
  private readonly pending = new Map<CertificatePurpose, Pending>();
  private made = 0;

  constructor(private readonly options: FileCertificatesOptions) {}

  async current({ purpose }: Requests['current']): Promise<CertificateFacts | null> {
    const stored = this.storeOf(purpose).current();
    if (stored.kind === 'broken') this.options.problem(stored.reason);
    return stored.kind === 'found' ? factsOfPair(stored.pair) : null;
  }

  async request({ purpose, template, usages, keepsKey }: Requests['request']): Promise<{ readonly request: string; readonly csr: string; readonly name: string }> {
    const key = keepsKey ? await this.keptKey() : (await newKeys('ec', { namedCurve: 'P-256' })).privateKey;
    this.made += 1;
    const id = `${purpose}-${this.made}`;
    this.pending.set(purpose, { id, key, wanted: template, isKept: keepsKey });
    return { request: id, csr: certificateRequest(template, key), name: digestedName(key, template, usages) };
  }

  async compare({ request, csr, certificate }: Requests['compare']): Promise<{ readonly problem: string | null }> {
    const pending = [...this.pending.values()].find(({ id }) => id === request);
    if (pending === undefined) throw refusal('certificates.compare', 'the request is gone');
    return { problem: difference(pending, csr, certificate) };
  }

  async store({ purpose, request, certificate }: Requests['store']): Promise<CertificateFacts> {
    const pending = this.pending.get(purpose);
    if (pending?.id !== request) throw refusal('certificates.store', 'the request is gone');
    const pair = { certificate, key: pending.key.export({ type: 'sec1', format: 'pem' }) as string };
    try {
      this.storeOf(purpose).update(pair);
    } catch (error) {
      const isRefusal = error instanceof StoreRefusal;
      const message = error instanceof Error ? error.message : String(error);
      throw new PortError({ kind: isRefusal ? 'failed-precondition' : 'unavailable', message, operation: 'certificates.store', subject: purpose, cause: error });
    }
    this.pending.delete(purpose);
    if (pending.isKept) rmSync(this.options.keptKeyPath, { force: true });
    this.options.changed(purpose, pair);
    return factsOfPair(pair);
  }

  async giveUp({ reason }: Requests['giveUp']): Promise<null> {
    this.options.giveUp(reason);
    return null;
  }

  private storeOf(purpose: CertificatePurpose): FileCertificateStore {
    const store = this.options.stores[purpose];
    if (store === undefined) throw refusal('certificates', `there is no store for ${purpose} certificates`);
    return store;
  }

  private async keptKey(): Promise<KeyObject> {
    const { keptKeyPath } = this.options;
    if (existsSync(keptKeyPath)) {
      try {
        return createPrivateKey(readFileSync(keptKeyPath));
      } catch {
        this.options.problem(`${keptKeyPath} holds no key, another one is made`);
      }
    }
    const { privateKey } = await newKeys('ec', { namedCurve: 'P-256' });
    mkdirSync(dirname(keptKeyPath), { recursive: true, mode: 0o755 });
    writeFileSync(`${keptKeyPath}.new`, privateKey.export({ type: 'sec1', format: 'pem' }), { mode: 0o600 });
    renameSync(`${keptKeyPath}.new`, keptKeyPath);
    return privateKey;
  }
}

function factsOfPair({ certificate }: KeyPair): CertificateFacts {
  const [leaf] = certificatesOf(certificate);
  if (leaf === undefined) throw refusal('certificates.current', 'there is no certificate');
  return factsOf(leaf);
}

/** The Go kubelet's name, from key, subject and usages: the same for the same request after a restart. */
function digestedName(key: KeyObject, { commonName, organizations }: RequestedCertificate, usages: readonly string[]): string {
  const hash = createHash('sha512-256');
  const write = (data: string | Buffer): void => void hash.update(`${Buffer.from(data as string).toString('base64url')}|`);
  write(createPublicKey(key).export({ type: 'spki', format: 'der' }));
  for (const text of [commonName, ...organizations, ...usages]) write(text);
  return `node-csr-${hash.digest('base64url')}`;
}

/** @param csr base64 of its PEM, as the API has it @param certificate the same, when it is issued */
function difference({ key, wanted }: Pending, csr: string, certificate: string | null): string | null {
  try {
    const theirs = readCertificateRequest(Buffer.from(csr, 'base64').toString('utf8'));
    if (!theirs.publicKey.equals(createPublicKey(key))) return 'csr signature is not by the key of this node';
    if (theirs.commonName !== wanted.commonName || theirs.organizations.toSorted().join() !== wanted.organizations.toSorted().join()) return 'csr subjects differ';
    const hasExpired = certificatesOf(Buffer.from(certificate ?? '', 'base64').toString('utf8')).some((item) => Date.parse(item.validTo) < Date.now());
    return hasExpired ? 'one of the certificates for the CSR has expired' : null;
  } catch (error) {
    return `unable to parse csr: ${error instanceof Error ? error.message : String(error)}`;
  }
}

function refusal(operation: string, message: string): PortError {
  return new PortError({ kind: 'failed-precondition', message, operation, subject: '' });
}
