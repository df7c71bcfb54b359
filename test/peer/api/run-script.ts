// Asks an apiserver the requests of the script and writes down what it answers, with names for what is different in every run.
import { Agent, request } from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';
import type { Json } from '../admin-client.js';
import { apiScript, watchedPaths } from './api-script.js';
import type { Step } from './step.js';

export interface Identity {
  readonly cert: string | Buffer;
  readonly key: string | Buffer;
}

export interface Apiserver {
  readonly host: string;
  readonly port: number;
  readonly ca: string | Buffer;
  readonly admin: Identity;
  /** system:node:lab-node. */
  readonly node: Identity;
}

/** For what was changed last to arrive at each watch. */
const restMs = 1_500;
const timeoutMs = 60_000;
const pollMs = 250;

interface Watch {
  readonly name: string;
  text(): string;
  close(): void;
}

/** By step: status, type and body; by watch: its events. */
export async function answersOf(server: Apiserver): Promise<Json> {
  const agents = { admin: agentOf(server, server.admin), node: agentOf(server, server.node) };
  const names = new SameNames();
  const raw = new Map<string, Json>();
  const answers: Record<string, Json> = {};
  const watches: Watch[] = [];
  for (const step of apiScript) {
    const { status, type, body } = await settled(server, agents[step.as], filledIn(step, raw));
    raw.set(step.name, Array.isArray(body) ? body[0] : body);
    answers[step.name] = { status, type, body: names.of(body) };
    for (const [name, after, as, path] of watchedPaths) if (after === step.name) watches.push({ name, ...(await opened(server, agents[as], path)) });
  }
  await delay(restMs);
  const watched = Object.fromEntries(
    watches.map(({ name, text }) => [
      name,
      text()
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line))
        .filter(({ type }) => type !== 'BOOKMARK'),
    ]),
  );
  for (const { close } of watches) close();
  for (const agent of Object.values(agents)) agent.destroy();
  return { answers, watches: names.of(watched) };
}

async function settled(server: Apiserver, agent: Agent, step: Step): Promise<{ status: number; type: string; body: Json }> {
  for (const end = Date.now() + timeoutMs; ; await delay(pollMs)) {
    const { status, type, text } = await ask(server, agent, step);
    const body = type.includes('json') ? lines(text) : text;
    if (step.until === undefined || step.until(body)) return { status, type, body };
    if (Date.now() > end) throw new Error(`${step.name}: not within ${timeoutMs} ms: ${text}`);
  }
}

function agentOf({ ca }: Apiserver, { cert, key }: Identity): Agent {
  // A connection for each request: none is closed as idle while the next one is on its way.
  return new Agent({ ca, cert, key, keepAlive: false });
}

/** One JSON document, or each line one: an answer to a watch. */
function lines(text: string): Json {
  try {
    return JSON.parse(text);
  } catch {
    return text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line));
  }
}

/** With what earlier steps were answered. */
function filledIn(step: Step, raw: ReadonlyMap<string, Json>): Step {
  const fill = (text: string): string =>
    text.replace(/\{\{([\w-]+)\.([\w.]+)\}\}/g, (_, name: string, path: string) => {
      const value = path.split('.').reduce((one: Json, part) => one?.[part], raw.get(name));
      return String(value);
    });
  return { ...step, path: fill(step.path), body: step.body === undefined ? undefined : typeof step.body === 'string' ? step.body : JSON.parse(fill(JSON.stringify(step.body))) };
}

function ask({ host, port }: Apiserver, agent: Agent, step: Step): Promise<{ status: number; type: string; text: string }> {
  return new Promise((resolve, reject) => {
    const text = step.body === undefined || typeof step.body === 'string' ? step.body : JSON.stringify(step.body);
    // Node gives a DELETE no length by itself.
    const headers = { accept: step.accept, 'user-agent': 'script/1', ...(text === undefined ? {} : { 'content-type': step.type, 'content-length': Buffer.byteLength(text) }) };
    const asked = request({ host, port, agent, method: step.method, path: step.path, headers, timeout: timeoutMs }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, type: answer.headers['content-type'] ?? '', text: Buffer.concat(chunks).toString() }));
    });
    asked.on('timeout', () => asked.destroy(new Error(`${step.name}: no answer in ${timeoutMs} ms`)));
    asked.on('error', (error) => reject(new Error(`${step.name}: ${error.message}`)));
    asked.end(text);
  });
}

/** Resolves when the watch has begun. */
function opened({ host, port }: Apiserver, agent: Agent, path: string): Promise<Omit<Watch, 'name'>> {
  return new Promise((resolve, reject) => {
    let text = '';
    const asked = request({ host, port, agent, path, headers: { accept: 'application/json', 'user-agent': 'script/1' } }, (answer) => {
      answer.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      answer.on('error', () => {}); // closing it is one
      resolve({ text: () => text, close: () => asked.destroy() });
    });
    asked.on('error', reject);
    asked.end();
  });
}

const now = /"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z"/g;
const given = '2026-01-01T';

/** One name for each uid and generated name, in the order in which they come. */
class SameNames {
  private readonly known = new Map<string, string>();

  of(value: Json): Json {
    const text = JSON.stringify(value)
      .replace(now, (time) => (time.includes(given) ? time : '"TIME"'))
      .replace(/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, (uid) => this.named(uid, 'UID'))
      .replace(/kube-api-access-[a-z0-9]{5}\b/g, 'kube-api-access-XXXXX')
      .replace(/made-[a-z0-9]{5}\b/g, 'made-XXXXX')
      .replace(/"(resourceVersion|uid|continue|token)":"[^"]+"/g, (whole, field: string) => (field === 'uid' ? whole : `"${field}":"(${field})"`))
      .replace(/eyJ[\w-]+\.[\w-]+\.[\w-]+/g, '(token)');
    return JSON.parse(text);
  }

  private named(found: string, kind: string): string {
    const name = this.known.get(found) ?? `${kind}-${this.known.size + 1}`;
    this.known.set(found, name);
    return name;
  }
}
