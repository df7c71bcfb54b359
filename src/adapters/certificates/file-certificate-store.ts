// Certificate and key of one purpose in a directory, in the Go kubelet's layout, so that either kubelet can use the other's files:
// `PREFIX-YYYY-MM-DD-HH-MM-SS.pem` with both, and the link `PREFIX-current.pem` to the one in use.
//
// Invariants: the link is switched last, to a complete file that is on the disk and was read back; opening the store completes a switch that
// a kill interrupted, and removes a leftover draft, which holds a key; files that were in use are never deleted.
import { closeSync, constants, fsyncSync, lstatSync, mkdirSync, openSync, readdirSync, renameSync, rmSync, statSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { readTextFileSync } from '../text/index.js';
import { certificatesOf, pairProblem } from './certificate-facts.js';

export interface KeyPair {
  /** PEM, the leaf first. */
  readonly certificate: string;
  /** PEM. */
  readonly key: string;
}

export type StoredPair =
  | { readonly kind: 'found'; readonly pair: KeyPair; readonly path: string }
  | { readonly kind: 'absent' }
  | { readonly kind: 'broken'; readonly reason: string };

/** Why a pair wasn't stored. */
export class StoreRefusal extends Error {}

/** The ending of a draft. */
const draftEnding = '.pem.new';
const keyBlock = /-----BEGIN [A-Z ]*PRIVATE KEY-----[A-Za-z0-9+/=\s]*-----END [A-Z ]*PRIVATE KEY-----\n?/;

export class FileCertificateStore {
  private readonly directory: string;

  /** @param files a second source, e.g. the files in a kubeconfig */
  constructor(
    directory: string,
    private readonly prefix: string,
    private readonly files: { readonly certificate: string; readonly key: string } | null = null,
    private readonly now: () => Date = () => new Date(),
  ) {
    this.directory = resolve(directory);
    this.recover();
  }

  /** The path of the link to the pair in use. */
  get currentPath(): string {
    return this.path('current.pem');
  }

  /** The pair in use: the link, else the configured files, else `PREFIX.crt` and `PREFIX.key`. */
  current(): StoredPair {
    const places: readonly (readonly [string, string])[] = [
      [this.currentPath, this.currentPath],
      ...(this.files === null ? [] : [[this.files.certificate, this.files.key] as const]),
      [join(this.directory, `${this.prefix}.crt`), join(this.directory, `${this.prefix}.key`)],
    ];
    for (const [certificate, key] of places) if (exists(certificate) && exists(key)) return read(certificate, key);
    return { kind: 'absent' };
  }

  /** Puts a pair in use. Throws StoreRefusal for an inconsistent pair or a file in the link's place, and the kernel's errors. */
  update({ certificate, key }: KeyPair): void {
    const problem = pairProblem(certificate, key);
    if (problem !== null) throw new StoreRefusal(problem);
    mkdirSync(this.directory, { recursive: true, mode: 0o755 });
    const path = this.path(`${stamp(this.now())}.pem`);
    // Two within a second have one name: the one in use is never written over in place.
    const draft = `${path}.new`;
    const blocks = certificatesOf(certificate).map((item) => item.toString());
    rmSync(draft, { force: true });
    const fd = openSync(draft, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600);
    try {
      writeFileSync(fd, blocks.join('') + (keyBlock.exec(key)?.[0] ?? ''));
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    const written = read(draft, draft);
    if (written.kind !== 'found') throw new StoreRefusal(written.kind === 'broken' ? written.reason : `${draft} is gone`);
    renameSync(draft, path);
    this.switchTo(path);
  }

  private switchTo(path: string): void {
    const updated = this.path('updated.pem');
    requireLink(this.currentPath);
    if (requireLink(updated)) unlinkSync(updated);
    symlinkSync(path, updated);
    if (requireLink(this.currentPath)) unlinkSync(this.currentPath);
    renameSync(updated, this.currentPath);
    flushDirectory(this.directory);
  }

  private recover(): void {
    for (const name of filesIn(this.directory)) if (name.startsWith(`${this.prefix}-`) && name.endsWith(draftEnding)) rmSync(join(this.directory, name), { force: true });
    const updated = this.path('updated.pem');
    if (isLink(updated) && !isLink(this.currentPath) && !exists(this.currentPath)) renameSync(updated, this.currentPath);
  }

  private path(rest: string): string {
    return join(this.directory, `${this.prefix}-${rest}`);
  }
}

function filesIn(directory: string): readonly string[] {
  try {
    const entries = readdirSync(directory, { withFileTypes: true });
    return entries.filter((entry) => entry.isFile()).map(({ name }) => name);
  } catch {
    // Absent, or the error appears when it is used.
    return [];
  }
}

function read(certificatePath: string, keyPath: string): StoredPair {
  try {
    const pair = { certificate: readTextFileSync(certificatePath), key: readTextFileSync(keyPath) };
    const problem = pairProblem(pair.certificate, pair.key);
    return problem === null ? { kind: 'found', pair, path: certificatePath } : { kind: 'broken', reason: `could not load ${certificatePath}: ${problem}` };
  } catch (error) {
    return { kind: 'broken', reason: `could not load ${certificatePath}: ${error instanceof Error ? error.message : String(error)}` };
  }
}

/** Whether the path exists; false for a dangling link. */
function exists(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined;
}

function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
}

/** False if absent. */
function requireLink(path: string): boolean {
  const entry = lstatSync(path, { throwIfNoEntry: false });
  if (entry === undefined) return false;
  if (!entry.isSymbolicLink()) throw new StoreRefusal(`expected ${JSON.stringify(path)} to be a symlink but it is a file`);
  return true;
}

function flushDirectory(path: string): void {
  const fd = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** `2026-01-31-23-59-59`, local time. */
function stamp(date: Date): string {
  const two = (value: number): string => String(value).padStart(2, '0');
  return [date.getFullYear(), date.getMonth() + 1, date.getDate(), date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join('-');
}
