// /exec, /attach, /portForward and /run (spec/config-and-api.md, 10.2 and 12): the runtime opens sessions, and the connection is
// passed to it. With ExtendWebSocketsToKubelet WebSockets in which a client can end its input, and tunnels of SPDY, are translated to SPDY.
// Invariant: no session is opened for a malformed request.

import type { Found, NodeContainerOperations, StreamWishes } from '../../../ports/inbound/node-containers.js';
import type { Call, PortOf } from '../../../ports/operation.js';
import type { StreamingSession } from '../../../ports/outbound/runtime-streaming.js';
import { closableChannels, offeredInTunnel, offeredProtocols } from '../../streaming/index.js';
import { type HttpAnswer, plainText } from '../http-answer.js';
import type { KubeletAnswer, KubeletQuestion, KubeletRoute, ProxyAnswer } from '../kubelet-routes.js';

const methods = ['GET', 'POST'];
/** The time limit for finding the container and opening a session. */
const openMicros = 120_000_000;
const portMax = 65_535;

/** @param translates whether the gate ExtendWebSocketsToKubelet is on */
export function streamRoutes(containers: PortOf<NodeContainerOperations>, translates: boolean): readonly KubeletRoute[] {
  return [
    { pattern: '/exec/', methods, produces: null, answer: (question) => exec(containers, question, translates) },
    { pattern: '/attach/', methods, produces: null, answer: (question) => attach(containers, question, translates) },
    { pattern: '/portForward/', methods, produces: null, answer: (question) => portForward(containers, question, translates) },
    { pattern: '/run/', methods: ['POST'], produces: null, answer: (question) => run(containers, question) },
  ];
}

async function exec(containers: PortOf<NodeContainerOperations>, question: KubeletQuestion, translates: boolean): Promise<KubeletAnswer | null> {
  const address = containerAddress(question);
  const wishes = wishesOf(question.query);
  if (address === null || wishes === null) return address === null ? null : nothingWished;
  return proxied(await containers.exec({ ...address, ...wishes, command: question.query.getAll('command') }, calling(question)), commandTranslation(question, wishes, translates));
}

async function attach(containers: PortOf<NodeContainerOperations>, question: KubeletQuestion, translates: boolean): Promise<KubeletAnswer | null> {
  const address = containerAddress(question);
  const wishes = wishesOf(question.query);
  if (address === null || wishes === null) return address === null ? null : nothingWished;
  return proxied(await containers.attach({ ...address, ...wishes }, calling(question)), commandTranslation(question, wishes, translates));
}

async function portForward(containers: PortOf<NodeContainerOperations>, question: KubeletQuestion, translates: boolean): Promise<KubeletAnswer | null> {
  const [, namespace = '', podName = '', podUid = null, ...more] = question.elements;
  if (podName === '' || more.length > 0) return null;
  const isTunnel = translates && isWebSocket(question) && offeredInTunnel(question) !== null;
  const ports = isTunnel ? [] : legacyPorts(question);
  if (!Array.isArray(ports)) return ports as HttpAnswer;
  return proxied(await containers.portForward({ namespace, podName, podUid, ports: ports as number[] }, calling(question)), isTunnel ? { kind: 'tunnel' } : undefined);
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

/** Ports of a WebSocket client whose protocol can't name them on the stream; SPDY clients can. */
function legacyPorts(question: KubeletQuestion): readonly number[] | HttpAnswer {
  if (!isWebSocket(question)) return [];
  const texts = question.query.getAll('port').flatMap((text) => text.split(','));
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

/** Runtimes understand clients that can't end their input by a message. */
function commandTranslation(question: KubeletQuestion, wishes: StreamWishes, translates: boolean): ProxyAnswer['translation'] {
  return translates && isWebSocket(question) && offeredProtocols(question).includes(closableChannels) ? { kind: 'command', wishes } : undefined;
}

function isWebSocket({ headers }: KubeletQuestion): boolean {
  return headers.upgrade?.toLowerCase() === 'websocket';
}

function proxied(found: Found<StreamingSession>, translation: ProxyAnswer['translation']): KubeletAnswer {
  if (found.kind === 'refused') return refused(found);
  const target = new URL(found.value.url);
  return translation === undefined ? { kind: 'proxy', target } : { kind: 'proxy', target, translation };
}

function refused({ status, message }: { readonly status: number; readonly message: string }): HttpAnswer {
  return plainText(status, message, status === 429 ? { 'Retry-After': '60' } : {});
}

function calling({ signal }: KubeletQuestion): Call {
  return { signal, timeoutMicros: openMicros };
}
