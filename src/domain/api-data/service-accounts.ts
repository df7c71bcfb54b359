// Service accounts for credential provider plugins: read on use, one request for all concurrent readers.
// Invariant: a reader only gets an answer that was requested after its start.
import type { Micros } from '../../ports/micros.js';
import type { ApiObject } from '../../ports/model/api-object.js';
import type { PortFailure } from '../../ports/port-error.js';

export type ServiceAccountAnswer =
  | { readonly kind: 'found'; readonly object: ApiObject }
  | { readonly kind: 'failed'; readonly message: string }
  /** The read is in progress; waiting readers are notified. */
  | { readonly kind: 'pending' };

interface ReadAccount {
  /** null: no request in flight. */
  asking: Micros | null;
  /** null: not yet. */
  answered: { readonly askedAt: Micros; readonly answer: ServiceAccountAnswer } | null;
}

/** By namespace and name, oldest first. */
export type ServiceAccounts = Map<string, ReadAccount>;

/** The limit of unread accounts; beyond it the oldest without a waiting reader is dropped. */
const maxAccounts = 1_000;

/** @param since the reader's start  @param ask sends the request; `serviceAccountRead` receives the answer */
export function lookUpServiceAccount(accounts: ServiceAccounts, key: string, since: Micros, now: Micros, ask: () => void): ServiceAccountAnswer {
  const read = accounts.get(key) ?? { asking: null, answered: null };
  if (read.answered !== null && read.answered.askedAt >= since) return read.answered.answer;
  if (read.asking === null) {
    read.asking = now;
    accounts.delete(key);
    accounts.set(key, read);
    forgetOldest(accounts);
    ask();
  }
  return { kind: 'pending' };
}

export function serviceAccountRead(
  accounts: ServiceAccounts,
  key: string,
  outcome: { readonly ok: true; readonly value: ApiObject } | { readonly ok: false; readonly error: PortFailure },
): void {
  const read = accounts.get(key);
  if (read === undefined || read.asking === null) return;
  const answer: ServiceAccountAnswer = outcome.ok ? { kind: 'found', object: outcome.value } : { kind: 'failed', message: outcome.error.message };
  read.answered = { askedAt: read.asking, answer };
  read.asking = null;
}

function forgetOldest(accounts: ServiceAccounts): void {
  if (accounts.size <= maxAccounts) return;
  for (const [key, { asking }] of accounts) {
    if (asking !== null) continue;
    accounts.delete(key);
    return;
  }
}
