// Project quotas: the file system counts the usage of a volume's directory, so that no walk is needed. They count, and limit nothing.
// Invariants: a project belongs to one volume; meanwhile nothing else on the host uses its number; records of other programs stay unchanged.
import type { Operation } from '../operation.js';

/** `pods/<uid>/volumes/<plugin>/<volume>` below the kubelet's root. Each is one file name. */
export interface QuotaPlace {
  readonly uid: string;
  /** With `/` replaced by `~`. */
  readonly plugin: string;
  readonly volume: string;
}

export type QuotaAssignment =
  | { readonly kind: 'assigned'; readonly projectId: number }
  /** Unsupported by the file system, the kernel or this build; `reason` is for users. */
  | { readonly kind: 'unsupported'; readonly reason: string };

/** One call a place at a time. Errors: not-found, permission-denied, invalid-argument, failed-precondition, resource-exhausted, unavailable. */
export interface ProjectQuotaOperations {
  /** Assigns the directory and its content a project of its own, from 1048577 upwards. Idempotent: keeps an existing project. Errors: not-found (no directory). */
  readonly assign: Operation<QuotaPlace, QuotaAssignment>;
  /** Frees the project. Runs every step. No project, or no directory any more: succeeds. */
  readonly clear: Operation<QuotaPlace, null>;
  /** Usage of the directory, itself included; null without a project of this agent or without accounting. May block as long as the file system does. */
  readonly usage: Operation<QuotaPlace, { readonly usedBytes: number; readonly inodesUsed: number } | null>;
}

/** Smaller numbers are left to users, as in the Go kubelet. */
export const firstProjectId = 1_048_577;
