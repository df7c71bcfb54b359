// The content of a kubeconfig file: the server, the trusted authorities, the user. Read as the Go client reads it.
// Invariants: a refusal names the file and the field; no secret (key, token, password) is ever in a message.
import { accessSync, constants, readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { goQuote } from '../../domain/values/go-text.js';
import { type PlainMap, type PlainValue, parseYaml } from '../yaml/index.js';
import { type ExecConfig, execConfigOf } from './exec-config.js';
import { openErrorText } from './file-text.js';

/** PEM text, or the file that it is read from. */
export type Material = { readonly kind: 'file'; readonly path: string } | { readonly kind: 'data'; readonly pem: string };

export interface ClientUser {
  readonly certificate: { readonly certificate: Material; readonly key: Material } | null;
  /** A file is read again as it changes; its content counts more than a value beside it. */
  readonly token: { readonly value: string | null; readonly file: string | null } | null;
  readonly basic: { readonly username: string; readonly password: string } | null;
  readonly exec: ExecConfig | null;
}

export interface ClientConfig {
  /** The path of the file; for messages. */
  readonly path: string;
  /** http or https, with the path that everything is below, without a slash at the end. */
  readonly server: string;
  /** Checked against the certificate in place of the server's host; null: the host. */
  readonly serverName: string | null;
  readonly insecure: boolean;
  /** null: the authorities that the host trusts. */
  readonly authority: Material | null;
  readonly proxyUrl: string | null;
  readonly user: ClientUser;
}

/** Why a kubeconfig can't be used. The message is one line. */
export class KubeconfigError extends Error {
  constructor(
    message: string,
    /** The file is absent. */
    readonly isAbsent = false,
  ) {
    super(message);
    this.name = 'KubeconfigError';
  }
}

const emptyConfiguration = 'no configuration has been provided, try setting KUBERNETES_MASTER environment variable';

/** Reads and checks a file. Throws KubeconfigError. */
export function loadKubeconfig(path: string): ClientConfig {
  return kubeconfigOf(readBytes(path), path);
}

/** The same of a text; relative paths in it are below the directory of `path`. */
export function kubeconfigOf(text: string | Uint8Array, path: string): ClientConfig {
  const parsed = parseYaml(text);
  const refuse = (why: string): KubeconfigError => new KubeconfigError(`error loading config file ${goQuote(path)}: ${why}`);
  if (!parsed.ok) throw refuse(parsed.line === 0 ? parsed.message : `line ${parsed.line}: ${parsed.message}`);
  const root = parsed.value ?? {};
  if (!isMap(root)) throw refuse('expected a Config, found no map');
  const { kind = 'Config', apiVersion = 'v1' } = root;
  if (kind !== 'Config' || apiVersion !== 'v1')
    throw refuse(`no kind ${goQuote(String(kind))} is registered for version ${goQuote(String(apiVersion))}: expected kind Config of apiVersion v1`);
  return new Reader(path, root, refuse).config();
}

function readBytes(path: string): Uint8Array {
  try {
    return readFileSync(path);
  } catch (error) {
    const isAbsent = (error as NodeJS.ErrnoException).code === 'ENOENT';
    throw new KubeconfigError(isAbsent ? `stat ${path}: no such file or directory` : `error loading config file ${goQuote(path)}: ${openErrorText(path, error)}`, isAbsent);
  }
}

function isMap(value: PlainValue | undefined): value is PlainMap {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** One file. Syntax errors are refused at once, semantic errors all together. */
class Reader {
  private readonly problems: string[] = [];

  constructor(
    private readonly path: string,
    private readonly root: PlainMap,
    private readonly refuse: (why: string) => KubeconfigError,
  ) {}

  config(): ClientConfig {
    const contextName = this.text(this.root, 'current-context', 'current-context');
    const context = contextName === '' ? null : this.named('contexts', 'context', contextName);
    if (contextName !== '' && context === null) throw this.invalid([`context ${goQuote(contextName)} does not exist`], 'current-context names none of its contexts');
    if (context === null) throw this.invalid([emptyConfiguration], 'current-context is not set');
    const clusterName = this.text(context.value, 'cluster', `${context.field}.cluster`);
    const userName = this.text(context.value, 'user', `${context.field}.user`);
    const cluster = this.named('clusters', 'cluster', clusterName);
    const user = this.named('users', 'user', userName);
    if (user === null && userName !== '') this.problems.push(`user ${goQuote(userName)} was not found for context ${goQuote(contextName)}`);
    const who = this.user(user?.value ?? {}, user?.field ?? 'users', userName);
    if (cluster === null) throw this.invalid([...this.problems, `no server found for cluster ${goQuote(clusterName)}`], `${context.field}.cluster names none of its clusters`);
    return this.withCluster(cluster.value, cluster.field, clusterName, who);
  }

  private withCluster(cluster: PlainMap, field: string, name: string, user: ClientUser): ClientConfig {
    const server = this.text(cluster, 'server', `${field}.server`).replace(/\/+$/, '');
    const insecure = cluster['insecure-skip-tls-verify'] === true;
    const authority = this.material(cluster, 'certificate-authority', field, `unable to read certificate-authority %s for ${name} due to %e`);
    const proxyUrl = this.text(cluster, 'proxy-url', `${field}.proxy-url`);
    if (server === '') this.problems.push(`no server found for cluster ${goQuote(name)}`);
    else if (!/^https?:\/\/[^/]/.test(server) || !URL.canParse(server))
      this.problems.push(`${field}.server: expected an http or https URL, found ${goQuote(withoutSecrets(server))}`);
    if (insecure && authority !== null) this.problems.push('specifying a root certificates file with the insecure flag is not allowed');
    if (proxyUrl !== '') this.checkProxy(proxyUrl, `${field}.proxy-url`);
    if (this.problems.length > 0) throw this.invalid(this.problems, null);
    const serverName = this.text(cluster, 'tls-server-name', `${field}.tls-server-name`);
    return { path: this.path, server, serverName: serverName === '' ? null : serverName, insecure, authority, proxyUrl: proxyUrl === '' ? null : proxyUrl, user };
  }

  private checkProxy(proxyUrl: string, field: string): void {
    const protocol = URL.canParse(proxyUrl) ? new URL(proxyUrl).protocol : '';
    if (protocol !== 'http:' && protocol !== 'https:') this.problems.push(`${field}: expected an http or https URL, found ${goQuote(withoutSecrets(proxyUrl))}`);
  }

  private user(user: PlainMap, field: string, name: string): ClientUser {
    const certificate = this.material(user, 'client-certificate', field, `unable to read client-cert %s for ${name} due to %e`);
    const key = this.material(user, 'client-key', field, `unable to read client-key %s for ${name} due to %e`);
    if (certificate !== null && key === null) this.problems.push(`client-key-data or client-key must be specified for ${name} to use the clientCert authentication method.`);
    const value = this.text(user, 'token', `${field}.token`);
    const file = this.pathOf(this.text(user, 'tokenFile', `${field}.tokenFile`));
    const username = this.text(user, 'username', `${field}.username`);
    const methods = [...(value === '' && file === '' ? [] : ['token']), ...(username === '' ? [] : ['basicAuth'])];
    if (methods.length > 1) this.problems.push(`more than one authentication method found for ${name}; found [${methods.join(' ')}], only one is allowed`);
    if (isMap(user['auth-provider']))
      this.problems.push(`no Auth Provider found for name ${goQuote(String(user['auth-provider'].name ?? ''))}: expected exec, a token or a certificate`);
    const exec = isMap(user.exec) ? execConfigOf(user.exec, `${field}.exec`, name, dirname(this.path), this.problems) : null;
    if (exec !== null && methods.length > 0) this.problems.push(`execProvider and ${methods[0]} are both specified for ${name}, only one is allowed`);
    return {
      certificate: certificate === null || key === null ? null : { certificate, key },
      token: value === '' && file === '' ? null : { value: value === '' ? null : value, file: file === '' ? null : file },
      basic: username === '' ? null : { username, password: this.text(user, 'password', `${field}.password`) },
      exec,
    };
  }

  /** `key`-data counts more than `key`, which is a path. */
  private material(map: PlainMap, key: string, field: string, unreadable: string): Material | null {
    const data = this.text(map, `${key}-data`, `${field}.${key}-data`);
    if (data !== '') return { kind: 'data', pem: this.decoded(data, `${field}.${key}-data`) };
    const path = this.pathOf(this.text(map, key, `${field}.${key}`));
    if (path === '') return null;
    try {
      accessSync(path, constants.R_OK);
    } catch (error) {
      this.problems.push(unreadable.replace('%s', path).replace('%e', openErrorText(path, error)));
    }
    return { kind: 'file', path };
  }

  private decoded(data: string, field: string): string {
    const text = data.replace(/[\r\n]/g, '');
    if (!/^[A-Za-z0-9+/]*={0,2}$/.test(text) || text.length % 4 !== 0) throw this.refuse(`${field}: illegal base64 data`);
    return Buffer.from(text, 'base64').toString('utf8');
  }

  private pathOf(path: string): string {
    return path === '' ? '' : resolve(dirname(this.path), path);
  }

  private named(list: string, member: string, name: string): { readonly value: PlainMap; readonly field: string } | null {
    const items = this.root[list] ?? [];
    if (!Array.isArray(items)) throw this.refuse(`${list}: expected a list`);
    const index = (items as readonly PlainValue[]).findIndex((item) => isMap(item) && item.name === name);
    if (index < 0) return null;
    const value = (items[index] as PlainMap)[member];
    if (value !== undefined && value !== null && !isMap(value)) throw this.refuse(`${list}[${index}].${member}: expected a map`);
    return { value: (value ?? {}) as PlainMap, field: `${list}[${index}].${member}` };
  }

  private text(map: PlainMap, key: string, field: string): string {
    const value = map[key] ?? '';
    if (typeof value !== 'string') throw this.refuse(`${field}: expected a text`);
    return value;
  }

  private invalid(problems: readonly string[], where: string | null): KubeconfigError {
    const [only] = problems;
    const text = problems.length === 1 ? only : `[${problems.join(', ')}]`;
    return new KubeconfigError(`invalid configuration: ${text} (${this.path}${where === null ? '' : `: ${where}`})`);
  }
}

/** A URL for messages: without user and password. */
export function withoutSecrets(url: string): string {
  return url.replace(/\/\/[^/@]*@/, '//');
}
