// Whether the credentials in a kubeconfig are usable, checked before anything is started with it.

import { createSecureContext } from 'node:tls';
import { certificatesOf, pairProblem } from '../certificates/index.js';
import { readTextFileSync } from '../text/index.js';
import { openErrorText } from './file-text.js';
import type { ClientConfig, Material } from './kubeconfig.js';
import { tokenProblem } from './token-text.js';

/** Why no client can be made of it; null if it can. The server decides later whether it accepts it. */
export function unusableCredentials({ path, server, authority, user }: ClientConfig): string | null {
  try {
    if (server.startsWith('https:') && authority !== null) {
      const pem = textOf(authority);
      if (certificatesOf(pem).length === 0)
        return `unable to load root certificates: unable to parse bytes as PEM block (${placeOf(authority, path, 'certificate-authority-data')})`;
      createSecureContext({ ca: pem });
    }
    const problemOfToken = user.token?.file == null ? null : tokenFileProblem(user.token.file);
    if (problemOfToken !== null) return `${problemOfToken} (${path}: tokenFile)`;
    if (user.certificate === null) return null;
    const { certificate, key } = user.certificate;
    const problem = pairProblem(textOf(certificate), textOf(key));
    return problem === null ? null : `${problem} (${placeOf(certificate, path, 'client-certificate-data')})`;
  } catch (error) {
    return error instanceof Error ? `${error.message} (${path})` : String(error);
  }
}

/** The certificates that the user shows, the leaf first; null: none, or they can't be read. */
export function clientPairOf({ user }: ClientConfig): { readonly certificate: string; readonly key: string } | null {
  if (user.certificate === null) return null;
  try {
    return { certificate: textOf(user.certificate.certificate), key: textOf(user.certificate.key) };
  } catch {
    return null;
  }
}

function textOf(material: Material): string {
  if (material.kind === 'data') return material.pem;
  try {
    return readTextFileSync(material.path);
  } catch (error) {
    throw new Error(openErrorText(material.path, error), { cause: error });
  }
}

/** Without its token the client would be anonymous. */
function tokenFileProblem(file: string): string | null {
  const token = textOf({ kind: 'file', path: file }).trim();
  return token === '' ? `token file ${file} is empty` : tokenProblem(token, file);
}

function placeOf(material: Material, path: string, field: string): string {
  return material.kind === 'file' ? material.path : `${path}: ${field}`;
}
