// Pods of the manifest URL.
import { runUrlSource, urlSourceAddress, urlSourceReplied } from '../../pod-sources/url-source.js';
import type { AgentPart } from '../part.js';
import { sourceContext } from '../pod-config/pod-sets.js';
import type { UrlSourceContext } from './slice.js';

function runUrlSourceOf(context: UrlSourceContext): void {
  const { urlSource } = context.state;
  if (urlSource !== null) runUrlSource(urlSource, sourceContext(context, 'http'));
}

/** `pkg/kubelet/config/http.go`: pods of the manifest URL. */
export const urlSource: AgentPart<'urlSource'> = {
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
