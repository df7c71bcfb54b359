// Requests of the cluster's administrator: to the apiserver, and to the kubelet's own port.
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { join } from 'node:path';

/** Any answer of a server. Tests read parts of objects of many kinds. */
// biome-ignore lint/suspicious/noExplicitAny: the shapes are the servers', and each test asserts on what it reads.
export type Json = any;

export interface Answer {
  readonly status: number;
  readonly type: string;
  readonly text: string;
}

interface Target {
  readonly host: string;
  readonly port: number;
  readonly agent: Agent;
}

const timeoutMs = 60_000;
const clusterWide = new Set(['Namespace', 'Node', 'RuntimeClass', 'ClusterRoleBinding', 'PriorityClass']);

/** Where objects of that kind are created. */
export function collectionOf({ apiVersion, kind, metadata }: Json): string {
  const group = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const plural = `${kind.toLowerCase()}${kind.endsWith('s') ? 'es' : 's'}`;
  return clusterWide.has(kind) ? `${group}/${plural}` : `${group}/namespaces/${metadata.namespace ?? 'default'}/${plural}`;
}

export class AdminClient {
  private readonly apiserver: Target;
  private readonly node: Target;

  /** @param pki directory with ca.crt, admin.crt and admin.key */
  constructor(pki: string) {
    const identity = { cert: readFileSync(join(pki, 'admin.crt')), key: readFileSync(join(pki, 'admin.key')), keepAlive: true };
    this.apiserver = { host: '127.0.0.1', port: 6443, agent: new Agent({ ...identity, ca: readFileSync(join(pki, 'ca.crt')) }) };
    // The kubelet signs its serving certificate itself.
    this.node = { host: '10.90.0.1', port: 10250, agent: new Agent({ ...identity, rejectUnauthorized: false }) };
  }

  /** Any request to the apiserver. */
  api(method: string, path: string, body?: object, type = 'application/json'): Promise<Answer> {
    return ask(this.apiserver, method, path, body, type);
  }

  /** An object or a list that is there. */
  async get(path: string): Promise<Json> {
    const { status, text } = await this.api('GET', path);
    if (status !== 200) throw new Error(`GET ${path}: ${status} ${text.slice(0, 300)}`);
    return JSON.parse(text);
  }

  /** Hands each event of a watch on, until it is closed. */
  watch(path: string, onEvent: (event: Json) => void): { close(): void } {
    const { host, port, agent } = this.apiserver;
    let text = '';
    const asked = request({ host, port, agent, path }, (answer) => {
      answer.setEncoding('utf8').on('data', (chunk: string) => {
        const lines = (text + chunk).split('\n');
        text = lines.pop() ?? '';
        for (const line of lines) onEvent(JSON.parse(line));
      });
    });
    // Closing it is an error to the request.
    asked.on('error', () => {});
    asked.end();
    return { close: () => asked.destroy() };
  }

  kubelet(path: string, method = 'GET'): Promise<Answer> {
    return ask(this.node, method, path);
  }

  close(): void {
    this.apiserver.agent.destroy();
    this.node.agent.destroy();
  }
}

function ask({ host, port, agent }: Target, method: string, path: string, body?: object, type = 'application/json'): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const headers = text === undefined ? {} : { 'content-type': type, 'content-length': Buffer.byteLength(text) };
    const asked = request({ host, port, agent, method, path, headers, timeout: timeoutMs }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, type: answer.headers['content-type'] ?? '', text: Buffer.concat(chunks).toString() }));
      answer.on('error', reject);
    });
    asked.on('timeout', () => asked.destroy(new Error(`${method} ${path}: no answer in ${timeoutMs} ms`)));
    asked.on('error', (error: NodeJS.ErrnoException) => {
      // The server closed an idle connection while the request was on its way.
      if (asked.reusedSocket && (error.code === 'ECONNRESET' || error.code === 'EPIPE') && method === 'GET')
        ask({ host, port, agent }, method, path, body, type).then(resolve, reject);
      else reject(new Error(`${method} ${path}: ${error.message}`));
    });
    asked.end(text);
  });
}
