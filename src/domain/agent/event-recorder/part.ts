// Writes events to the API.
import { eventOperations, eventsAddress } from '../../events/event-recorder.js';
import { type AgentPart, repliesTo } from '../part.js';
import { recorderReplied, recorderWoken } from './event-recording.js';

/** `client-go/tools/record`: writes what the parts record. */
export const eventRecorder: AgentPart<'eventRecorder'> = {
  name: 'eventRecorder',
  machines: {
    [eventsAddress.machine]: { replies: repliesTo(eventOperations, (context, _key, answer) => recorderReplied(context, answer)), woken: recorderWoken },
  },
};
