// kubectl, the mock apiserver, a daemon and the mock runtime: a whole cluster without a container, for tests of streams.
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import type { Test } from 'tap';
import { type MockApiserver, startMockApiserver } from '../../src/adapters/mock-apiserver/index.js';
import type { MockCriOptions } from '../../src/adapters/mock-cri/index.js';
import { Stage } from './stage.js';

export interface Said {
  readonly code: number | null;
  readonly stdout: Buffer;
  readonly stderr: string;
}

export type Environment = Readonly<Record<string, string>>;

export class KubectlStage {
  private constructor(
    readonly stage: Stage,
    readonly server: MockApiserver,
    readonly kubeconfig: string,
  ) {}

  /** @param configuration further lines of the kubelet's configuration */
  static async open(t: Test, options: Partial<MockCriOptions> = {}, configuration: readonly string[] = []): Promise<KubectlStage> {
    const stage = await Stage.open({
      ...options,
      latencies: { look: 500, runSandbox: 5_000, createContainer: 1_000, startContainer: 1_000, stop: 1_000, remove: 1_000, pull: 1_000, exec: 1_000 },
    });
    const server = await startMockApiserver({ kubeletHost: '127.0.0.1', httpBind: '127.0.0.1:0' });
    t.teardown(async () => {
      await stage.close();
      await server.stop();
    });
    const at = (name: string, text: string): string => {
      const path = join(stage.directory, name);
      writeFileSync(path, text, { mode: 0o600 });
      return path;
    };
    const authorities = at('client-ca.crt', server.caCertificate);
    const kubelet = at('kubelet.conf', server.kubeconfig({ commonName: 'system:node:n1', organizations: ['system:nodes'] }));
    stage.flags.push(`--kubeconfig=${kubelet}`);
    stage.configurationMore = [
      'enableServer: true',
      'address: 127.0.0.1',
      `port: ${await freePort()}`,
      `authentication: {x509: {clientCAFile: ${authorities}}, anonymous: {enabled: false}, webhook: {enabled: true}}`,
      'authorization: {mode: Webhook}',
      ...configuration,
      '',
    ].join('\n');
    await stage.start({ apiPort: null, apiAddress: null });
    const opened = new KubectlStage(stage, server, at('admin.conf', server.kubeconfig()));
    await opened.run(['wait', 'node/n1', '--for=condition=Ready', '--timeout=60s']);
    return opened;
  }

  /** Runs it to its end. */
  run(words: readonly string[], input: string | Buffer = '', environment: Environment = {}): Promise<Said> {
    return new Promise((resolve, reject) => {
      const child = this.spawn(words, environment);
      const [stdout, stderr]: [Buffer[], Buffer[]] = [[], []];
      child.stdout.on('data', (chunk: Buffer) => stdout.push(chunk));
      child.stderr.on('data', (chunk: Buffer) => stderr.push(chunk));
      child.once('error', reject);
      child.once('close', (code) => resolve({ code, stdout: Buffer.concat(stdout), stderr: Buffer.concat(stderr).toString() }));
      // Some commands end before all of it is read.
      child.stdin.on('error', () => {});
      child.stdin.end(input);
    });
  }

  spawn(words: readonly string[], environment: Environment = {}) {
    return spawn('kubectl', ['--kubeconfig', this.kubeconfig, ...words], { stdio: ['pipe', 'pipe', 'pipe'], env: { ...process.env, ...environment } });
  }

  /** A pod of one container that behaves so, once it is ready. */
  async pod(name: string, script = 'run=forever', more: object = {}): Promise<void> {
    const containers = [{ name: 'c', image: 'busybox', imagePullPolicy: 'IfNotPresent', ...more }];
    const metadata = { name, annotations: { 'sim.kubelet-ts/c': script } };
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata, spec: { automountServiceAccountToken: false, terminationGracePeriodSeconds: 1, containers } };
    await this.run(['apply', '-f', '-'], JSON.stringify(pod));
    const { code, stderr } = await this.run(['wait', `pod/${name}`, '--for=condition=Ready', '--timeout=60s']);
    if (code !== 0) throw new Error(`pod ${name}: ${stderr}`);
  }
}

export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  await new Promise<void>((resolve) => server.close(() => resolve()));
  return port;
}
