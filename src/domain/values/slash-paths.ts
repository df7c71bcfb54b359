// Lexical paths with `/`, as on the node; no file system access.
// Invariant: a result has no `.`, no empty and no inner `..` element.

/** Joins and cleans: `joinPath('/a/', 'b/../c')` is `/a/c`. Skips empty elements; returns '' without any others. */
export function joinPath(...elements: readonly string[]): string {
  const joined = elements.filter((element) => element !== '').join('/');
  return joined === '' ? '' : cleanPath(joined);
}

/** The shortest equal path by text alone; `.` for an empty one. */
export function cleanPath(path: string): string {
  if (isPlain(path)) return path;
  const rooted = path.startsWith('/');
  const kept: string[] = [];
  for (const element of path.split('/')) {
    if (element === '' || element === '.') continue;
    const last = kept[kept.length - 1];
    if (element !== '..') kept.push(element);
    else if (last !== undefined && last !== '..') kept.pop();
    else if (!rooted) kept.push('..');
  }
  const text = kept.join('/');
  if (rooted) return `/${text}`;
  return text === '' ? '.' : text;
}

/** Surely clean: no empty element, and none that begins with a dot. */
function isPlain(path: string): boolean {
  return path !== '' && !path.endsWith('/') && !path.startsWith('.') && !path.includes('//') && !path.includes('/.');
}

export function isAbsolutePath(path: string): boolean {
  return path.startsWith('/');
}

/** All but the last element, cleaned; `.` if none. */
export function parentPath(path: string): string {
  return cleanPath(path.slice(0, path.lastIndexOf('/') + 1));
}
