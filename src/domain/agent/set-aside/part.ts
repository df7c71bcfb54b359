// Pods whose inputs ended the agent: their containers run untouched, and nothing else is done for them.
import type { AgentPart } from '../part.js';
import { deliverReturned } from '../sync-loop/sync-loop.js';
import { asideInspected, beginSetAside, planSetAsideFile, setAsideWoken, setAsideWritten } from './set-aside.js';
import { setAsideMachine } from './set-aside-state.js';

/** Pods whose inputs ended the agent. The Go kubelet has none: see docs/differences.md. */
export const setAside: AgentPart<'setAside'> = {
  name: 'setAside',
  start: beginSetAside,
  settle: deliverReturned,
  machines: {
    [setAsideMachine]: {
      replies: { 'runtime.inspectPod': asideInspected, 'stateFiles.write': (context, _key, answer) => setAsideWritten(context, answer) },
      woken: setAsideWoken,
    },
  },
};

/** Its file has what the whole step has set aside. */
export const setAsideFile: AgentPart<'setAside'> = { name: 'setAsideFile', settle: planSetAsideFile };
