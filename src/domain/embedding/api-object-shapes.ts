// The shapes of the API objects that the entry's functions take: pods by the schema that manifests are decoded by, nodes by hand.
// Invariant: a valid object is safe to use: no field that is read has another type, and no required one is missing. Unknown fields pass.
import { type FieldType, podSchema } from '../values/api-schema/pod-schema.js';
import { anything, bigInteger, dictionaryOf, expected, flag, integer, isRecord, listOf, quantityInText, recordOf, remembered, type Shape, text } from './shape.js';

/** Required fields of the type. */
const requiredFields: Readonly<Record<string, readonly string[]>> = {
  Pod: ['metadata', 'spec'],
  ObjectMeta: ['name'],
  PodSpec: ['containers'],
  Container: ['name'],
  EphemeralContainer: ['name'],
  Volume: ['name'],
  DownwardAPIVolumeFile: ['path'],
  EnvVar: ['name'],
  ObjectFieldSelector: ['fieldPath'],
  ResourceFieldSelector: ['resource'],
  KeyToPath: ['key', 'path'],
  ServiceAccountTokenProjection: ['path'],
  PodOS: ['name'],
  Sysctl: ['name'],
  NodeSelectorRequirement: ['key', 'operator'],
  LabelSelectorRequirement: ['key', 'operator'],
  ContainerStatus: ['name'],
  PodCondition: ['type', 'status'],
};

const resourceList = dictionaryOf(quantityInText);

export { resourceList as resourceListShape };
export const resourceRequirements = recordOf({}, { requests: resourceList, limits: resourceList });

const mapping = recordOf({ containerName: text, resourceName: text });

/** Fields that manifests don't have, but pods of the API do. */
const apiFields: Readonly<Record<string, Readonly<Record<string, Shape>>>> = {
  PodSpec: { resources: resourceRequirements },
  PodStatus: {
    resources: resourceRequirements,
    allocatedResources: resourceList,
    extendedResourceClaimStatus: recordOf({}, { requestMappings: listOf(mapping) }),
  },
  ContainerStatus: { resources: resourceRequirements, allocatedResources: resourceList, state: stateShape, lastState: stateShape },
};

const terminated = recordOf({ exitCode: integer }, { startedAt: timeShape, finishedAt: timeShape, reason: text, message: text, containerID: text, signal: integer });

function stateShape(value: unknown, path: string): string | null {
  return recordOf({}, { waiting: recordOf({}, { reason: text, message: text }), running: recordOf({}, { startedAt: timeShape }), terminated })(value, path);
}

/** The wire has null for a time that isn't set. */
export function timeShape(value: unknown, path: string): string | null {
  return value === null ? null : text(value, path);
}

function structShape(struct: string): Shape {
  const fields = podSchema.get(struct);
  const required = requiredFields[struct] ?? [];
  const extra = apiFields[struct] ?? {};
  const shapes = [...(fields ?? new Map<string, FieldType>())].filter(([name]) => !Object.hasOwn(extra, name)).map(([name, type]) => [name, fieldShape(type)] as const);
  const all: readonly (readonly [string, Shape])[] = [...shapes, ...Object.entries(extra)];
  return (value, path) => {
    if (!isRecord(value)) return expected(path, 'an object', value);
    for (const [name, shape] of all) {
      const given = value[name];
      if (given === undefined && !required.includes(name)) continue;
      const problem = shape(given, `${path}.${name}`);
      if (problem !== null) return problem;
    }
    return null;
  };
}

const structShapes = new Map<string, Shape>();

/** Made when it is first needed: types of the schema contain each other. */
function sharedStructShape(struct: string): Shape {
  return (value, path) => {
    let shape = structShapes.get(struct);
    if (shape === undefined) {
      shape = structShape(struct);
      structShapes.set(struct, shape);
    }
    return shape(value, path);
  };
}

function fieldShape(type: FieldType): Shape {
  switch (type.kind) {
    case 'struct':
      return sharedStructShape(type.struct);
    case 'list':
      return listOf(fieldShape(type.item));
    case 'map':
      return dictionaryOf(fieldShape(type.item));
    case 'scalar':
      return scalarShapes[type.scalar];
  }
}

const scalarShapes: Readonly<Record<Extract<FieldType, { kind: 'scalar' }>['scalar'], Shape>> = {
  string: text,
  bool: flag,
  int32: integer,
  int64: (value, path) => (typeof value === 'bigint' ? bigInteger(value, path) : integer(value, path)),
  quantity: quantityInText,
  time: timeShape,
  intOrString: (value, path) => (typeof value === 'string' ? null : integer(value, path)),
  any: anything,
};

/** core/v1 Pod. */
export const podShape: Shape = remembered(structShape('Pod'));

export const podsShape: Shape = listOf(podShape);

/** core/v1 PodStatus. */
export const podStatusShape: Shape = sharedStructShape('PodStatus');

/** core/v1 Container, as in a pod's spec. */
export const containerShape: Shape = remembered(structShape('Container'));

/** core/v1 Volume, as in a pod's spec. */
export const volumeShape: Shape = sharedStructShape('Volume');

/** core/v1 Probe. */
export const probeShape: Shape = sharedStructShape('Probe');

export const taintShape: Shape = recordOf({ key: text, effect: text }, { value: text });

export const tolerationShape: Shape = sharedStructShape('Toleration');

export const labelsShape: Shape = dictionaryOf(text);

export const labelSelectorShape: Shape = sharedStructShape('LabelSelector');

/** core/v1 Node, as far as admission reads it. */
export const nodeShape: Shape = remembered(
  recordOf(
    { metadata: recordOf({ name: text }, { labels: labelsShape, annotations: labelsShape }) },
    {
      spec: recordOf({}, { taints: listOf(taintShape) }),
      status: recordOf({}, { allocatable: resourceList, capacity: resourceList, features: recordOf({}, { supplementalGroupsPolicy: flag }) }),
    },
  ),
);
