// The container that a cgroup belongs to, by the name of the cgroup.

/** `/a/<id>` and `/a/<runtime>-<id>.scope` are the cgroup of container `<id>`. */
export function containerIdOfCgroup(path: string): string {
  if (path === '/') return path;
  const element = lastElement(path);
  if (!element.endsWith('.scope')) return element;
  const unit = element.slice(0, -'.scope'.length);
  return unit.slice(unit.lastIndexOf('-') + 1);
}

/** The cgroup's own name. */
export function lastElement(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}
