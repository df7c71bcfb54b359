// /debug/pprof/: profiles of this process in the format of pprof. Of Go's profiles those that a Node process has: CPU time and the heap.
import { Readable } from 'node:stream';
import { plainText, strictText } from '../http-answer.js';
import type { KubeletAnswer, KubeletQuestion, KubeletRoute } from '../kubelet-routes.js';

export type TakeProfile = (seconds: number, signal: AbortSignal) => Promise<Uint8Array>;

export interface ProfileSources {
  readonly cpu: TakeProfile;
  readonly heap: TakeProfile;
  readonly commandLine: readonly string[];
}

const cpuSeconds = 30;
/** The sampling covers allocations during this time. */
const heapSeconds = 5;
const secondsMax = 300;

export function profileRoute(sources: ProfileSources): KubeletRoute {
  return { pattern: '/debug/pprof/', methods: ['GET'], produces: null, answer: (question) => answer(sources, question) };
}

async function answer({ cpu, heap, commandLine }: ProfileSources, question: KubeletQuestion): Promise<KubeletAnswer | null> {
  const name = question.elements.slice(2).join('/');
  switch (name) {
    case '':
      return { status: 200, headers: { 'Content-Type': 'text/html; charset=utf-8', 'X-Content-Type-Options': 'nosniff' }, body: page };
    case 'cmdline':
      return strictText(200, commandLine.join('\0'));
    case 'profile':
      return taken(cpu, 'CPU profiling', name, secondsOf(question.query, cpuSeconds), question.signal);
    case 'heap':
      return taken(heap, 'heap profiling', name, secondsOf(question.query, heapSeconds), question.signal);
    default:
      return plainText(404, 'Unknown profile\n', { 'X-Content-Type-Options': 'nosniff', 'X-Go-Pprof': '1' });
  }
}

async function taken(take: TakeProfile, what: string, name: string, seconds: number, signal: AbortSignal): Promise<KubeletAnswer> {
  try {
    const bytes = await take(seconds, signal);
    const headers = { 'Content-Type': 'application/octet-stream', 'Content-Disposition': `attachment; filename="${name}"`, 'X-Content-Type-Options': 'nosniff' };
    return { kind: 'stream', status: 200, headers, chunks: Readable.from([bytes]) };
  } catch (error) {
    return plainText(500, `Could not enable ${what}: ${error instanceof Error ? error.message : String(error)}\n`, { 'X-Content-Type-Options': 'nosniff', 'X-Go-Pprof': '1' });
  }
}

/** Anything but a number above 0 counts as absent. */
function secondsOf(query: URLSearchParams, otherwise: number): number {
  const seconds = Number(query.get('seconds') ?? '');
  return Number.isFinite(seconds) && seconds > 0 ? Math.min(seconds, secondsMax) : otherwise;
}

const page = `<!doctype html>
<title>/debug/pprof/</title>
<pre>
<a href="cmdline">cmdline</a>
<a href="heap">heap</a>
<a href="profile">profile</a>
</pre>
`;
