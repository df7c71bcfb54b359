// Validates an embedder's settings of resource managers: the types, and that policies, machine and state files are consistent.
import { type AlignmentSettings, startAlignment } from '../agent/resource-managers/alignment-state.js';
import { resourceListShape } from './api-object-shapes.js';
import { cpuSetShape } from './cpu-sets.js';
import { dictionaryOf, flag, listOf, mapOf, measured, nullable, recordOf, type Shape, text, wholeNumber } from './shape.js';

const id = wholeNumber(0, 65_535);
const coreShape = recordOf({ numaNode: id, socket: id, uncoreCache: nullable(id), threads: listOf(id) });
const hugePagesShape = recordOf({ pageSizeKiB: wholeNumber(1, 2 ** 40), numPages: wholeNumber(0, 2 ** 40) });
const numaNodeShape = recordOf({ id, memoryBytes: measured, hugePages: listOf(hugePagesShape), distances: nullable(listOf(measured)) });
const fieldsShape = recordOf({
  ...{ cpuManagerPolicy: text, cpuManagerPolicyOptions: dictionaryOf(text), cpuOptionGates: recordOf({ alpha: flag, beta: flag }), liftsQuota: flag },
  ...{ cpuManagerReconcilePeriod: wholeNumber(1, Number.MAX_SAFE_INTEGER), memoryManagerPolicy: text, reservedSystemCpus: cpuSetShape },
  ...{ topologyManagerPolicy: text, topologyManagerScope: text, topologyManagerPolicyOptions: dictionaryOf(text), reservation: resourceListShape },
  reservedMemory: listOf(recordOf({ numaNode: id, limits: resourceListShape })),
  machine: recordOf({ cores: listOf(coreShape), numaNodes: listOf(numaNodeShape) }),
  ...{ stateDirectory: text, stateFiles: recordOf({ cpu: nullable(text), memory: nullable(text) }) },
  containers: mapOf(recordOf({ podUid: text, containerName: text })),
});

export const alignmentShape: Shape = (value, path) => {
  const problem = fieldsShape(value, path);
  if (problem !== null) return problem;
  const started = startAlignment(value as AlignmentSettings);
  return started.ok ? null : `${path}: ${started.error}`;
};
