// A device plugin's answer for one container (ContainerAllocateResponse of the device plugin API), and its bytes: checkpoints keep
// the answer in protobuf form. Only this one message is needed here, so its few fields are encoded and decoded by hand.
// Invariants: empty fields are omitted, maps are in key order, unknown fields are skipped; truncated bytes are no message.
import { utf8Decode, utf8Encode } from '../values/utf8.js';
import { byUtf8 } from './checkpoint-text.js';

export interface DeviceMount {
  readonly containerPath: string;
  readonly hostPath: string;
  readonly readOnly: boolean;
}

export interface DeviceNode {
  readonly containerPath: string;
  readonly hostPath: string;
  /** Of the cgroup: some of r, w, m. */
  readonly permissions: string;
}

export interface ContainerAllocateResponse {
  readonly envs: ReadonlyMap<string, string>;
  readonly mounts: readonly DeviceMount[];
  readonly devices: readonly DeviceNode[];
  readonly annotations: ReadonlyMap<string, string>;
  /** Fully qualified CDI names. */
  readonly cdiDevices: readonly string[];
}

const lengthDelimited = 2;

export function encodeAllocateResponse(response: ContainerAllocateResponse): Uint8Array {
  const out: number[] = [];
  const pairs = (number: number, map: ReadonlyMap<string, string>): void => {
    for (const key of [...map.keys()].sort(byUtf8)) message(out, number, [...textBytes(1, key, true), ...textBytes(2, map.get(key)!, true)]);
  };
  pairs(1, response.envs);
  for (const { containerPath, hostPath, readOnly } of response.mounts) {
    message(out, 2, [...textBytes(1, containerPath), ...textBytes(2, hostPath), ...(readOnly ? [3 << 3, 1] : [])]);
  }
  for (const { containerPath, hostPath, permissions } of response.devices) {
    message(out, 3, [...textBytes(1, containerPath), ...textBytes(2, hostPath), ...textBytes(3, permissions)]);
  }
  pairs(4, response.annotations);
  for (const name of response.cdiDevices) message(out, 5, textBytes(1, name));
  return Uint8Array.from(out);
}

function message(out: number[], number: number, body: readonly number[]): void {
  out.push((number << 3) | lengthDelimited, ...varint(body.length));
  for (const byte of body) out.push(byte);
}

/** Entries of a map always have key and value, other empty texts are omitted. */
function textBytes(number: number, text: string, always = false): number[] {
  if (text === '' && !always) return [];
  const bytes = utf8Encode(text);
  return [(number << 3) | lengthDelimited, ...varint(bytes.length), ...bytes];
}

function varint(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) | 0x80);
  return [...bytes, rest];
}

/** null: not such a message. */
export function decodeAllocateResponse(bytes: Uint8Array): ContainerAllocateResponse | null {
  const fields = readFields(bytes);
  if (fields === null) return null;
  const parts = fields.filter((field): field is Part => field.bytes !== null).map((field) => ({ number: field.number, fields: readFields(field.bytes) }));
  if (parts.some((part) => part.number <= 5 && part.fields === null)) return null;
  const of = (number: number): Field[][] => parts.filter((part) => part.number === number).map((part) => part.fields as Field[]);
  const map = (number: number): Map<string, string> => new Map(of(number).map((entry) => [textAt(entry, 1), textAt(entry, 2)]));
  return {
    envs: map(1),
    mounts: of(2).map((mount) => ({ containerPath: textAt(mount, 1), hostPath: textAt(mount, 2), readOnly: mount.findLast(({ number }) => number === 3)?.value === 1 })),
    devices: of(3).map((device) => ({ containerPath: textAt(device, 1), hostPath: textAt(device, 2), permissions: textAt(device, 3) })),
    annotations: map(4),
    cdiDevices: of(5).map((device) => textAt(device, 1)),
  };
}

interface Field {
  readonly number: number;
  /** Of a varint; 0 for everything else. */
  readonly value: number;
  /** Of a length-delimited field. */
  readonly bytes: Uint8Array | null;
}
interface Part extends Field {
  readonly bytes: Uint8Array;
}

function textAt(fields: readonly Field[], number: number): string {
  const bytes = fields.findLast((field) => field.number === number)?.bytes ?? null;
  return bytes === null ? '' : utf8Decode(bytes);
}

function readFields(bytes: Uint8Array): Field[] | null {
  const fields: Field[] = [];
  let at = 0;
  const next = (): number | null => {
    let value = 0;
    for (let scale = 1; at < bytes.length && scale < 2 ** 70; scale *= 0x80) {
      const byte = bytes[at++]!;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
    }
    return null;
  };
  while (at < bytes.length) {
    const tag = next();
    if (tag === null || tag < 8) return null;
    const wire = tag % 8;
    const number = Math.floor(tag / 8);
    const value = wire === 0 || wire === lengthDelimited ? next() : wire === 5 ? 4 : wire === 1 ? 8 : null;
    if (value === null) return null;
    if (wire === 0) {
      fields.push({ number, value, bytes: null });
      continue;
    }
    if (at + value > bytes.length) return null;
    fields.push({ number, value: 0, bytes: wire === lengthDelimited ? bytes.subarray(at, at + value) : null });
    at += value;
  }
  return fields;
}
