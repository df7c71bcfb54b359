// /flagz, /statusz and /debug/flags/v (spec/config-and-api.md, 10.2): the process's flags, its state, and its log verbosity.
import { goQuote } from '../../../domain/values/go-text.js';
import { formatYaml } from '../../yaml/index.js';
import type { HttpAnswer } from '../http-answer.js';
import type { KubeletQuestion, KubeletRoute } from '../kubelet-routes.js';

const apiVersion = 'config.k8s.io/v1beta1';
const oldApiVersion = 'config.k8s.io/v1alpha1';
const text = { 'Content-Type': 'text/plain; charset=utf-8' };

const warning = 'Warning: This endpoint is not meant to be machine parseable,' + ' has no formatting compatibility guarantees and is for debugging purposes only.';

function page(name: string, lines: readonly string[]): string {
  return `\nkubelet ${name}\n${warning}\n\n${lines.join('\n')}\n`;
}

/** @param flags by name, without secrets */
export function flagzRoute(flags: () => ReadonlyMap<string, string>): KubeletRoute {
  const plain = (): string => {
    const lines = [...flags()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, value]) => `${name}=${value}`);
    return page('flagz', lines);
  };
  const structured = () => ({ flags: Object.fromEntries(flags()) });
  return { pattern: '/flagz', methods: null, produces: null, answer: (question) => zPage(question, 'Flagz', plain, structured) };
}

export interface StatusFacts {
  /** RFC 3339. */
  readonly startTime: string;
  readonly uptimeSeconds: number;
  /** What runs it, in place of Go's version. */
  readonly runtimeVersion: string;
  readonly binaryVersion: string;
  readonly emulationVersion: string;
  readonly paths: readonly string[];
}

export function statuszRoute(facts: () => StatusFacts): KubeletRoute {
  const plain = (): string => {
    const { startTime, uptimeSeconds, runtimeVersion, binaryVersion, emulationVersion, paths } = facts();
    const lines = [
      `Started: ${startTime}`,
      `Up: ${uptimeText(uptimeSeconds)}`,
      `Go version: ${runtimeVersion}`,
      `Binary version: ${binaryVersion}`,
      `Emulation version: ${emulationVersion}`,
      `Paths: ${paths.join(' ')}`,
    ];
    return page('statusz', lines);
  };
  const structured = () => {
    const { runtimeVersion, ...rest } = facts();
    return { ...rest, goVersion: runtimeVersion };
  };
  return { pattern: '/statusz', methods: null, produces: null, answer: (question) => zPage(question, 'Statusz', plain, structured) };
}

/** klog's level is a signed number of 32 bits. */
const verbosityMax = 2 ** 31 - 1;
/** How much of an invalid number the answer shows. */
const shownMax = 200;

function said(status: number, body: string): HttpAnswer {
  return { status, headers: { 'Content-Type': 'text/plain', 'X-Content-Type-Options': 'nosniff' }, body: `${body}\n` };
}

export function verbosityRoute(set: (level: number) => void): KubeletRoute {
  const answer = async ({ method, body }: KubeletQuestion): Promise<HttpAnswer> => {
    if (method !== 'PUT') return said(406, 'unsupported http method');
    const given = await body();
    const problem = !/^\d+$/.test(given) ? 'invalid syntax' : Number(given) > verbosityMax ? 'value out of range' : null;
    if (problem !== null) return said(400, `strconv.ParseUint: parsing ${goQuote(given.slice(0, shownMax))}: ${problem}`);
    set(Number(given));
    return said(200, `successfully set klog.logging.verbosity to ${Number(given)}`);
  };
  return { pattern: '/debug/flags/v', methods: null, produces: null, answer };
}

const notAcceptable = {
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Failure',
  message: 'only the following media types are accepted: application/json, application/yaml, text/plain',
  reason: 'NotAcceptable',
  code: 406,
};

/** The serializers of structured formats. */
const written: Readonly<Record<string, (value: object) => string>> = {
  'application/json': (value) => JSON.stringify(value, null, 2),
  'application/yaml': formatYaml,
};

/** Text for users, JSON or YAML for clients that name kind and version; otherwise no version could be guaranteed. */
function zPage({ headers }: KubeletQuestion, kind: string, plain: () => string, structured: () => object): HttpAnswer {
  const accept = headers.accept ?? '';
  for (const part of accept === '' ? ['text/plain'] : accept.split(',')) {
    const [type = '', ...parameters] = part.split(';').map((one) => one.trim());
    if (type === 'text/plain' || type === '*/*' || type === 'text/*') return { status: 200, headers: text, body: plain() };
    const named = new Map(parameters.map((parameter) => parameter.split('=', 2) as [string, string]));
    const version = named.get('v') === 'v1alpha1' ? oldApiVersion : named.get('v') === 'v1beta1' ? apiVersion : null;
    const write = Object.hasOwn(written, type) ? written[type] : undefined;
    if (write === undefined || named.get('g') !== 'config.k8s.io' || named.get('as') !== kind || version === null) continue;
    const deprecation = version === oldApiVersion ? { Warning: `299 - "${version} ${kind} is deprecated, use ${apiVersion}"` } : {};
    return {
      status: 200,
      headers: { 'Content-Type': `${type};g=config.k8s.io;v=${named.get('v')};as=${kind}`, ...deprecation },
      body: write({ kind, apiVersion: version, metadata: { name: 'kubelet' }, ...structured() }),
    };
  }
  return { status: 406, headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(notAcceptable, null, 2) };
}

function uptimeText(seconds: number): string {
  const two = (value: number) => String(Math.floor(value)).padStart(2, '0');
  return `${Math.floor(seconds / 3600)} hr ${two((seconds % 3600) / 60)} min ${two(seconds % 60)} sec`;
}
