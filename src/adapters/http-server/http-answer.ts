// Answers of the HTTP server in the words of Kubernetes' own servers; clients and scripts match on them.

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const plain = { 'Content-Type': 'text/plain; charset=utf-8' };

/** A text with its content type. */
export function plainText(status: number, body: string, headers: Readonly<Record<string, string>> = {}): HttpAnswer {
  return { status, headers: { ...plain, ...headers }, body };
}

/** A text that no browser may take for anything else: errors, and health. */
export function strictText(status: number, body: string): HttpAnswer {
  return plainText(status, body, { 'X-Content-Type-Options': 'nosniff' });
}

export const notFound: HttpAnswer = strictText(404, '404 page not found\n');

export function methodNotAllowed(allowed: readonly string[]): HttpAnswer {
  return plainText(405, '405: Method Not Allowed', { Allow: allowed.join(', ') });
}

export function notAcceptable(available: string): HttpAnswer {
  return plainText(406, `406: Not Acceptable\n\nAvailable representations: ${available}`);
}

/** To the clean form of a path. `location` is a path of this server. */
export function redirect(method: string, location: string): HttpAnswer {
  const headers = { Location: location };
  if (method !== 'GET' && method !== 'HEAD') return { status: 307, headers, body: '' };
  const shown = location.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
  return { status: 307, headers: { ...headers, 'Content-Type': 'text/html; charset=utf-8' }, body: `<a href="${shown}">Temporary Redirect</a>.\n\n` };
}

/** Compact JSON as Go's encoder writes it: characters that mean something to HTML are escaped. They occur in strings only. */
export function goJson(value: unknown): string {
  return JSON.stringify(value).replace(/[<>&\u2028\u2029]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
