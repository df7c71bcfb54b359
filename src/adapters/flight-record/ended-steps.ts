// Reports of programmer errors that ended this agent's processes, in files: the input of the step, its pod, and the place of the failure. The next agent reads
// from them which pods it must set aside, and users which error to report.
//
//   ROOT/ended-steps/<microseconds since the epoch, or one more than the newest file's>-<uid of the pod, or `node`>.json
//
// Invariants: a file is complete and on the disk before the process ends; it holds no secret: data of Secrets and ConfigMaps, values of variables and headers, tokens,
// and every value of a Secret that the agent knows are omitted; few files are kept, and an unreadable or unwritable file never prevents a start.
// The order of the names is the order of the ends, also after the wall clock was set back.

import { closeSync, constants, fsyncSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { epochMicros, instantOf } from '../../domain/values/instant.js';
import { formatRfc3339Micros } from '../../domain/values/time.js';
import type { Instant } from '../../ports/instant.js';
import type { PodEnd } from '../../ports/model/pod-end.js';
import type { Logger } from '../../ports/outbound/logger.js';
import { redactedText } from '../logging/index.js';
import { SecretMasks } from './secret-masks.js';

const directoryName = 'ended-steps';
const formatVersion = 1;
/** The number of ends up to which a pod's pause grows. */
const keptPerPod = 8;
const keptInAll = 64;
const inputLengthMax = 1024 * 1024;
const fileBytesMax = 4 * 1024 * 1024;
const levelsMax = 64;
const withheld = '[redacted]';
const secretKeys = /(token|passw(or)?d|passphrase|secret|credentials?|authorization|cookie|private[_-]?key|api[_-]?key|auth|stdin|stdout|stderr)s?$/i;
/** Lists of names with values. */
const valueLists: ReadonlySet<string> = new Set(['env', 'envs', 'httpHeaders', 'sysctls']);
const copyAnnotation = 'kubectl.kubernetes.io/last-applied-configuration';

interface EndedStep {
  readonly kubeletTs: number;
  /** Microseconds since the epoch. */
  readonly at: number;
  readonly time: string;
  readonly pod: Omit<PodEnd, 'at' | 'file'> | null;
  readonly step: { readonly type: string; readonly machine: string | null; readonly key: string | null; readonly operation: string | null };
  readonly stack: string;
  readonly input: unknown;
}

/** What is known of an agent that ends. */
export interface EndedAgent {
  /** The pod of the step; null: of none. */
  readonly pod: EndedStep['pod'];
  /** Objects with secrets that the agent has copies of. */
  readonly secrets: readonly unknown[];
}

export class EndedSteps {
  private constructor(
    private readonly directory: string,
    readonly ends: readonly PodEnd[],
  ) {}

  /** Reads the existing files, and removes the oldest beyond the limit. */
  static open(rootDirectory: string, logger: Logger): EndedSteps {
    const directory = join(rootDirectory, directoryName);
    const ends: PodEnd[] = [];
    for (const name of namesIn(directory)) {
      const file = join(directory, name);
      try {
        const step = read(file);
        if (step.pod !== null) ends.push({ ...step.pod, sinceBoot: step.pod.sinceBoot ?? null, at: instantOf(step.at), file });
      } catch (error) {
        logger.log('warn', 'A record of what ended the agent cannot be read', { file, err: textOf(error) });
      }
    }
    const kept = newest(ends);
    for (const { file } of ends) if (!kept.has(file)) rmSync(file, { force: true });
    for (const name of namesIn(directory).slice(0, -keptInAll)) rmSync(join(directory, name), { force: true });
    return new EndedSteps(
      directory,
      ends.filter(({ file }) => kept.has(file)),
    );
  }

  /** Writes down what ended the agent. Returns the file; null: it could not be written. Never throws. */
  write(error: unknown, input: unknown, agent: () => EndedAgent, wall: Instant, logger: Logger): string | null {
    try {
      const step = endedStep(error, input, agent(), wall);
      const number = Math.max(step.at, 1 + numberOf(namesIn(this.directory).at(-1)));
      const file = join(this.directory, `${String(number).padStart(16, '0')}-${fileNamePart(step.pod?.uid ?? 'node')}.json`);
      mkdirSync(this.directory, { recursive: true, mode: 0o700 });
      const fd = openSync(file, constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NOFOLLOW, 0o600);
      try {
        writeSync(fd, `${JSON.stringify(step, null, 1)}\n`);
        fsyncSync(fd);
      } finally {
        closeSync(fd);
      }
      return file;
    } catch (failure) {
      logger.log('error', 'What ended the agent cannot be written down', { directory: this.directory, err: textOf(failure) });
      return null;
    }
  }
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory)
      .filter((name) => /^\d{1,16}-.+\.json$/.test(name))
      .sort((a, b) => numberOf(a) - numberOf(b) || (a < b ? -1 : 1));
  } catch {
    return [];
  }
}

function numberOf(name = '-1'): number {
  return Number.parseInt(name, 10);
}

function read(file: string): EndedStep {
  const text = readFileSync(file);
  if (text.length > fileBytesMax) throw new Error(`${text.length} bytes`);
  const step = JSON.parse(text.toString('utf8')) as EndedStep;
  if (step.kubeletTs !== formatVersion || typeof step.at !== 'number') throw new Error(`not of format ${formatVersion}`);
  const { pod } = step;
  if (pod === null) return step;
  const isPod = [pod.uid, pod.namespace, pod.name, pod.manifestUid].every((text) => typeof text === 'string') && typeof pod.wasAside === 'boolean';
  // Absent in files of earlier versions.
  const { sinceBoot = null } = pod as Partial<PodEnd>;
  const isMoment = sinceBoot === null || (typeof sinceBoot === 'object' && typeof sinceBoot.bootId === 'string' && typeof sinceBoot.at === 'number');
  if (!isPod || !isMoment || (pod.version !== null && typeof pod.version !== 'string')) throw new Error('the pod is not described as it should be');
  return step;
}

function newest(ends: readonly PodEnd[]): ReadonlySet<string> {
  const perPod = new Map<string, string[]>();
  for (const { uid, file } of ends) perPod.set(uid, [...(perPod.get(uid) ?? []), file].slice(-keptPerPod));
  return new Set([...perPod.values()].flat());
}

function endedStep(error: unknown, input: unknown, { pod, secrets }: EndedAgent, wall: Instant): EndedStep {
  const { type = 'none', address, op } = (input ?? {}) as { readonly type?: string; readonly address?: { readonly machine: string; readonly key: string }; readonly op?: string };
  const masks = new SecretMasks();
  masks.input(secrets);
  return {
    kubeletTs: formatVersion,
    at: epochMicros(wall),
    time: formatRfc3339Micros(wall),
    pod,
    step: { type, machine: address?.machine ?? null, key: address?.key ?? null, operation: op ?? null },
    stack: redactedText(String(masks.input(stackOf(error)))),
    input: bounded(withoutSecrets('', masks.input(input), 0)),
  };
}

/** A parser's error message quotes the text. */
function stackOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const stack = error.stack ?? error.message;
  return error instanceof SyntaxError ? stack.replace(error.message, '(the message quotes the text and is left out)') : stack;
}

function withoutSecrets(key: string, value: unknown, level: number): unknown {
  if (typeof value === 'string') return secretKeys.test(key) ? withheld : redactedText(value);
  if (typeof value === 'bigint') return String(value);
  if (typeof value !== 'object' || value === null) return value;
  if (ArrayBuffer.isView(value)) return `(${value.byteLength} bytes)`;
  if (level > levelsMax) return '(...)';
  if (value instanceof Map) return withoutSecrets(key, Object.fromEntries(value) as object, level + 1);
  if (value instanceof Set || Array.isArray(value))
    return [...value].map((element) => (valueLists.has(key) ? withoutValue(element, level + 1) : withoutSecrets(key, element, level + 1)));
  const { kind, metadata } = value as { readonly kind?: unknown; readonly metadata?: unknown };
  const isData = kind === 'Secret' || kind === 'ConfigMap' || (kind === undefined && typeof metadata === 'object');
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, member]) => {
      if (name === copyAnnotation) return [];
      return [[name, isData && /^(data|stringData|binaryData)$/.test(name) ? onlyKeys(member) : withoutSecrets(name, member, level + 1)]];
    }),
  );
}

function withoutValue(element: unknown, level: number): unknown {
  if (typeof element !== 'object' || element === null) return withheld;
  const { value: _, ...rest } = element as { readonly value?: unknown };
  return { ...(withoutSecrets('', rest, level) as object), ...('value' in element ? { value: withheld } : {}) };
}

function onlyKeys(data: unknown): unknown {
  return typeof data === 'object' && data !== null ? Object.fromEntries(Object.keys(data).map((name) => [name, withheld])) : withheld;
}

function bounded(input: unknown): unknown {
  const text = JSON.stringify(input) ?? '';
  return text.length <= inputLengthMax ? input : { cut: text.slice(0, inputLengthMax), characters: text.length };
}

/** A UID is the API's or a manifest's, which may be any text. */
function fileNamePart(uid: string): string {
  return uid.replace(/[^\w.-]/g, '_').slice(0, 100);
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
