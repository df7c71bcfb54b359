// What an embedder gives of claims for devices: the state file of the agent before, which has to be one.
import { startDraManager } from '../dra-manager/dra-state.js';
import { nullable, recordOf, type Shape, text } from './shape.js';

const fieldsShape = recordOf({ checkpoint: nullable(text) });

export const draShape: Shape = (value, path) => {
  const problem = fieldsShape(value, path);
  if (problem !== null) return problem;
  const started = startDraManager((value as { readonly checkpoint: string | null }).checkpoint);
  return started.ok ? null : `${path}.checkpoint: ${started.error}`;
};
