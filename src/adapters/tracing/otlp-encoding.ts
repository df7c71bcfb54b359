// Encodes spans as an ExportTraceServiceRequest of OTLP 1, and decodes the answer. Written by hand: it is six messages, for which the stubs
// or the library would have to be loaded (the library: 17 MB and 0.15 s of CPU).
// Invariant: fields with their default are omitted, as in protobuf.
import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import type { FinishedSpan, SpanAttributes } from './span.js';
import type { SpanContext } from './span-context.js';

/** The instrumentation scope of all spans, the same as in the Go kubelet. */
export const scopeName = 'k8s.io/kubernetes/pkg/kubelet';

const kinds = { internal: 1, server: 2, client: 3 } as const;
const statusError = 2;
const flagSampled = 0x1;
const flagRemoteIsKnown = 0x100;
const flagRemote = 0x200;

export function encodeExport(resource: SpanAttributes, spans: readonly FinishedSpan[]): Uint8Array {
  const out = new BinaryWriter();
  // resource_spans = 1 { resource = 1 { attributes = 1 }, scope_spans = 2 { scope = 1 { name = 1 }, spans = 2 } }
  open(out, 1);
  open(out, 1);
  writeAttributes(out, 1, resource);
  out.join();
  open(out, 2);
  open(out, 1);
  writeText(out, 1, scopeName);
  out.join();
  for (const span of spans) {
    open(out, 2);
    writeSpan(out, span);
    out.join();
  }
  out.join();
  out.join();
  return out.finish();
}

/** How many spans of a request were not taken, and why. Errors: throws on what isn't protobuf. */
export function decodeExportAnswer(bytes: Uint8Array): { readonly rejected: number; readonly reason: string } {
  const reader = new BinaryReader(bytes);
  let rejected = 0;
  let reason = '';
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag();
    if (field !== 1 || type !== WireType.LengthDelimited) {
      reader.skip(type, field);
      continue;
    }
    // partial_success { rejected_spans = 1, error_message = 2 }
    const partial = new BinaryReader(reader.bytes());
    while (partial.pos < partial.len) {
      const [inner, innerType] = partial.tag();
      if (inner === 1 && innerType === WireType.Varint) rejected = Number(partial.int64());
      else if (inner === 2 && innerType === WireType.LengthDelimited) reason = partial.string();
      else partial.skip(innerType, inner);
    }
  }
  return { rejected, reason };
}

function writeSpan(out: BinaryWriter, span: FinishedSpan): void {
  const { context, parent } = span;
  writeBytes(out, 1, Buffer.from(context.traceId, 'hex'));
  writeBytes(out, 2, Buffer.from(context.spanId, 'hex'));
  if (context.traceState !== '') writeText(out, 3, context.traceState);
  if (parent !== null) writeBytes(out, 4, Buffer.from(parent.spanId, 'hex'));
  writeText(out, 5, span.name);
  out.tag(6, WireType.Varint).int32(kinds[span.kind]);
  out.tag(7, WireType.Bit64).fixed64(nanosOf(span.startedAt));
  out.tag(8, WireType.Bit64).fixed64(nanosOf(span.endedAt));
  writeAttributes(out, 9, span.attributes);
  if (span.droppedAttributes > 0) out.tag(10, WireType.Varint).uint32(span.droppedAttributes);
  for (const link of span.links) {
    open(out, 13);
    writeBytes(out, 1, Buffer.from(link.traceId, 'hex'));
    writeBytes(out, 2, Buffer.from(link.spanId, 'hex'));
    if (link.traceState !== '') writeText(out, 3, link.traceState);
    out.tag(6, WireType.Bit32).fixed32(flagsOf(link, link.isRemote));
    out.join();
  }
  if (span.failure !== null) {
    open(out, 15);
    if (span.failure !== '') writeText(out, 2, span.failure);
    out.tag(3, WireType.Varint).int32(statusError);
    out.join();
  }
  // The location of the parent.
  out.tag(16, WireType.Bit32).fixed32(flagsOf(context, parent?.isRemote === true));
}

function flagsOf({ isSampled }: SpanContext, isRemote: boolean): number {
  return flagRemoteIsKnown + (isSampled ? flagSampled : 0) + (isRemote ? flagRemote : 0);
}

function writeAttributes(out: BinaryWriter, field: number, attributes: SpanAttributes): void {
  for (const [key, value] of Object.entries(attributes)) {
    open(out, field);
    writeText(out, 1, key);
    open(out, 2);
    // A oneof is written also where it holds a default.
    if (typeof value === 'string') writeText(out, 1, value);
    else if (typeof value === 'boolean') out.tag(2, WireType.Varint).bool(value);
    else if (Number.isSafeInteger(value)) out.tag(3, WireType.Varint).int64(value);
    else out.tag(4, WireType.Bit64).double(value);
    out.join();
    out.join();
  }
}

function open(out: BinaryWriter, field: number): void {
  out.tag(field, WireType.LengthDelimited).fork();
}

function writeText(out: BinaryWriter, field: number, text: string): void {
  out.tag(field, WireType.LengthDelimited).string(text);
}

function writeBytes(out: BinaryWriter, field: number, bytes: Uint8Array): void {
  out.tag(field, WireType.LengthDelimited).bytes(bytes);
}

function nanosOf(micros: number): bigint {
  return BigInt(Math.max(0, Math.trunc(micros))) * 1000n;
}
