// A host and a port as one text, `10.0.0.1:80` or `[fd00::1]:80`.

export function addressText(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
