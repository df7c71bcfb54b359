// Bodies in the API's protobuf form, for the kinds that kubectl sends in it: kubectl accepts JSON answers, but can't be configured to send JSON.
// Invariant: an unlisted kind is refused, and an unlisted field is ignored as unknown; nothing is guessed.
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';

/** Before the envelope. */
const magic = Buffer.from([0x6b, 0x38, 0x73, 0x00]);

/** `number: name type`; types: string, int, bool, bytes, time, map (of texts), bytesMap, intOrString, another message; `[]` before it: repeated. */
type MessageTable = Readonly<Record<number, string>>;

const metadata = '1: metadata ObjectMeta';
const messages: Readonly<Record<string, MessageTable>> = table({
  ObjectMeta: [
    '1: name string, 2: generateName string, 3: namespace string, 5: uid string, 6: resourceVersion string, 7: generation int',
    '8: creationTimestamp time, 9: deletionTimestamp time, 10: deletionGracePeriodSeconds int, 11: labels map, 12: annotations map',
    '13: ownerReferences []OwnerReference, 14: finalizers []string',
  ].join(', '),
  OwnerReference: '1: kind string, 3: name string, 4: uid string, 5: apiVersion string, 6: controller bool, 7: blockOwnerDeletion bool',
  Namespace: `${metadata}, 2: spec NamespaceSpec`,
  NamespaceSpec: '1: finalizers []string',
  ConfigMap: `${metadata}, 2: data map, 3: binaryData bytesMap, 4: immutable bool`,
  Secret: `${metadata}, 2: data bytesMap, 3: type string, 4: stringData map, 5: immutable bool`,
  ServiceAccount: `${metadata}, 4: automountServiceAccountToken bool`,
  Service: `${metadata}, 2: spec ServiceSpec`,
  ServiceSpec: '1: ports []ServicePort, 2: selector map, 3: clusterIP string, 4: type string, 5: externalIPs []string, 7: sessionAffinity string, 10: externalName string',
  ServicePort: '1: name string, 2: protocol string, 3: port int, 4: targetPort intOrString, 5: nodePort int',
  PriorityClass: `${metadata}, 2: value int, 3: globalDefault bool, 4: description string, 5: preemptionPolicy string`,
  SelfSubjectReview: metadata,
  SelfSubjectAccessReview: `${metadata}, 2: spec AccessSpec`,
  SubjectAccessReview: `${metadata}, 2: spec AccessSpec`,
  AccessSpec: '1: resourceAttributes ResourceAttributes, 2: nonResourceAttributes NonResourceAttributes, 3: user string, 4: groups []string, 6: uid string',
  ResourceAttributes: '1: namespace string, 2: verb string, 3: group string, 4: version string, 5: resource string, 6: subresource string, 7: name string',
  NonResourceAttributes: '1: path string, 2: verb string',
  TokenReview: `${metadata}, 2: spec TokenReviewSpec`,
  TokenReviewSpec: '1: token string, 2: audiences []string',
  TokenRequest: `${metadata}, 2: spec TokenRequestSpec`,
  TokenRequestSpec: '1: audiences []string, 3: boundObjectRef BoundObjectReference, 4: expirationSeconds int',
  BoundObjectReference: '1: kind string, 2: apiVersion string, 3: name string, 4: uid string',
  Eviction: `${metadata}, 2: deleteOptions DeleteOptions`,
  DeleteOptions: '1: gracePeriodSeconds int, 2: preconditions Preconditions, 3: orphanDependents bool, 4: propagationPolicy string, 5: dryRun []string',
  Preconditions: '1: uid string, 2: resourceVersion string',
});

function table(texts: Readonly<Record<string, string>>): Readonly<Record<string, MessageTable>> {
  const entries = Object.entries(texts).map(([name, text]) => {
    const fields = text.split(', ').map((field) => field.split(': ') as [string, string]);
    return [name, Object.fromEntries(fields)] as const;
  });
  return Object.fromEntries(entries);
}

/** The object as JSON has it; null: its kind isn't known here in this form, or it is none. */
export function objectOfProtobuf(bytes: Uint8Array): object | null {
  if (!Buffer.from(bytes.subarray(0, magic.length)).equals(magic)) return null;
  try {
    const envelope = readEnvelope(bytes.subarray(magic.length));
    if (messages[envelope.kind] === undefined) return null;
    return { apiVersion: envelope.apiVersion, kind: envelope.kind, ...readMessage(envelope.kind, envelope.raw) };
  } catch {
    // It ends in the middle, or isn't protobuf at all.
    return null;
  }
}

function readEnvelope(bytes: Uint8Array): { readonly apiVersion: string; readonly kind: string; readonly raw: Uint8Array } {
  const reader = new BinaryReader(bytes);
  let [apiVersion, kind] = ['', ''];
  let raw: Uint8Array = new Uint8Array();
  while (reader.pos < reader.len) {
    const [number, wire] = reader.tag();
    if (number === 1) {
      const end = reader.uint32() + reader.pos;
      while (reader.pos < end) {
        const [part, partWire] = reader.tag();
        if (part === 1) apiVersion = reader.string();
        else if (part === 2) kind = reader.string();
        else reader.skip(partWire);
      }
    } else if (number === 2) raw = reader.bytes();
    else reader.skip(wire);
  }
  return { apiVersion, kind, raw };
}

function readMessage(name: string, bytes: Uint8Array): Record<string, unknown> {
  const fields = messages[name] ?? {};
  const out: Record<string, unknown> = {};
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [number, wire] = reader.tag();
    const field = fields[number];
    if (field === undefined) reader.skip(wire);
    else readField(out, field, reader, wire);
  }
  return out;
}

function readField(out: Record<string, unknown>, field: string, reader: BinaryReader, wire: WireType): void {
  const [name = '', written = ''] = field.split(' ');
  if (written === 'map' || written === 'bytesMap') {
    const map = (out[name] ?? {}) as Record<string, string>;
    out[name] = map;
    readEntry(map, reader.bytes(), written === 'bytesMap');
    return;
  }
  const isList = written.startsWith('[]');
  const value = readValue(isList ? written.slice(2) : written, reader, wire);
  if (value === undefined) return;
  out[name] = isList ? [...((out[name] as unknown[] | undefined) ?? []), value] : value;
}

/** undefined: absent, such as an unset time. */
function readValue(type: string, reader: BinaryReader, wire: WireType): unknown {
  switch (type) {
    case 'string':
      return reader.string();
    case 'int':
      return Number(wire === WireType.Varint ? reader.int64() : 0);
    case 'bool':
      return reader.bool();
    case 'bytes':
      return Buffer.from(reader.bytes()).toString('base64');
    case 'time':
      return timeOf(reader.bytes());
    case 'intOrString':
      return intOrString(reader.bytes());
    default:
      return readMessage(type, reader.bytes());
  }
}

function timeOf(bytes: Uint8Array): string | undefined {
  const reader = new BinaryReader(bytes);
  let seconds = 0;
  while (reader.pos < reader.len) {
    const [number, wire] = reader.tag();
    if (number === 1) seconds = Number(reader.int64());
    else reader.skip(wire);
  }
  return seconds === 0 ? undefined : new Date(seconds * 1000).toISOString().replace('.000Z', 'Z');
}

function intOrString(bytes: Uint8Array): number | string {
  const reader = new BinaryReader(bytes);
  let [isText, number, text] = [false, 0, ''];
  while (reader.pos < reader.len) {
    const [part, wire] = reader.tag();
    if (part === 1) isText = reader.int64().toString() === '1';
    else if (part === 2) number = reader.int32();
    else if (part === 3) text = reader.string();
    else reader.skip(wire);
  }
  return isText ? text : number;
}

function readEntry(map: Record<string, string>, bytes: Uint8Array, isBytes: boolean): void {
  const reader = new BinaryReader(bytes);
  let [key, value] = ['', ''];
  while (reader.pos < reader.len) {
    const [part, wire] = reader.tag();
    if (part === 1) key = reader.string();
    else if (part === 2) value = isBytes ? Buffer.from(reader.bytes()).toString('base64') : reader.string();
    else reader.skip(wire);
  }
  Object.defineProperty(map, key, { value, enumerable: true, writable: true, configurable: true });
}
