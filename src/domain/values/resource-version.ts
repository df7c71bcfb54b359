// Versions of API objects. To us they are names; but where both are numbers, as every server with etcd gives them, the larger is the newer.

const number = /^[1-9]\d*$/;

/** Whether `a` is known to be newer than `b`; false where that can't be told. */
export function isNewerVersion(a: string | undefined, b: string | undefined): boolean {
  if (a === undefined || b === undefined || !number.test(a) || !number.test(b)) return false;
  return a.length === b.length ? a > b : a.length > b.length;
}
