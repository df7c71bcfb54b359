// Whether a bearer token is valid in a header.

/** null: it can. The token itself is in no message. */
export function tokenProblem(token: string, file: string): string | null {
  return /^[\x21-\x7e]+$/.test(token) ? null : `token file ${file} holds what is no token: expected one line of ASCII characters without spaces`;
}
