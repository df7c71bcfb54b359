// Several reasons in one line, as Kubernetes writes them in conditions: duplicates once, one reason bare, more in brackets.

/** null for an empty list. */
export function problemText(problems: readonly string[]): string | null {
  const unique = [...new Set(problems)];
  if (unique.length === 0) return null;
  return unique.length === 1 ? (unique[0] as string) : `[${unique.join(', ')}]`;
}
