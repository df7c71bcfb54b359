// Copies of API objects, kept up to date by watches.
import { reflectorMachine } from '../../api-cache/reflector.js';
import { type AgentPart, repliesTo } from '../part.js';
import { apiReplied, apiWoken, beginApiObjects, watchDelivered } from './api-objects.js';

/** The kubelet's informers: copies of objects, kept up to date by watches. */
export const reflectors: AgentPart<'reflectors'> = {
  name: 'reflectors',
  start: beginApiObjects,
  events: { 'api-watch': watchDelivered },
  machines: { [reflectorMachine]: { replies: repliesTo(['apiReader.list', 'apiReader.watch'], apiReplied), woken: apiWoken } },
};
