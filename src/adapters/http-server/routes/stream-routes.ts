// /exec, /attach, /portForward and /run (spec/config-and-api.md, 10.2 and 12): sessions are opened by the runtime, and the connection is
// handed on to it. Invariant: no session is opened for a request that is not well-formed.

import type { Found, NodeContainerOperations, StreamWishes } from '../../../ports/inbound/node-containers.js';
import type { Call, PortOf } from '../../../ports/operation.js';
import type { StreamingSession } from '../../../ports/outbound/runtime-streaming.js';
import { type HttpAnswer, plainText } from '../http-answer.js';
import type { KubeletAnswer, KubeletQuestion, KubeletRoute } from '../kubelet-routes.js';

const methods = ['GET', 'POST'];
/** Looking for the container and opening a session take this long at most. */
const openMicros = 120_000_000;
const portMax = 65_535;

export function streamRoutes(containers: PortOf<NodeContainerOperations>): readonly KubeletRoute[] {
  return [
    { pattern: '/exec/', methods, produces: null, answer: (question) => exec(containers, question) },
    { pattern: '/attach/', methods, produces: null, answer: (question) => attach(containers, question) },
    { pattern: '/portForward/', methods, produces: null, answer: (question) => portForward(containers, question) },
    { pattern: '/run/', methods: ['POST'], produces: null, answer: (question) => run(containers, question) },
  ];
}

async function exec(containers: PortOf<NodeContainerOperations>, question: KubeletQuestion): Promise<KubeletAnswer | null> {
  const address = containerAddress(question);
  const wishes = wishesOf(question.query);
  if (address === null || wishes === null) return address === null ? null : nothingWished;
  return proxied(await containers.exec({ ...address, ...wishes, command: question.query.getAll('command') }, calling(question)));
}

async function attach(containers: PortOf<NodeContainerOperations>, question: KubeletQuestion): Promise<KubeletAnswer | null> {
  const address = containerAddress(question);
  const wishes = wishesOf(question.query);
  if (address === null || wishes === null) return address === null ? null : nothingWished;
  return proxied(await containers.attach({ ...address, ...wishes }, calling(question)));
}

async function portForward(containers: PortOf<NodeContainerOperations>, question: KubeletQuestion): Promise<KubeletAnswer | null> {
  const [, namespace = '', podName = '', podUid = null, ...more] = question.elements;
  if (podName === '' || more.length > 0) return null;
  const ports = legacyPorts(question);
  if (!Array.isArray(ports)) return ports as HttpAnswer;
  return proxied(await containers.portForward({ namespace, podName, podUid, ports: ports as number[] }, calling(question)));
}

async function run(containers: PortOf<NodeContainerOperations>, question: KubeletQuestion): Promise<KubeletAnswer | null> {
  const address = containerAddress(question);
  if (address === null) return null;
  const command = (question.query.get('cmd') ?? '').split(' ');
  const found = await containers.run({ ...address, command }, calling(question));
  if (found.kind === 'refused') return refused(found);
  const { stdout, stderr, exitCode } = found.value;
  if (exitCode !== 0) return plainText(500, `command '${command.join(' ')}' exited with ${exitCode}: ${stdout}${stderr}\n`);
  return { status: 200, headers: { 'Content-Type': 'application/json' }, body: stdout + stderr };
}

/** `/exec/{namespace}/{pod}/{container}`, or with the pod's uid before the container. */
function containerAddress({ elements }: KubeletQuestion) {
  const [, namespace = '', podName = '', third = '', fourth, ...more] = elements;
  if (third === '' || more.length > 0) return null;
  return fourth === undefined ? { namespace, podName, podUid: null, containerName: third } : { namespace, podName, podUid: third, containerName: fourth };
}

const nothingWished = plainText(400, 'you must specify at least 1 of stdin, stdout, stderr');

/** null: none at all. A terminal has one output only. */
function wishesOf(query: URLSearchParams): StreamWishes | null {
  const is = (name: string) => query.get(name) === '1';
  const tty = is('tty');
  const wishes = { stdin: is('input'), stdout: is('output'), stderr: is('error') && !tty, tty };
  return wishes.stdin || wishes.stdout || wishes.stderr ? wishes : null;
}

/** Those of a WebSocket client that can't say them on the stream; SPDY clients can. */
function legacyPorts({ headers, query }: KubeletQuestion): readonly number[] | HttpAnswer {
  if (headers.upgrade?.toLowerCase() !== 'websocket') return [];
  const texts = query.getAll('port').flatMap((text) => text.split(','));
  if (texts.length === 0) return plainText(400, 'query parameter "port" is required');
  const ports: number[] = [];
  for (const text of texts) {
    if (text === '') return plainText(400, 'query parameter "port" cannot be empty');
    const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
    if (port < 1 || port > portMax) return plainText(400, `unable to parse ${JSON.stringify(text)} as a port: must be between 1 and ${portMax}`);
    ports.push(port);
  }
  return ports;
}

function proxied(found: Found<StreamingSession>): KubeletAnswer {
  return found.kind === 'refused' ? refused(found) : { kind: 'proxy', target: new URL(found.value.url) };
}

function refused({ status, message }: { readonly status: number; readonly message: string }): HttpAnswer {
  return plainText(status, message, status === 429 ? { 'Retry-After': '60' } : {});
}

function calling({ signal }: KubeletQuestion): Call {
  return { signal, timeoutMicros: openMicros };
}
