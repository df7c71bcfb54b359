// A collector of traces for tests: OTLP over gRPC on loopback, by the server of @grpc/grpc-js, and a decoder that shares nothing with
// the agent's encoder but the numbers of OTLP's fields.
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { Server, ServerCredentials, type ServerUnaryCall, type sendUnaryData } from '@grpc/grpc-js';

export interface SeenSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly traceState: string;
  readonly name: string;
  readonly kind: number;
  readonly start: bigint;
  readonly end: bigint;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly links: readonly { readonly traceId: string; readonly spanId: string; readonly flags: number }[];
  readonly status: { readonly code: number; readonly message: string };
  readonly flags: number;
}

export interface SeenExport {
  readonly resource: Readonly<Record<string, unknown>>;
  readonly scope: string;
  readonly spans: readonly SeenSpan[];
}

/** The behaviour of the next call. A number: fails with that code. */
export type Behaviour = 'take' | 'hang' | 'partial' | 'garbage' | number;

export class Collector {
  readonly exports: SeenExport[] = [];
  behaviour: Behaviour = 'take';
  calls = 0;

  private constructor(
    private readonly server: Server,
    readonly port: number,
  ) {}

  /** @param address `127.0.0.1:0` or `unix:PATH` */
  static async open(address = '127.0.0.1:0'): Promise<Collector> {
    const server = new Server({ 'grpc.max_receive_message_length': 64 * 1024 * 1024 });
    let collector: Collector | null = null;
    const raw = (bytes: Buffer) => bytes;
    const definition = { path: '/opentelemetry.proto.collector.trace.v1.TraceService/Export', requestStream: false, responseStream: false } as const;
    server.addService(
      { export: { ...definition, requestSerialize: raw, requestDeserialize: raw, responseSerialize: raw, responseDeserialize: raw } },
      { export: (call: ServerUnaryCall<Buffer, Buffer>, answer: sendUnaryData<Buffer>) => collector?.take(call.request, answer) },
    );
    const port = await new Promise<number>((resolve, reject) => {
      server.bindAsync(address, ServerCredentials.createInsecure(), (error, bound) => (error === null ? resolve(bound) : reject(error)));
    });
    collector = new Collector(server, port);
    return collector;
  }

  get spans(): SeenSpan[] {
    return this.exports.flatMap(({ spans }) => spans);
  }

  named(name: string): SeenSpan[] {
    return this.spans.filter((span) => span.name === name);
  }

  close(): void {
    this.server.forceShutdown();
  }

  private take(request: Buffer, answer: sendUnaryData<Buffer>): void {
    this.calls++;
    const { behaviour } = this;
    if (behaviour === 'hang') return;
    if (typeof behaviour === 'number') {
      answer({ code: behaviour, details: 'not now' });
      return;
    }
    this.exports.push(readExport(request));
    // partial_success { rejected_spans: 1, error_message: 'full' }
    if (behaviour === 'partial') answer(null, Buffer.from([0x0a, 0x08, 0x08, 0x01, 0x12, 0x04, ...Buffer.from('full')]));
    else answer(null, behaviour === 'garbage' ? Buffer.from([0xff, 0xff]) : Buffer.alloc(0));
  }
}

/** One resource and one scope, as this agent sends them. */
export function readExport(bytes: Uint8Array): SeenExport {
  const resourceSpans = message(one(message(bytes), 1));
  const scopeSpans = message(one(resourceSpans, 2));
  return {
    resource: attributesOf(message(one(resourceSpans, 1)), 1),
    scope: text(message(one(scopeSpans, 1)), 1),
    spans: (scopeSpans.get(2) ?? []).map((span) => spanOf(message(span as Uint8Array))),
  };
}

type Fields = ReadonlyMap<number, readonly unknown[]>;

function message(bytes: Uint8Array): Fields {
  const fields = new Map<number, unknown[]>();
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag();
    const values = fields.get(field) ?? [];
    fields.set(field, values);
    if (type === WireType.LengthDelimited) values.push(reader.bytes());
    else if (type === WireType.Bit64) values.push(BigInt(reader.fixed64()));
    else if (type === WireType.Bit32) values.push(reader.fixed32());
    else values.push(BigInt(reader.int64()));
  }
  return fields;
}

function one(fields: Fields, field: number): Uint8Array {
  const values = fields.get(field) ?? [];
  if (values.length !== 1) throw new Error(`field ${field} is there ${values.length} times`);
  return values[0] as Uint8Array;
}

function text(fields: Fields, field: number): string {
  return Buffer.from((fields.get(field)?.[0] as Uint8Array | undefined) ?? []).toString('utf8');
}

function hex(fields: Fields, field: number): string {
  return Buffer.from((fields.get(field)?.[0] as Uint8Array | undefined) ?? []).toString('hex');
}

function attributesOf(fields: Fields, field: number): Record<string, unknown> {
  return Object.fromEntries(
    (fields.get(field) ?? []).map((bytes) => {
      const pair = message(bytes as Uint8Array);
      const value = message(one(pair, 2));
      const [kind = 0] = value.keys();
      const held = value.get(kind)?.[0];
      const shown = kind === 1 ? text(value, 1) : kind === 2 ? held === 1n : kind === 3 ? Number(held) : `kind ${kind}`;
      return [text(pair, 1), shown];
    }),
  );
}

function spanOf(fields: Fields): SeenSpan {
  const status = message((fields.get(15)?.[0] as Uint8Array | undefined) ?? new Uint8Array());
  return {
    traceId: hex(fields, 1),
    spanId: hex(fields, 2),
    traceState: text(fields, 3),
    parentSpanId: hex(fields, 4),
    name: text(fields, 5),
    kind: Number(fields.get(6)?.[0] ?? 0),
    start: fields.get(7)?.[0] as bigint,
    end: fields.get(8)?.[0] as bigint,
    attributes: attributesOf(fields, 9),
    links: (fields.get(13) ?? []).map((bytes) => {
      const link = message(bytes as Uint8Array);
      return { traceId: hex(link, 1), spanId: hex(link, 2), flags: Number(link.get(6)?.[0] ?? 0) };
    }),
    status: { code: Number(status.get(3)?.[0] ?? 0), message: text(status, 2) },
    flags: Number(fields.get(16)?.[0] ?? 0),
  };
}
