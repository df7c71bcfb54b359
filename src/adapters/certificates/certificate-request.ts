// Certificate requests (PKCS #10), as a kubelet makes them and as a signer reads them.
import { createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { bitString, elementsOf, explicit, oid, oidText, sequence, set, smallInteger, tags, within } from './der.js';
import { type AlternativeNames, alternativeNamesExtension, alternativeNamesOf, type Subject, subjectName, subjectOf } from './names.js';
import { pemBytes, pemOf } from './pem.js';
import { digestOf, signatureAlgorithm } from './signature.js';

export interface RequestedCertificate extends Subject, AlternativeNames {}

export interface ReadRequest extends RequestedCertificate {
  readonly publicKey: KeyObject;
}

const label = 'CERTIFICATE REQUEST';
const extensionRequestOid = '1.2.840.113549.1.9.14';

/** PEM of a request that is signed with this private key. */
export function certificateRequest(wanted: RequestedCertificate, privateKey: KeyObject): string {
  const extension = alternativeNamesExtension(wanted);
  const attributes = extension === null ? [] : [sequence(oid(extensionRequestOid), set(sequence(extension)))];
  const publicKey = createPublicKey(privateKey).export({ type: 'spki', format: 'der' });
  const info = sequence(smallInteger(0), subjectName(wanted), publicKey, explicit(0, ...attributes));
  return pemOf(label, sequence(info, signatureAlgorithm(privateKey), bitString(sign(digestOf(privateKey), info, privateKey))));
}

/** Reads a request; throws when it isn't one, or when it isn't signed by its own key. */
export function readCertificateRequest(pem: string): ReadRequest {
  const [info, , signature] = within(elementsOf(pemBytes(pem, label))[0], tags.sequence);
  const [, name, publicKeyInfo, attributes] = within(info, tags.sequence);
  if (info === undefined || signature === undefined || name === undefined || publicKeyInfo === undefined) throw new Error('the certificate request is incomplete');
  const publicKey = createPublicKey({ key: publicKeyInfo.whole, type: 'spki', format: 'der' });
  if (!verify(digestOf(publicKey), info.whole, publicKey, signature.content.subarray(1))) throw new Error('the certificate request is not signed by its own key');
  const extensions = elementsOf(attributes?.content ?? Buffer.alloc(0)).flatMap((attribute) => {
    const [type, values] = within(attribute, tags.sequence);
    if (type === undefined || oidText(type) !== extensionRequestOid) return [];
    return within(within(values, tags.set)[0], tags.sequence);
  });
  return { ...subjectOf(name), ...alternativeNamesOf(extensions), publicKey };
}
