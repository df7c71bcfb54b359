// Versions of API objects. Opaque in general; but if both are numbers, as from every server with etcd, the larger is the newer.

const number = /^[1-9]\d*$/;

/** Whether `a` is known to be newer than `b`; false if unknown. */
export function isNewerVersion(a: string | undefined, b: string | undefined): boolean {
  if (a === undefined || b === undefined || !number.test(a) || !number.test(b)) return false;
  return a.length === b.length ? a > b : a.length > b.length;
}
