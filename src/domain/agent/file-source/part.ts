// Pods of the manifest path.
import { fileSourceAddress, fileSourceOperations, fileSourceReplied, manifestsChanged, runFileSource } from '../../pod-sources/file-source.js';
import { type AgentPart, repliesTo } from '../part.js';
import { sourceContext } from '../pod-config/pod-sets.js';
import type { FileSourceContext } from './slice.js';

function runFileSourceOf(context: FileSourceContext): void {
  const { fileSource } = context.state;
  if (fileSource !== null) runFileSource(fileSource, sourceContext(context, 'file'));
}

/** `pkg/kubelet/config/file.go`: pods of the manifest path. */
export const fileSource: AgentPart<'fileSource'> = {
  name: 'fileSource',
  start: runFileSourceOf,
  events: {
    'manifests-changed': (context, { events }) => {
      const { fileSource } = context.state;
      if (fileSource !== null) manifestsChanged(fileSource, events, sourceContext(context, 'file'));
    },
  },
  machines: {
    [fileSourceAddress.machine]: {
      replies: repliesTo(fileSourceOperations, (context, _key, answer) => {
        const { fileSource } = context.state;
        if (fileSource !== null) fileSourceReplied(fileSource, answer, sourceContext(context, 'file'));
      }),
      woken: runFileSourceOf,
    },
  },
};
