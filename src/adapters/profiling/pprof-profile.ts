// A profile in the format of pprof (github.com/google/pprof, proto/profile.proto), which `go tool pprof`, Grafana and others read.
// Invariant: strings, functions and locations occur once each, for any number of samples.
import { gzipSync } from 'node:zlib';

export interface ValueType {
  readonly type: string;
  readonly unit: string;
}

export interface Frame {
  /** '' without a name. */
  readonly functionName: string;
  readonly url: string;
  /** From 0; -1: unknown. */
  readonly lineNumber: number;
}

export interface StackSample {
  /** The innermost first. */
  readonly frames: readonly Frame[];
  /** One for each type of value. */
  readonly values: readonly number[];
}

export interface Profile {
  readonly valueTypes: readonly ValueType[];
  readonly samples: readonly StackSample[];
  readonly startedMillis: number;
  readonly durationNanos: number;
  readonly periodType: ValueType;
  readonly period: number;
}

const bits = 7;
const lengthDelimited = 2;

/** Gzipped, as pprof writes it. */
export function encodedProfile(profile: Profile): Buffer {
  const tables = new Tables();
  const message = new Message();
  for (const type of profile.valueTypes) message.message(1, tables.valueType(type));
  for (const { frames, values } of profile.samples) {
    const sample = new Message();
    sample.packed(
      1,
      frames.map((frame) => tables.location(frame)),
    );
    sample.packed(2, values);
    message.message(2, sample);
  }
  const periodType = tables.valueType(profile.periodType);
  for (const location of tables.locations) message.message(4, location);
  for (const one of tables.functions) message.message(5, one);
  for (const text of tables.strings) message.text(6, text);
  message.number(9, Math.round(profile.startedMillis) * 1e6);
  message.number(10, Math.round(profile.durationNanos));
  message.message(11, periodType);
  message.number(12, Math.round(profile.period));
  return gzipSync(message.bytes());
}

class Tables {
  readonly strings: string[] = [''];
  readonly functions: Message[] = [];
  readonly locations: Message[] = [];
  private readonly stringIds = new Map<string, number>([['', 0]]);
  private readonly functionIds = new Map<string, number>();
  private readonly locationIds = new Map<string, number>();

  valueType({ type, unit }: ValueType): Message {
    const message = new Message();
    message.number(1, this.text(type));
    message.number(2, this.text(unit));
    return message;
  }

  location({ functionName, url, lineNumber }: Frame): number {
    const key = `${functionName}\n${url}\n${lineNumber}`;
    const known = this.locationIds.get(key);
    if (known !== undefined) return known;
    const id = this.locations.length + 1;
    this.locationIds.set(key, id);
    const line = new Message();
    line.number(1, this.function(functionName === '' ? '(anonymous)' : functionName, url));
    line.number(2, lineNumber + 1);
    const message = new Message();
    message.number(1, id);
    message.message(4, line);
    this.locations.push(message);
    return id;
  }

  private function(name: string, url: string): number {
    const key = `${name}\n${url}`;
    const known = this.functionIds.get(key);
    if (known !== undefined) return known;
    const id = this.functions.length + 1;
    this.functionIds.set(key, id);
    const message = new Message();
    message.number(1, id);
    message.number(2, this.text(name));
    message.number(3, this.text(name));
    message.number(4, this.text(url));
    this.functions.push(message);
    return id;
  }

  private text(text: string): number {
    const known = this.stringIds.get(text);
    if (known !== undefined) return known;
    this.stringIds.set(text, this.strings.length);
    this.strings.push(text);
    return this.strings.length - 1;
  }
}

/** Protobuf's wire format. */
class Message {
  private readonly parts: Buffer[] = [];

  bytes(): Buffer {
    return Buffer.concat(this.parts);
  }

  /** 0 is omitted, since it is the default. */
  number(field: number, value: number): void {
    if (value !== 0) this.parts.push(varint(field << 3), varint(value));
  }

  text(field: number, text: string): void {
    this.delimited(field, Buffer.from(text, 'utf8'));
  }

  message(field: number, message: Message): void {
    this.delimited(field, message.bytes());
  }

  packed(field: number, values: readonly number[]): void {
    this.delimited(field, Buffer.concat(values.map((value) => varint(value))));
  }

  private delimited(field: number, bytes: Buffer): void {
    this.parts.push(varint((field << 3) | lengthDelimited), varint(bytes.length), bytes);
  }
}

function varint(value: number): Buffer {
  let rest = BigInt(Math.max(0, Math.round(value)));
  const bytes: number[] = [];
  while (rest > 127n) {
    bytes.push(Number(rest & 127n) | 128);
    rest >>= BigInt(bits);
  }
  bytes.push(Number(rest));
  return Buffer.from(bytes);
}
