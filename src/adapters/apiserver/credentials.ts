// The client's current identity: authorities, certificate, token. Rereads files when they change, and reruns credential plugins when their credentials expire.
//
// Invariants: an unreadable or inconsistent input is reported once, and the last good one stays in use; an expired certificate is
// never presented; the identity's number changes exactly when connections made before belong to another identity.
import { instantOf } from '../../domain/values/instant.js';
import { formatRfc3339 } from '../../domain/values/time.js';
import type { Instant } from '../../ports/instant.js';
import type { Micros } from '../../ports/micros.js';
import { certificatesOf, factsOf, pairProblem } from '../certificates/index.js';
import { type ExecClusterInfo, type ExecutedCredential, runExecPlugin } from './exec-credential.js';
import { openErrorText } from './file-text.js';
import type { ClientConfig, Material } from './kubeconfig.js';
import { tokenProblem } from './token-text.js';
import { WatchedFile } from './watched-file.js';

export interface ClientIdentity {
  /** Connections of another number are another client's. */
  readonly connection: number;
  /** PEM; null: the authorities that the host trusts. */
  readonly authority: string | null;
  readonly certificate: string | null;
  readonly key: string | null;
  /** The Authorization header; null: none. */
  readonly authorization: string | null;
}

export interface ClientPair {
  readonly certificate: string;
  readonly key: string;
}

export interface CredentialOptions {
  readonly config: ClientConfig;
  now(): Micros;
  wall(): Instant;
  /** Called for an unusable input, once until it changes. Without secrets. */
  problem(text: string): void;
  /** With certificate rotation, the pair that takes precedence over the file's; null: none at present. */
  readonly rotated?: (() => ClientPair | null) | null;
}

/** The longest time between two checks of the files. */
const lookEveryMicros = 10_000_000;
/** The minimum interval between renewals of a refused token or plugin credential. */
const renewEveryMicros = 10_000_000;

interface Shown {
  readonly pair: ClientPair | null;
  /** null: it never ends. */
  readonly notAfter: Instant | null;
}

const none: Shown = { pair: null, notAfter: null };

export class Credentials {
  private readonly files = new Map<string, WatchedFile>();
  private readonly reported = new Map<string, string>();
  private lookedAt: Micros = Number.NEGATIVE_INFINITY;
  private looking: Promise<void> | null = null;
  private authority: string | null = null;
  private shown: Shown = none;
  private token: string | null = null;
  private executed: ExecutedCredential | null = null;
  private executedAt: Micros = Number.NEGATIVE_INFINITY;
  private rejectedSince = false;
  private identity: ClientIdentity = { connection: 0, authority: null, certificate: null, key: null, authorization: null };

  constructor(private readonly options: CredentialOptions) {}

  /** Never rejects: without credentials the server refuses the request, which is the best error. */
  async current(): Promise<ClientIdentity> {
    const now = this.options.now();
    const expiresAt = this.executed?.expiresAt ?? null;
    const hasExpired = expiresAt !== null && this.options.wall() >= expiresAt && now - this.executedAt >= renewEveryMicros;
    if (hasExpired || now - this.lookedAt >= lookEveryMicros || now < this.lookedAt) {
      this.looking ??= this.look().finally(() => {
        this.looking = null;
      });
      await this.looking;
    }
    return this.identityNow();
  }

  /** The server rejected these credentials: renews what can be renewed, before the next request. */
  rejected(): void {
    this.rejectedSince = true;
    if (this.options.now() - this.executedAt >= renewEveryMicros) this.lookedAt = Number.NEGATIVE_INFINITY;
  }

  private async look(): Promise<void> {
    const { authority, user } = this.options.config;
    if (authority !== null) this.authority = await this.materialText(authority, this.authority);
    if (user.certificate !== null) await this.lookAtPair(user.certificate.certificate, user.certificate.key);
    if (user.token !== null) this.token = (user.token.file === null ? null : await this.tokenOfFile(user.token.file)) ?? user.token.value;
    if (user.exec !== null) await this.execute();
    this.rejectedSince = false;
    this.lookedAt = this.options.now();
  }

  private async lookAtPair(certificate: Material, key: Material): Promise<void> {
    const pair = { certificate: await this.materialText(certificate, null), key: await this.materialText(key, null) };
    if (pair.certificate === null || pair.key === null) return;
    this.take({ certificate: pair.certificate, key: pair.key }, certificate.kind === 'file' ? certificate.path : 'client-certificate-data');
  }

  private take(pair: ClientPair, subject: string): void {
    if (pair.certificate === this.shown.pair?.certificate && pair.key === this.shown.pair.key) return;
    const problem = pairProblem(pair.certificate, pair.key);
    this.report(`${subject} pair`, problem === null ? null : `${subject}: ${problem}`);
    if (problem === null) this.shown = shownOf(pair);
  }

  private async tokenOfFile(path: string): Promise<string | null> {
    const text = (await this.materialText({ kind: 'file', path }, null))?.trim() ?? null;
    // An unreadable file was reported already; the previous token stays.
    if (text === null) return this.token;
    const problem = text === '' ? `token file ${path} is empty` : tokenProblem(text, path);
    this.report(`token ${path}`, problem);
    return problem === null ? text : this.token;
  }

  private async materialText(material: Material, before: string | null): Promise<string | null> {
    if (material.kind === 'data') return material.pem;
    let file = this.files.get(material.path);
    if (file === undefined) {
      file = new WatchedFile(material.path);
      this.files.set(material.path, file);
    }
    try {
      const text = await file.read();
      this.report(material.path, null);
      return text;
    } catch (error) {
      this.report(material.path, openErrorText(material.path, error));
      return before;
    }
  }

  private async execute(): Promise<void> {
    const { config } = this.options;
    const now = this.options.now();
    const isGood = this.executed !== null && (this.executed.expiresAt === null || this.options.wall() < this.executed.expiresAt) && !this.rejectedSince;
    if (isGood || config.user.exec === null) return;
    this.executedAt = now;
    try {
      this.executed = await runExecPlugin(config.user.exec, config.user.exec.provideClusterInfo ? this.clusterInfo() : null);
      this.token = this.executed.token;
      if (this.executed.certificate !== null && this.executed.key !== null) this.take({ certificate: this.executed.certificate, key: this.executed.key }, config.user.exec.command);
      this.report('exec', null);
    } catch (error) {
      this.report('exec', `getting credentials: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  private clusterInfo(): ExecClusterInfo {
    const { server, serverName, insecure, proxyUrl } = this.options.config;
    return {
      server,
      ...(serverName === null ? {} : { 'tls-server-name': serverName }),
      ...(insecure ? { 'insecure-skip-tls-verify': true } : {}),
      ...(this.authority === null ? {} : { 'certificate-authority-data': Buffer.from(this.authority).toString('base64') }),
      ...(proxyUrl === null ? {} : { 'proxy-url': proxyUrl }),
    };
  }

  private identityNow(): ClientIdentity {
    const rotated = this.options.rotated?.() ?? null;
    if (rotated !== null && (rotated.certificate !== this.shown.pair?.certificate || rotated.key !== this.shown.pair.key)) this.shown = shownOf(rotated);
    const { notAfter } = this.shown;
    const isOver = notAfter !== null && this.options.wall() >= notAfter;
    // A clear line in the log: the server would only answer 401.
    this.report('over', isOver ? `the client certificate has expired at ${formatRfc3339(notAfter)}, it is not shown to the server` : null);
    const pair = isOver ? null : this.shown.pair;
    const { basic } = this.options.config.user;
    const authorization = this.token !== null ? `Bearer ${this.token}` : basic !== null ? `Basic ${Buffer.from(`${basic.username}:${basic.password}`).toString('base64')}` : null;
    const before = this.identity;
    const isSame = before.authority === this.authority && before.certificate === (pair?.certificate ?? null) && before.key === (pair?.key ?? null);
    if (isSame && before.authorization === authorization) return before;
    this.identity = {
      connection: isSame ? before.connection : before.connection + 1,
      authority: this.authority,
      certificate: pair?.certificate ?? null,
      key: pair?.key ?? null,
      authorization,
    };
    return this.identity;
  }

  private report(subject: string, problem: string | null): void {
    if (problem === null) {
      this.reported.delete(subject);
      return;
    }
    if (this.reported.get(subject) === problem) return;
    this.reported.set(subject, problem);
    this.options.problem(problem);
  }
}

function shownOf(pair: ClientPair): Shown {
  const [leaf] = certificatesOf(pair.certificate);
  return { pair, notAfter: leaf === undefined ? instantOf(0) : factsOf(leaf).notAfter };
}
