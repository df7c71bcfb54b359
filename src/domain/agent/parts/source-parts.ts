// Parts that decide which pods there are: their sources, and pods that are set aside. What of them is written down for the agent after this one.
import { type FileSourceContext, fileSourceAddress, fileSourceReplied, manifestsChanged, runFileSource } from '../../pod-sources/file-source.js';
import { mergeSet, type PodSource } from '../../pod-sources/pod-config.js';
import { runUrlSource, type UrlSourceContext, urlSourceAddress, urlSourceReplied } from '../../pod-sources/url-source.js';
import { adopted, releasedSets } from '../adopted-pods.js';
import type { AgentContext } from '../agent-context.js';
import type { AgentEvent } from '../agent-state.js';
import { beginObservedTimes, observedTimesWritten, planObservedTimes } from '../observed-times.js';
import { observedTimesAddress } from '../observed-times-state.js';
import { type AgentPart, repliesTo } from '../part.js';
import { asideInspected, beginSetAside, planSetAsideFile, setAsideWoken, setAsideWritten } from '../set-aside.js';
import { setAsideMachine } from '../set-aside-state.js';
import { deliver, deliverReturned } from '../sync-loop.js';

/** `pkg/kubelet/config`: merges the sets of the sources. */
export const podConfig: AgentPart = { name: 'podConfig', events: { podSet: takePodSet, 'withdraw-pods': withdrawPods } };

function takePodSet(context: AgentContext, { source, pods }: Pick<Extract<AgentEvent, { type: 'podSet' }>, 'source' | 'pods'>): void {
  // An API source sends changes; an empty set withdraws its pods.
  if (source === 'api' && context.state.api !== null) context.state.api.withdrawn = true;
  const run = adopted(context, source, pods);
  if (run === null) return;
  const { deliveries, events } = mergeSet(context.state.config, source, run, context.turn.wall);
  for (const event of events) context.turn.tell('events.record', event);
  deliver(context, deliveries);
}

function withdrawPods(context: AgentContext): void {
  const { state } = context;
  state.withdrawn = true;
  if (state.fileSource !== null) takePodSet(context, { source: 'file', pods: [] });
  if (state.urlSource !== null) takePodSet(context, { source: 'http', pods: [] });
  if (state.api !== null) takePodSet(context, { source: 'api', pods: [] });
}

/** The interface of the agent to one of its sources. */
function sourceContext(context: AgentContext, source: PodSource): FileSourceContext & UrlSourceContext {
  return { turn: context.turn, emit: (pods) => takePodSet(context, { source, pods: context.state.withdrawn ? [] : pods }) };
}

function runFileSourceOf(context: AgentContext): void {
  const { fileSource } = context.state;
  if (fileSource !== null) runFileSource(fileSource, sourceContext(context, 'file'));
}

function runUrlSourceOf(context: AgentContext): void {
  const { urlSource } = context.state;
  if (urlSource !== null) runUrlSource(urlSource, sourceContext(context, 'http'));
}

/** `pkg/kubelet/config/file.go`: pods of the manifest path. */
export const fileSource: AgentPart = {
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
      replies: repliesTo(['manifestDirectory.watch', 'manifestDirectory.list', 'manifestDirectory.readFile'], (context, _key, answer) => {
        const { fileSource } = context.state;
        if (fileSource !== null) fileSourceReplied(fileSource, answer, sourceContext(context, 'file'));
      }),
      woken: runFileSourceOf,
    },
  },
};

/** `pkg/kubelet/config/http.go`: pods of the manifest URL. */
export const urlSource: AgentPart = {
  name: 'urlSource',
  start: runUrlSourceOf,
  machines: {
    [urlSourceAddress.machine]: {
      replies: {
        'manifestUrl.fetch': (context, _key, { outcome }) => {
          const { urlSource } = context.state;
          if (urlSource !== null) urlSourceReplied(urlSource, outcome, sourceContext(context, 'http'));
        },
      },
      woken: runUrlSourceOf,
    },
  },
};

/** Sets that waited until it was known what runs. */
export function deliverReleasedSets(context: AgentContext): void {
  for (const [source, pods] of releasedSets(context)) takePodSet(context, { source, pods });
}

/** Pods whose inputs ended the agent. The Go kubelet has none: see docs/differences.md. */
export const setAside: AgentPart = {
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
export const setAsideFile: AgentPart = { name: 'setAsideFile', settle: planSetAsideFile };

/** When pods and containers started and ended, for the agent after this one. The Go kubelet has none: see docs/differences.md. */
export const observedTimes: AgentPart = {
  name: 'observedTimes',
  start: beginObservedTimes,
  settle: planObservedTimes,
  machines: {
    [observedTimesAddress.machine]: {
      replies: { 'stateFiles.write': (context, _key, answer) => observedTimesWritten(context, answer) },
      // Planned at the end of the step.
      woken: () => {},
    },
  },
};
