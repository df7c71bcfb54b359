/** Whether an Accept header names a media type. By name only, as Kubernetes' own servers match it: ignores qualities and partial wildcards. */
export function accepts(header: string, produced: string): boolean {
  if (header.trim() === '') return true;
  return header.split(',').some((part) => {
    const type = (part.split(';', 1)[0] as string).trim();
    return type === '*/*' || type === produced;
  });
}
