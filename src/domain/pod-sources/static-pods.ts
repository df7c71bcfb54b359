// The sources of static pods as one machine: the manifest path and the URL, if configured.
// It is separate from the agent: its pods go to the agent as complete lists (`podSet` events), which is all the agent records and replays.
import type { Pod } from '../../ports/model/pod.js';
import type { ManifestOperations, ManifestsChanged } from '../../ports/outbound/manifests.js';
import { assert } from '../kernel/assert.js';
import type { Machine, Reply, Turn } from '../kernel/machine.js';
import { type FileSourceSettings, type FileSourceState, fileSourceAddress, fileSourceReplied, manifestsChanged, newFileSource, runFileSource } from './file-source.js';
import type { PodSource } from './pod-config.js';
import { newUrlSource, runUrlSource, type UrlSourceSettings, type UrlSourceState, urlSourceAddress, urlSourceReplied } from './url-source.js';

export interface StaticPodsState {
  readonly file: FileSourceState | null;
  readonly url: UrlSourceState | null;
}

/** `start`, once, before anything else. */
export type StaticPodsEvent = { readonly type: 'start' } | ManifestsChanged;

/** The complete list of a source's pods, as the agent takes it. */
export interface StaticPodSet {
  readonly type: 'podSet';
  readonly source: PodSource;
  readonly pods: readonly Pod[];
}

/** Null for a source that isn't configured; such a source must not be registered with the agent either. */
export function newStaticPods(file: FileSourceSettings | null, url: UrlSourceSettings | null): StaticPodsState {
  return { file: file === null ? null : newFileSource(file), url: url === null ? null : newUrlSource(url) };
}

/** `emit` is called within a step, never more than once a source and step. */
export function staticPodsMachine(emit: (set: StaticPodSet) => void): Machine<StaticPodsState, StaticPodsEvent, ManifestOperations> {
  const contextOf = (turn: Turn<ManifestOperations>, source: PodSource) => ({ turn, emit: (pods: readonly Pod[]) => emit({ type: 'podSet', source, pods }) });
  return {
    step(state, event, turn): void {
      const { file, url } = state;
      switch (event.type) {
        case 'start':
          if (file !== null) runFileSource(file, contextOf(turn, 'file'));
          if (url !== null) runUrlSource(url, contextOf(turn, 'http'));
          return;
        case 'manifests-changed':
          if (file !== null) manifestsChanged(file, event.events, contextOf(turn, 'file'));
          return;
        case 'wake':
          if (event.address.machine === fileSourceAddress.machine && file !== null) runFileSource(file, contextOf(turn, 'file'));
          else if (event.address.machine === urlSourceAddress.machine && url !== null) runUrlSource(url, contextOf(turn, 'http'));
          else assert(false, `an unknown address was woken: ${event.address.machine}`);
          return;
        case 'reply':
          replied(state, event, turn);
      }
    },
  };

  function replied({ file, url }: StaticPodsState, reply: Reply<ManifestOperations>, turn: Turn<ManifestOperations>): void {
    if (reply.op === 'manifestUrl.fetch') {
      assert(url !== null, 'an answer for a URL source that is not configured');
      urlSourceReplied(url, reply.outcome, contextOf(turn, 'http'));
      return;
    }
    assert(file !== null, 'an answer for a file source that is not configured');
    fileSourceReplied(file, reply, contextOf(turn, 'file'));
  }
}
