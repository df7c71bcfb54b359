// Host ids for pods with user namespaces: the range of the user `kubelet`, cut into slots of one pod's size.
// Invariant: the ids of the host's own users, below the first slot, are never allocated.
import { goQuote } from '../values/go-text.js';

const defaultIdsPerPod = 65_536;
/** Ids are 32 bits wide. */
export const idsEnd = 2 ** 32;
const idMax = idsEnd - 1;
const slotUnit = 65_536;

/** The user whose subordinate ids are the node's to give to pods. */
export const idRangeOwner = 'kubelet';

export interface IdRange {
  readonly firstId: number;
  readonly length: number;
}

/** A node's settings of user namespaces. */
export interface UserNamespaceSettings {
  readonly idsPerPod: number;
  readonly firstId: number;
  /** How many pods the range is enough for. */
  readonly slots: number;
}

/** The output of `getsubids kubelet` and of `getsubids -g kubelet`; null: no such user or program. */
export type SubordinateIds = { readonly uids: string; readonly gids: string } | null;

export type RangeResult<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: string };

export const defaultUserNamespaces: UserNamespaceSettings = { idsPerPod: defaultIdsPerPod, firstId: defaultIdsPerPod, slots: idsEnd / defaultIdsPerPod - 1 };

/** @param maxPods for each of which there must be a slot */
export function userNamespaceSettings(ids: SubordinateIds, idsPerPod: number | null, maxPods: number): RangeResult<UserNamespaceSettings> {
  const length = idsPerPod ?? defaultIdsPerPod;
  const range = ids === null ? { ok: true as const, value: { firstId: length, length: idsEnd - length } } : subordinateRange(ids);
  if (!range.ok) return refused(`kubelet mappings: ${range.error}`);
  const { firstId, length: total } = range.value;
  if (length % slotUnit !== 0) return refused(`kubelet user namespace length ${length} is not a multiple of ${slotUnit}`);
  if (firstId % length !== 0) return refused(`kubelet user assigned ID ${firstId} is not a multiple of ${length}`);
  if (firstId < length) return refused(`kubelet user assigned ID ${firstId} must be greater or equal to ${length}`);
  if (total % length !== 0) return refused(`kubelet user assigned IDs length ${total} is not a multiple of ${length}`);
  // A range that runs over the highest id would begin again at root's.
  const slots = Math.min(total, idsEnd - firstId) / length;
  if (slots < maxPods) return refused(`kubelet user assigned IDs are not enough to support ${maxPods} pods`);
  return { ok: true, value: { idsPerPod: length, firstId, slots: Math.floor(slots) } };
}

function subordinateRange({ uids, gids }: NonNullable<SubordinateIds>): RangeResult<IdRange> {
  if (uids !== gids) return refused(`mismatched subuids and subgids for user ${goQuote(idRangeOwner)}`);
  const lines = uids.replace(/^\n+|\n+$/g, '').split('\n');
  if (lines.length !== 1) return refused(`error parsing line ${goQuote(uids)}: it must contain only one line`);
  const parts = (lines[0] ?? '').split(/\s+/).filter((part) => part !== '');
  if (parts.length !== 4) return refused(`invalid line ${goQuote(uids)}`);
  const numbers: number[] = [];
  for (const part of parts.slice(2)) {
    const number = /^\d+$/.test(part) ? Number(part) : null;
    if (number === null || number > idMax) {
      const why = number === null ? 'invalid syntax' : 'value out of range';
      return refused(`error parsing line ${goQuote(uids)}: strconv.ParseUint: parsing ${goQuote(part)}: ${why}`);
    }
    numbers.push(number);
  }
  return { ok: true, value: { firstId: numbers[0]!, length: numbers[1]! } };
}

function refused(error: string): { readonly ok: false; readonly error: string } {
  return { ok: false, error };
}
