// Names in a certificate: the subject, and the subject alternative names. As Go writes and reads them.
import { isIP } from 'node:net';
import { formatIp, parseIp } from '../../domain/values/ip-address.js';
import { type Element, element, elementsOf, octetString, oid, oidText, sequence, set, tags, text, within } from './der.js';

export interface Subject {
  readonly commonName: string;
  readonly organizations: readonly string[];
}

export interface AlternativeNames {
  readonly dnsNames: readonly string[];
  readonly ipAddresses: readonly string[];
}

const organizationOid = '2.5.4.10';
const commonNameOid = '2.5.4.3';
const alternativeNamesOid = '2.5.29.17';
const dnsTag = 0x82;
const ipTag = 0x87;

/** All organizations are one element of the name, as Go has it. */
export function subjectName({ commonName, organizations }: Subject): Buffer {
  const attribute = (type: string, value: string): Buffer => sequence(oid(type), text(value));
  return sequence(
    ...(organizations.length === 0 ? [] : [set(...organizations.map((value) => attribute(organizationOid, value)))]),
    ...(commonName === '' ? [] : [set(attribute(commonNameOid, commonName))]),
  );
}

export function subjectOf(name: Element): Subject {
  const attributes = within(name, tags.sequence).flatMap((part) => within(part, tags.set).map((attribute) => within(attribute, tags.sequence)));
  const valuesOf = (type: string): string[] =>
    attributes.flatMap(([id, value]) => (id !== undefined && value !== undefined && oidText(id) === type ? [value.content.toString('utf8')] : []));
  return { commonName: valuesOf(commonNameOid)[0] ?? '', organizations: valuesOf(organizationOid) };
}

/** The extension; null without names. */
export function alternativeNamesExtension({ dnsNames, ipAddresses }: AlternativeNames): Buffer | null {
  if (dnsNames.length === 0 && ipAddresses.length === 0) return null;
  const names = [...dnsNames.map((name) => element(dnsTag, Buffer.from(name, 'latin1'))), ...ipAddresses.map((ip) => element(ipTag, addressBytes(ip)))];
  return sequence(oid(alternativeNamesOid), octetString(sequence(...names)));
}

/** The alternative names in a list of extensions; ignores other extensions. */
export function alternativeNamesOf(extensions: readonly Element[]): AlternativeNames {
  for (const extension of extensions) {
    const parts = within(extension, tags.sequence);
    if (parts[0] === undefined || oidText(parts[0]) !== alternativeNamesOid) continue;
    const names = within(elementsOf(parts.at(-1)?.content ?? Buffer.alloc(0))[0], tags.sequence);
    return {
      dnsNames: names.flatMap(({ tag, content }) => (tag === dnsTag ? [content.toString('latin1')] : [])),
      ipAddresses: names.flatMap(({ tag, content }) => (tag === ipTag ? [formatIp(content)] : [])),
    };
  }
  return { dnsNames: [], ipAddresses: [] };
}

/** Four bytes or sixteen. */
function addressBytes(ip: string): Uint8Array {
  const bytes = isIP(ip) === 0 ? null : parseIp(ip);
  if (bytes === null) throw new Error(`${JSON.stringify(ip)} is no IP address`);
  return bytes;
}
