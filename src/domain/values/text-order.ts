// The one order of names and uids: by UTF-16 code units, the same on every host and in every locale.
// Invariant: names of the API are ASCII, so this is also their order by bytes.

/** For `sort`. */
export function byCodeUnits(a: string, b: string): -1 | 0 | 1 {
  return a < b ? -1 : a > b ? 1 : 0;
}
