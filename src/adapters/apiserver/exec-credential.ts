// Credentials from a plugin program (client.authentication.k8s.io). It runs in the background and doesn't block the agent.
// Invariants: one run at a time; its output is a secret: neither its output nor its environment is ever in a message.
import { spawn } from 'node:child_process';
import { parseRfc3339 } from '../../domain/values/time.js';
import type { Instant } from '../../ports/instant.js';
import type { ExecConfig } from './exec-config.js';

export interface ExecutedCredential {
  readonly token: string | null;
  readonly certificate: string | null;
  readonly key: string | null;
  /** null: for as long as the process lives, or until the server refuses it. */
  readonly expiresAt: Instant | null;
}

/** The cluster's data for the plugin, on its request. */
export interface ExecClusterInfo {
  readonly server: string;
  readonly 'tls-server-name'?: string;
  readonly 'insecure-skip-tls-verify'?: boolean;
  readonly 'certificate-authority-data'?: string;
  readonly 'proxy-url'?: string;
}

const outputBytesMax = 1024 * 1024;
/** Longer than any sign-in that needs no person. */
const runMillis = 60_000;

/** Runs the program once. Throws an error that names it and its failure. */
export async function runExecPlugin(config: ExecConfig, cluster: ExecClusterInfo | null): Promise<ExecutedCredential> {
  const info = { kind: 'ExecCredential', apiVersion: config.apiVersion, spec: { interactive: false, ...(cluster === null ? {} : { cluster }) } };
  const output = await outputOf(config, JSON.stringify(info));
  return credentialOf(config, output);
}

function outputOf(config: ExecConfig, info: string): Promise<string> {
  const { command, args, env } = config;
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { env: { ...process.env, ...env, KUBERNETES_EXEC_INFO: info }, stdio: ['ignore', 'pipe', 'ignore'] });
    const timer = setTimeout(() => child.kill('SIGKILL'), runMillis);
    const chunks: Buffer[] = [];
    let bytes = 0;
    child.stdout.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > outputBytesMax) child.kill('SIGKILL');
      else chunks.push(chunk);
    });
    child.once('error', (error: NodeJS.ErrnoException) => {
      clearTimeout(timer);
      const hint = config.installHint === '' ? '' : ` (${config.installHint})`;
      reject(new Error(error.code === 'ENOENT' ? `exec: executable ${command} not found${hint}` : `exec: ${command}: ${error.code ?? error.message}`));
    });
    child.once('close', (code, signal) => {
      clearTimeout(timer);
      if (bytes > outputBytesMax) reject(new Error(`exec: executable ${command} printed more than ${outputBytesMax} bytes`));
      else if (code !== 0) reject(new Error(`exec: executable ${command} failed with ${signal === null ? `exit code ${code}` : `signal ${signal}`}`));
      else resolve(Buffer.concat(chunks).toString('utf8'));
    });
  });
}

function credentialOf({ command, apiVersion }: ExecConfig, output: string): ExecutedCredential {
  const refuse = (why: string): Error => new Error(`exec plugin ${command}: ${why}`);
  let parsed: unknown;
  try {
    parsed = JSON.parse(output);
  } catch {
    throw refuse('decoding stdout: it is no JSON');
  }
  const answer = (parsed ?? {}) as { readonly kind?: unknown; readonly apiVersion?: unknown; readonly status?: Readonly<Record<string, unknown>> | null };
  if (answer.kind !== 'ExecCredential' || answer.apiVersion !== apiVersion)
    throw refuse(`is configured to use API version ${apiVersion}, and answered with another kind or version`);
  const { status } = answer;
  if (status === undefined || status === null) throw refuse('exec plugin did not return a status field');
  const text = (field: string): string | null => (typeof status[field] === 'string' && status[field] !== '' ? (status[field] as string) : null);
  const credential = { token: text('token'), certificate: text('clientCertificateData'), key: text('clientKeyData') };
  if (credential.token === null && credential.certificate === null && credential.key === null) throw refuse('exec plugin did not return a token or cert/key pair');
  if ((credential.certificate === null) !== (credential.key === null)) throw refuse('exec plugin returned only one of client-key-data and client-certificate-data');
  const expiry = text('expirationTimestamp');
  return { ...credential, expiresAt: expiry === null ? null : parseRfc3339(expiry) };
}
