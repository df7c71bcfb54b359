// The embeddable world: virtual time and the models of what surrounds a node. No Node module and no package below here.
export { type ContainerScript, parseScript, type ScriptParse, scriptAnnotationPrefix } from './runtime/container-script.js';
export { imageMountpoint } from './runtime/image-store.js';
export type { ScriptRule, ScriptSelector, SimImageEntry, SimLatencies, SimRuntimeOptions } from './runtime/runtime-options.js';
export { emptyRuntimeState, type SimContainer, type SimRuntimeEvent, type SimRuntimeState, type SimSandbox } from './runtime/runtime-state.js';
export {
  type RuntimeOperationName,
  type RuntimeOperations,
  type RuntimePorts,
  SimContainerRuntime,
} from './runtime/sim-container-runtime.js';
