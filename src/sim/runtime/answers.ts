// Answers of a simulated port: the outcome, and its delay.
import type { Micros } from '../../ports/micros.js';
import type { Outcome, PortErrorKind } from '../../ports/port-error.js';

export interface Answer<T> {
  readonly after: Micros;
  readonly outcome: Outcome<T>;
}

export function answered<T>(value: T, after: Micros): Answer<T> {
  return { after, outcome: { ok: true, value } };
}

export function refused(kind: PortErrorKind, message: string, operation: string, subject: string, after: Micros): Answer<never> {
  return { after, outcome: { ok: false, error: { kind, message, operation, subject, retryAfterMicros: null } } };
}
