// When pods and containers started and ended, for the agent after this one.
import { type AgentPart, whenSettled } from '../part.js';
import { beginObservedTimes, observedTimesWritten, planObservedTimes } from './observed-times.js';
import { observedTimesAddress } from './observed-times-state.js';

/** When pods and containers started and ended, for the agent after this one. The Go kubelet has none: see docs/differences.md. */
export const observedTimes: AgentPart<'observedTimes'> = {
  name: 'observedTimes',
  start: beginObservedTimes,
  settle: planObservedTimes,
  machines: {
    [observedTimesAddress.machine]: {
      replies: { 'stateFiles.write': (context, _key, answer) => observedTimesWritten(context, answer) },
      woken: whenSettled,
    },
  },
};
