// The protos against the wire tables (test/wire), and the committed stubs against the protos: a wrong number, type,
// label or method name would talk nonsense to a real runtime or plugin, and nothing else in the tests would notice.
// The table's rows are the measure: the descriptors of the protos are turned into rows, and both lists must be equal.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { create, createFileRegistry, type DescField, type DescMessage, type DescOneof, fromBinary, ScalarType, toBinary } from '@bufbuild/protobuf';
import { type ReflectMessage, reflect, type ScalarValue } from '@bufbuild/protobuf/reflect';
import {
  type DescriptorProto,
  type EnumDescriptorProto,
  type FieldDescriptorProto,
  FieldDescriptorProto_Label,
  FieldDescriptorProto_Type,
  type FileDescriptorProto,
  type FileDescriptorSet,
  FileDescriptorSetSchema,
} from '@bufbuild/protobuf/wkt';
import t from 'tap';
import * as cri from '../../src/adapters/cri/gen/cri-runtime-v1.js';
import * as csi from '../../src/adapters/plugins/gen/csi-v1.js';
import * as devicePlugin from '../../src/adapters/plugins/gen/deviceplugin-v1beta1.js';
import * as draHealth from '../../src/adapters/plugins/gen/dra-health-v1alpha1.js';
import * as dra from '../../src/adapters/plugins/gen/dra-v1.js';
import * as pluginRegistration from '../../src/adapters/plugins/gen/pluginregistration-v1.js';
import * as podResources from '../../src/adapters/plugins/gen/podresources-v1.js';
import * as grpcHealth from '../../src/adapters/probes/gen/grpc-health-v1.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));

const stubs: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  'cri-runtime-v1': cri,
  'csi-v1': csi,
  'deviceplugin-v1beta1': devicePlugin,
  'dra-health-v1alpha1': draHealth,
  'dra-v1': dra,
  'grpc-health-v1': grpcHealth,
  'pluginregistration-v1': pluginRegistration,
  'podresources-v1': podResources,
};

/** kind, owner, name, number, type, label; see test/wire/README.md. */
type Row = readonly [string, string, string, string, string, string];

function table(api: string): Row[] {
  const [, ...rows] = readFileSync(join(root, 'test/wire', `${api}.tsv`), 'utf8')
    .trimEnd()
    .split('\n');
  return rows.map((row) => {
    const [kind = '', owner = '', name = '', number = '', type = '', label = ''] = row.split('\t');
    return [kind, owner, name, number, type, label];
  });
}

/** Compiles a folder of protos, well-known imports included. */
function compile(folder: string): FileDescriptorSet {
  const scratch = mkdtempSync(join(tmpdir(), 'kubelet-ts-buf-'));
  try {
    const out = join(scratch, 'set.binpb');
    const buf = join(root, 'node_modules/@bufbuild/buf/bin/buf');
    const env = { ...process.env, BUF_CACHE_DIR: join(scratch, 'cache') };
    execFileSync(process.execPath, [buf, 'build', folder, '--as-file-descriptor-set', '-o', out], { env, stdio: ['ignore', 'ignore', 'inherit'], timeout: 60_000 });
    return fromBinary(FileDescriptorSetSchema, readFileSync(out));
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

function fileOf(set: FileDescriptorSet, api: string): FileDescriptorProto {
  const file = set.file.find(({ name }) => name === `${api}.proto`);
  if (file === undefined) throw new Error(`proto/${api}.proto is missing`);
  return file;
}

/** `.package.Name` of a descriptor as the tables write it. */
function fullName(typeName: string): string {
  return typeName.replace(/^\./, '');
}

function typeOf(field: FieldDescriptorProto): string {
  if (field.type === FieldDescriptorProto_Type.MESSAGE) return `message:${fullName(field.typeName)}`;
  if (field.type === FieldDescriptorProto_Type.ENUM) return `enum:${fullName(field.typeName)}`;
  return FieldDescriptorProto_Type[field.type].toLowerCase();
}

function fieldRow(field: FieldDescriptorProto, message: DescriptorProto, owner: string): Row {
  const row = (type: string, label: string): Row => ['field', owner, field.name, String(field.number), type, label];
  const entry = message.nestedType.find((nested) => nested.options?.mapEntry === true && field.typeName === `.${owner}.${nested.name}`);
  if (entry !== undefined) return row('map', `map<${entry.field.map(typeOf).join(',')}>`);
  if (field.label === FieldDescriptorProto_Label.REPEATED) return row(typeOf(field), 'repeated');
  if (field.proto3Optional) return row(typeOf(field), 'optional');
  const group = Object.hasOwn(field, 'oneofIndex') ? message.oneofDecl[field.oneofIndex] : undefined;
  return row(typeOf(field), group === undefined ? 'single' : `oneof:${group.name}`);
}

function enumRows(declared: EnumDescriptorProto, scope: string): Row[] {
  return declared.value.map(({ name, number }): Row => ['enum', `${scope}.${declared.name}`, name, String(number), '', '']);
}

function messageRows(message: DescriptorProto, scope: string): Row[] {
  const owner = `${scope}.${message.name}`;
  const own = message.field.map((field) => fieldRow(field, message, owner));
  const empty: Row[] = own.length === 0 ? [['message', owner, '', '', '', '']] : [];
  const nested = message.nestedType.filter((inner) => inner.options?.mapEntry !== true).flatMap((inner) => messageRows(inner, owner));
  return [...empty, ...own, ...nested, ...message.enumType.flatMap((inner) => enumRows(inner, owner))];
}

function protoRows(file: FileDescriptorProto): Row[] {
  const scope = file.package;
  const methods = file.service.flatMap((service) =>
    service.method.map((method): Row => {
      const kind = `${method.clientStreaming ? 'client-' : ''}${method.serverStreaming ? 'server-' : ''}`;
      return ['rpc', `${scope}.${service.name}`, method.name, kind === '' ? 'unary' : `${kind}stream`, fullName(method.inputType), fullName(method.outputType)];
    }),
  );
  return [...methods, ...file.enumType.flatMap((declared) => enumRows(declared, scope)), ...file.messageType.flatMap((message) => messageRows(message, scope))];
}

/** Rows as sorted text, so that order does not count and a row that is there twice does. */
function lines(rows: readonly Row[]): string[] {
  return rows.map((row) => row.join('\t')).sort();
}

/** Rows of the table that the protos do not have. */
function lost(api: string, set: FileDescriptorSet): Row[] {
  const present = new Set(lines(protoRows(fileOf(set, api))));
  return table(api).filter((row) => !present.has(row.join('\t')));
}

const committed = compile(join(root, 'proto'));
const apis = Object.keys(stubs);

t.test('every table has its proto, its stubs, and nothing more', async (t) => {
  const names = (folder: string, suffix: string) =>
    readdirSync(join(root, folder))
      .filter((name) => name.endsWith(suffix))
      .map((name) => name.slice(0, -suffix.length))
      .sort();
  t.same(names('test/wire', '.tsv'), apis);
  t.same(names('proto', '.proto'), apis);
});

t.test('protos equal tables, both ways', async (t) => {
  for (const api of apis) {
    const rows = table(api);
    t.ok(rows.length > 5, `${api}: the table has rows`);
    const keys = rows.map(([kind, owner, name]) => `${kind} ${owner} ${name}`);
    t.equal(new Set(keys).size, keys.length, `${api}: the table says each thing once`);
    t.same(lines(protoRows(fileOf(committed, api))), lines(rows), `${api}: ${rows.length} rows`);
    t.equal(fileOf(committed, api).syntax, 'proto3', `${api}: proto3`);
  }
});

// Each alteration hits every place of its kind at once; every row concerned must then be reported, and none else.
const isField = ([kind]: Row) => kind === 'field';
const isNamed = (row: Row) => isField(row) || (row[0] === 'enum' && row[3] !== '0'); // proto3 wants a 0 first, so it stays
const alterations: readonly { readonly name: string; readonly alter: (text: string) => string; readonly hits: (row: Row) => boolean }[] = [
  { name: 'numbers', alter: (text) => text.replace(/ = ([1-9]\d*);/g, (_, number: string) => ` = ${Number(number) + 1000};`), hits: isNamed },
  { name: 'names', alter: (text) => text.replace(/ (\w+) = ([1-9]\d*);/g, ' $1_x = $2;'), hits: isNamed },
  { name: 'scalar types', alter: (text) => text.replace(/^( +(?:repeated |optional )?)int64 /gm, '$1sint64 '), hits: (row) => row[4] === 'int64' },
  { name: 'map values', alter: (text) => text.replaceAll('map<string, string>', 'map<string, bytes>'), hits: (row) => row[5] === 'map<string,string>' },
  { name: 'repeated', alter: (text) => text.replace(/^( +)repeated /gm, '$1'), hits: (row) => row[5] === 'repeated' },
  { name: 'optional', alter: (text) => text.replace(/^( +)optional /gm, '$1'), hits: (row) => row[5] === 'optional' },
  { name: 'oneofs', alter: (text) => text.replace(/^( +oneof \w+) \{/gm, '$1_x {'), hits: (row) => row[5].startsWith('oneof:') },
  { name: 'streams', alter: (text) => text.replaceAll('(stream ', '('), hits: (row) => row[3] === 'server-stream' },
  { name: 'methods', alter: (text) => text.replace(/^( +rpc \w+)\(/gm, '$1X('), hits: (row) => row[0] === 'rpc' },
];

t.test('the comparison sees each slip that a proto could have', async (t) => {
  for (const { name, alter, hits } of alterations) {
    const folder = mkdtempSync(join(tmpdir(), 'kubelet-ts-proto-'));
    try {
      cpSync(join(root, 'proto'), folder, { recursive: true });
      for (const api of apis) {
        const path = join(folder, `${api}.proto`);
        writeFileSync(path, alter(readFileSync(path, 'utf8')));
      }
      const altered = compile(folder);
      const expected = apis.flatMap((api) => table(api).filter(hits));
      t.ok(expected.length > 0, `${name}: there is something to alter`);
      t.same(lines(apis.flatMap((api) => lost(api, altered))), lines(expected), `${name}: ${expected.length} rows are reported`);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
});

t.test('the committed stubs are what the generator makes', async (t) => {
  t.doesNotThrow(() => execFileSync(process.execPath, [join(root, 'scripts/gen.mjs'), '--check'], { stdio: ['ignore', 'inherit', 'inherit'], timeout: 120_000 }));
});

t.test('stub services have the paths and streams of the tables', async (t) => {
  type Definitions = Readonly<Record<string, { readonly path: string; readonly requestStream: boolean; readonly responseStream: boolean }>>;
  for (const api of apis) {
    for (const [, owner, method, kind] of table(api).filter(([kind]) => kind === 'rpc')) {
      const service = stubs[api]?.[`${owner.slice(owner.lastIndexOf('.') + 1)}Service`] as Definitions | undefined;
      const definition = service?.[method.charAt(0).toLowerCase() + method.slice(1)];
      t.match(definition, { path: `/${owner}/${method}`, requestStream: kind === 'client-stream', responseStream: kind === 'server-stream' }, `${owner}/${method}`);
    }
  }
});

/** A value that differs from one field number to the next, so that two fields can't trade places unseen. */
function sampleScalar(type: ScalarType, salt: number): ScalarValue {
  switch (type) {
    case ScalarType.STRING:
      return `text ${salt} \u00e9\u6f22\u{1f980}`;
    case ScalarType.BYTES:
      return Uint8Array.of(0, 0xff, salt);
    case ScalarType.BOOL:
      return true;
    case ScalarType.DOUBLE:
      return salt + 0.25;
    case ScalarType.INT64:
      return -1_770_000_000_123_456_789n - BigInt(salt); // beyond what a double holds
    case ScalarType.UINT64:
      return 18_446_744_073_709_551_615n - BigInt(salt);
    case ScalarType.INT32:
      return -2_147_483_648 + salt;
    case ScalarType.UINT32:
      return 4_294_967_295 - salt;
    default:
      throw new Error(`no sample for ${ScalarType[type]}: the tables did not use it so far`);
  }
}

function setSample(target: ReflectMessage, field: DescField): void {
  if (field.fieldKind === 'scalar') target.set(field, sampleScalar(field.scalar, field.number));
  else if (field.fieldKind === 'enum') target.set(field, field.enum.values.at(-1)?.number ?? 0);
  else if (field.fieldKind === 'message') target.set(field, sample(field.message));
  else if (field.fieldKind === 'list') {
    if (field.listKind === 'scalar') for (const extra of [0, 1]) target.get(field).add(sampleScalar(field.scalar, field.number + extra));
    else if (field.listKind === 'message') for (const choice of [0, 1]) target.get(field).add(sample(field.message, choice));
    else throw new Error('the tables have no list of enums so far');
  } else if (field.mapKind === 'scalar') target.get(field).set('key', sampleScalar(field.scalar, field.number));
  else if (field.mapKind === 'message') target.get(field).set('key', sample(field.message));
  else throw new Error('the tables have no map of enums so far');
}

/** A message with every field set; of a oneof the member with this index, as far as it has so many. */
function sample(desc: DescMessage, choice = 0): ReflectMessage {
  const message = reflect(desc, create(desc));
  const chosen = (group: DescOneof) => group.fields[Math.min(choice, group.fields.length - 1)];
  for (const field of desc.fields) if (field.oneof === undefined || chosen(field.oneof) === field) setSample(message, field);
  return message;
}

t.test('stubs read and write every field as an independent implementation does', async (t) => {
  // The other implementation is driven by the descriptors, which equal the tables.
  type Stub = { decode(bytes: Uint8Array): unknown; encode(message: unknown): { finish(): Uint8Array } };
  const registry = createFileRegistry(committed);
  const inOrder = (desc: DescMessage, bytes: Uint8Array) => Buffer.from(toBinary(desc, fromBinary(desc, bytes))).toString('hex');
  for (const api of apis) {
    const scope = fileOf(committed, api).package;
    const names = new Set(table(api).flatMap(([kind, owner]) => (kind === 'field' || kind === 'message' ? [owner] : [])));
    const wrong: string[] = [];
    for (const name of names) {
      const desc = registry.getMessage(name);
      const stub = stubs[api]?.[name.slice(scope.length + 1).replaceAll('.', '_')] as Stub | undefined;
      if (desc === undefined || stub === undefined) throw new Error(`${name} is missing`);
      for (const choice of [0, 1]) {
        const bytes = toBinary(desc, sample(desc, choice).message);
        if (inOrder(desc, stub.encode(stub.decode(bytes)).finish()) !== inOrder(desc, bytes)) wrong.push(name);
      }
    }
    t.same(wrong, [], `${api}: ${names.size} messages`);
  }
});
