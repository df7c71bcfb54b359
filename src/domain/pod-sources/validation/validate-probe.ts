// Create validation of probes and lifecycle hooks: their actions and periods.
import type { HTTPGetAction, IntOrString, Lifecycle, LifecycleHandler, Probe } from '../../../ports/model/container.js';
import { portNameProblems } from '../../values/dns-names.js';
import { forbidden, invalid, invalidFor, notSupported, oneOf, type Problems, required } from './field-problem.js';

type AnyHandler = LifecycleHandler & Pick<Probe, 'grpc'>;
type HandlerName = 'exec' | 'httpGet' | 'tcpSocket' | 'grpc' | 'sleep';

const notNegative = 'must be greater than or equal to 0';
const signals = [
  'ABRT|ALRM|BUS|CHLD|CLD|CONT|FPE|HUP|ILL|INT|IO|IOT|KILL|PIPE|POLL|PROF|PWR|QUIT|SEGV|STKFLT|STOP|SYS|TERM|TRAP|TSTP|TTIN|TTOU|URG',
  'USR1|USR2|VTALRM|WINCH|XCPU|XFSZ|RTMIN([+]([1-9]|1[0-5]))?|RTMAX(-([1-9]|1[0-4]))?',
];
const stopSignals = new RegExp(`^SIG(${signals.join('|')})$`);

export function portRangeProblems(port: number): string[] {
  return Number.isInteger(port) && port >= 1 && port <= 65535 ? [] : ['must be between 1 and 65535, inclusive'];
}

export type ProbeKind = 'livenessProbe' | 'readinessProbe' | 'startupProbe';

export function validateProbe(problems: Problems, field: string, probe: Probe, kind: ProbeKind): void {
  validateHandler(problems, field, probe, ['exec', 'httpGet', 'tcpSocket', 'grpc']);
  for (const name of ['initialDelaySeconds', 'timeoutSeconds', 'periodSeconds', 'successThreshold', 'failureThreshold'] as const) {
    const value = probe[name] ?? 0;
    if (value < 0) invalid(problems, `${field}.${name}`, value, notNegative);
  }
  const grace = probe.terminationGracePeriodSeconds;
  if (grace !== undefined && grace <= 0) invalid(problems, `${field}.terminationGracePeriodSeconds`, grace, 'must be greater than 0');
  if (kind === 'readinessProbe') {
    if (grace !== undefined) invalid(problems, `${field}.terminationGracePeriodSeconds`, grace, 'must not be set for readinessProbes');
  } else if ((probe.successThreshold ?? 1) !== 1 && (probe.successThreshold ?? 1) >= 0) {
    invalid(problems, `${field}.successThreshold`, probe.successThreshold, 'must be 1');
  }
}

/** The fields of a pod that limit its hooks. */
export interface HookScope {
  readonly osName: string | null;
  readonly gracePeriodSeconds: number;
}

export function validateLifecycle(problems: Problems, field: string, lifecycle: Lifecycle, { osName, gracePeriodSeconds }: HookScope): void {
  for (const hook of ['postStart', 'preStop'] as const) {
    const handler = lifecycle[hook];
    if (handler !== undefined) validateHandler(problems, `${field}.${hook}`, handler, ['exec', 'httpGet', 'tcpSocket', 'sleep'], gracePeriodSeconds);
  }
  const signal = lifecycle.stopSignal;
  if (signal === undefined) return;
  if (osName === null) forbidden(problems, `${field}.stopSignal`, 'may not be set for containers with empty `spec.os.name`');
  else if (!stopSignals.test(signal)) notSupported(problems, `${field}.stopSignal`, signal, ['SIGTERM', 'SIGKILL', 'SIGINT', 'SIGQUIT', 'SIGHUP', 'SIGUSR1', 'SIGUSR2']);
}

function validateHandler(problems: Problems, field: string, handler: AnyHandler, kinds: readonly HandlerName[], gracePeriodSeconds = 0): void {
  const [first, ...others] = kinds.filter((kind) => handler[kind] !== undefined);
  if (first === undefined) {
    required(problems, field, 'must specify a handler type');
    return;
  }
  for (const other of others) forbidden(problems, `${field}.${other}`, 'may not specify more than 1 handler type');
  const at = `${field}.${first}`;
  switch (first) {
    case 'exec':
      if ((handler.exec?.command ?? []).length === 0) required(problems, `${at}.command`);
      return;
    case 'httpGet':
      validateHttpGet(problems, at, handler.httpGet as HTTPGetAction);
      return;
    case 'tcpSocket':
      validatePort(problems, `${at}.port`, handler.tcpSocket?.port);
      return;
    case 'grpc':
      invalidFor(problems, `${at}.port`, handler.grpc?.port ?? 0, portRangeProblems(handler.grpc?.port ?? 0));
      return;
    case 'sleep':
      validateSleep(problems, at, handler.sleep?.seconds ?? 0, gracePeriodSeconds);
  }
}

/** A sleep may equal the whole grace period, despite the text. */
function validateSleep(problems: Problems, field: string, seconds: number, gracePeriodSeconds: number): void {
  if (seconds >= 0 && seconds <= gracePeriodSeconds) return;
  invalid(problems, field, seconds, `must be non-negative and less than terminationGracePeriodSeconds (${gracePeriodSeconds})`);
}

function validateHttpGet(problems: Problems, field: string, action: HTTPGetAction): void {
  if ((action.path ?? '') === '') required(problems, `${field}.path`);
  validatePort(problems, `${field}.port`, action.port);
  oneOf(problems, `${field}.scheme`, action.scheme, ['HTTP', 'HTTPS']);
  for (const header of action.httpHeaders ?? []) {
    if (!/^[-A-Za-z0-9]+$/.test(header.name ?? '')) {
      invalid(problems, `${field}.httpHeaders`, header.name ?? '', "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name')");
    }
  }
}

function validatePort(problems: Problems, field: string, port: IntOrString | undefined): void {
  const given = port ?? 0;
  invalidFor(problems, field, given, typeof given === 'number' ? portRangeProblems(given) : portNameProblems(given));
}
