// Writes one state file: level-triggered, one write at a time, the newest content. Its owner decides what the content is and when it has changed.
//
//   changed -> write -> written: nothing to do, or the next write, if the content has changed meanwhile
//                    -> failed: written again after a pause that doubles
//
// Invariants: at most one write of a file is in flight; `onDisk` never names content that may not be on disk. The port replaces a file as a whole, so
// after a crash at any moment it has the content of the last write that was answered, or of the one in flight.
import type { Micros } from '../../ports/micros.js';
import type { AgentOperations } from '../../ports/outbound/outbound-ports.js';
import { doubledPause } from '../backoff/doubled-pause.js';
import { assert } from '../kernel/assert.js';
import type { Address, ReplyFor, Turn } from '../kernel/machine.js';
import type { View } from '../kernel/view.js';
import { microsPerSecond } from '../values/time.js';

/** Between tries of a write that fails. */
export const firstWritePause: Micros = microsPerSecond;
export const longestWritePause: Micros = 60 * microsPerSecond;

/** Plain data, changed in place by the functions below. */
export interface StateFileWriter<Version extends string | number = string | number> {
  readonly name: string;
  /** Gets the answers to its writes, and is woken for the next try. */
  readonly address: Address;
  /** True: pods wait until their entries are on disk. False: a failed write lets them continue, too. */
  readonly isRequired: boolean;
  /** Identifies the content on disk: its text, checksum or revision; null: unknown, or there is no file. */
  onDisk: Version | null;
  /** Of the write in flight; null: none. */
  writing: Version | null;
  /** Pods whose entries wait for the next write, and those whose entries are in the write in flight. */
  unsaved: Set<string>;
  inWrite: Set<string>;
  /** Failed writes in a row, the error of the last one, and when to try again; null: the last write succeeded. */
  failures: number;
  problem: string | null;
  retryAt: Micros | null;
  /** Since when the file on disk is out of date; null: it is not, as far as was checked. */
  outdatedSince: Micros | null;
}

/** @param onDisk null: there is no file yet, or its content is unknown */
export function newStateFileWriter<Version extends string | number>(
  name: string,
  address: Address,
  onDisk: Version | null,
  { isRequired }: { readonly isRequired: boolean },
): StateFileWriter<Version> {
  const none = { writing: null, failures: 0, problem: null, retryAt: null, outdatedSince: null };
  return { name, address, isRequired, onDisk, unsaved: new Set(), inWrite: new Set(), ...none };
}

/** False: a write is in flight, or the last one failed and its pause has not passed. @param isUrgent do not wait for the pause */
export function mayWrite({ writing, retryAt }: StateFileWriter, now: Micros, isUrgent = false): boolean {
  return writing === null && (retryAt === null || now >= retryAt || isUrgent);
}

/** Writes the content, unless it is on disk. Only while the file may be written. @returns whether a write has begun */
export function writeStateFile<Version extends string | number>(file: StateFileWriter<Version>, version: Version, text: string, turn: Turn<AgentOperations>): boolean {
  assert(file.writing === null, 'a state file is written while a write of it is in flight', file.name);
  file.retryAt = null;
  if (version === file.onDisk) {
    assert(file.inWrite.size === 0, 'pods wait for a write that is not in flight', file.name);
    file.outdatedSince = null;
    file.unsaved.clear();
    return false;
  }
  file.outdatedSince ??= turn.now;
  file.writing = version;
  file.inWrite = file.unsaved;
  file.unsaved = new Set();
  turn.ask('stateFiles.write', file.address, 'write', { name: file.name, text });
  return true;
}

/** A write was answered. @returns false: it failed, and its address is woken for the next try */
export function stateFileWritten<Version extends string | number>(
  file: StateFileWriter<Version>,
  { outcome }: Pick<ReplyFor<AgentOperations, 'stateFiles.write'>, 'outcome'>,
  turn: Turn<AgentOperations>,
): boolean {
  const { writing, inWrite } = file;
  assert(writing !== null, 'an answer came for a state file that is not being written', file.name);
  file.writing = null;
  file.inWrite = new Set();
  if (outcome.ok) {
    file.onDisk = writing;
    file.failures = 0;
    file.problem = null;
    file.outdatedSince = null;
    return true;
  }
  // The error may have come after the file was replaced.
  file.onDisk = null;
  file.problem = outcome.error.message;
  file.retryAt = turn.now + doubledPause(firstWritePause, longestWritePause, file.failures++);
  if (file.isRequired) for (const uid of inWrite) file.unsaved.add(uid);
  turn.wakeAt(file.address, file.retryAt);
  turn.log('error', 'Failed to save state', { file: file.name, err: file.problem });
  return false;
}

/** Whether the pod waits for its entry to be on disk. */
export function isUnsaved({ unsaved, inWrite }: View<StateFileWriter>, uid: string): boolean {
  return unsaved.has(uid) || inWrite.has(uid);
}

export function forgetUnsaved({ unsaved, inWrite }: StateFileWriter, uid: string): void {
  unsaved.delete(uid);
  inWrite.delete(uid);
}

/** For how long the file on disk has been out of date, in seconds; 0: it is not. */
export function unwrittenSeconds({ outdatedSince }: View<StateFileWriter>, now: Micros): number {
  return outdatedSince === null ? 0 : Math.max(0, now - outdatedSince) / microsPerSecond;
}
