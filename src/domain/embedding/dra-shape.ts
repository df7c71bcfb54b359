// Validates an embedder's settings of resource claims: the previous agent's state file must be well-formed.
import { startDraManager } from '../dra-manager/dra-state.js';
import { nullable, recordOf, type Shape, text } from './shape.js';

const fieldsShape = recordOf({ checkpoint: nullable(text) });

export const draShape: Shape = (value, path) => {
  const problem = fieldsShape(value, path);
  if (problem !== null) return problem;
  const started = startDraManager((value as { readonly checkpoint: string | null }).checkpoint);
  return started.ok ? null : `${path}.checkpoint: ${started.error}`;
};
