// /flagz, /statusz and /debug/flags/v (spec/config-and-api.md, 10.2): what the process was started with, how it is, and how much it logs.
import { type HttpAnswer, plainText, strictText } from '../http-answer.js';
import type { KubeletQuestion, KubeletRoute } from '../kubelet-routes.js';

const apiVersion = 'config.k8s.io/v1beta1';
const oldApiVersion = 'config.k8s.io/v1alpha1';
const text = { 'Content-Type': 'text/plain; charset=utf-8' };

const warning = 'Warning: This endpoint is not meant to be machine parseable,' + ' has no formatting compatibility guarantees and is for debugging purposes only.';

function page(name: string, lines: readonly string[]): string {
  return `\nkubelet ${name}\n${warning}\n\n${lines.join('\n')}\n`;
}

/** @param flags by name, without what is secret in them */
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

/** @param set null: there is no such level */
export function verbosityRoute(set: (level: number) => void): KubeletRoute {
  const answer = async ({ method, body }: KubeletQuestion): Promise<HttpAnswer> => {
    if (method !== 'PUT') return plainText(406, 'unsupported http method');
    const given = await body();
    if (!/^[+-]?\d{1,9}$/.test(given))
      return strictText(400, `error verifying the klog.logging.verbosity value: strconv.ParseInt: parsing ${JSON.stringify(given)}: invalid syntax\n`);
    set(Number(given));
    return plainText(200, `successfully set klog.logging.verbosity to ${Number(given)}`);
  };
  return { pattern: '/debug/flags/v', methods: null, produces: null, answer };
}

/** Text for people, JSON for those who name kind and version; plain JSON would have no version that could be kept to. */
function zPage({ headers }: KubeletQuestion, kind: string, plain: () => string, structured: () => object): HttpAnswer {
  const accept = headers.accept ?? '';
  for (const part of accept === '' ? ['text/plain'] : accept.split(',')) {
    const [type = '', ...parameters] = part.split(';').map((one) => one.trim());
    if (type === 'text/plain' || type === '*/*' || type === 'text/*') return { status: 200, headers: text, body: plain() };
    const named = new Map(parameters.map((parameter) => parameter.split('=', 2) as [string, string]));
    const version = named.get('v') === 'v1alpha1' ? oldApiVersion : named.get('v') === 'v1beta1' ? apiVersion : null;
    if (type !== 'application/json' || named.get('g') !== 'config.k8s.io' || named.get('as') !== kind || version === null) continue;
    const deprecation = version === oldApiVersion ? { Warning: `299 - "${version} ${kind} is deprecated, use ${apiVersion}"` } : {};
    return {
      status: 200,
      headers: { 'Content-Type': 'application/json', ...deprecation },
      body: `${JSON.stringify({ kind, apiVersion: version, metadata: { name: 'kubelet' }, ...structured() })}\n`,
    };
  }
  return strictText(406, 'only the following media types are accepted: text/plain\n');
}

function uptimeText(seconds: number): string {
  const two = (value: number) => String(Math.floor(value)).padStart(2, '0');
  return `${Math.floor(seconds / 3600)} hr ${two((seconds % 3600) / 60)} min ${two(seconds % 60)} sec`;
}
