// One request to the port of a daemon that lets everybody in.
import { request } from 'node:http';
import { request as requestTls } from 'node:https';
import { gunzipSync } from 'node:zlib';
import type { Daemon } from '../../src/app/daemon/start-daemon.js';

export interface Answer {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

export function ask(daemon: Daemon, path: string, method = 'GET', headers: Readonly<Record<string, string>> = {}, tls = true, body = ''): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port: daemon.apiPort, path, method, headers, rejectUnauthorized: false, agent: false };
    const sent = (tls ? requestTls : request)(options, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.once('end', () => {
        const bytes = Buffer.concat(chunks);
        const body = response.headers['content-encoding'] === 'gzip' ? gunzipSync(bytes).toString() : bytes.toString();
        resolve({ status: response.statusCode ?? 0, type: response.headers['content-type'] ?? '', body });
      });
    });
    sent.once('error', reject);
    sent.end(body);
  });
}
