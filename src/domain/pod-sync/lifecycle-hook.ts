// Lifecycle hooks: a handler's request, and the result of its end. Only the run that began a hook waits for it; an abandoned
// hook ends by itself.
//
//   begin -> asked -> answered (a hook over TLS that meets plain HTTP is repeated once without TLS)
//         -> sleeps -> its time has passed
//         -> failed: no request is possible
//
// Invariant: a hook's output goes to the log and to the container's waiting message, never to an event: it may hold secrets.
import type { LifecycleHandler } from '../../ports/model/container.js';
import type { Pod } from '../../ports/model/pod.js';
import type { AgentOperations } from '../../ports/outbound/outbound-ports.js';
import type { Address, ReplyTo } from '../kernel/machine.js';
import { userAgentVersion } from '../probes/ask-probe.js';
import { httpProbeRequest } from '../probes/http-probe.js';
import { podReferenceTextOf } from '../values/pod-references.js';
import { microsPerSecond } from '../values/time.js';
import { containerOf } from './container-of.js';
import type { LifecycleHook } from './lifecycle-hook-state.js';
import type { SyncContext } from './sync-context.js';

/** Reason of the event for a hook over HTTPS that was answered over HTTP. */
export const httpFallbackReason = 'LifecycleHTTPFallback';

export type BegunHook = { readonly kind: 'begun'; readonly hook: LifecycleHook } | { readonly kind: 'failed'; readonly message: string };
export type HookEnd = { readonly kind: 'succeeded' | 'again' } | { readonly kind: 'failed'; readonly message: string };

export interface HookRequest {
  readonly pod: Pod;
  readonly containerName: string;
  readonly containerId: string;
  readonly kind: 'postStart' | 'preStop';
  readonly handler: LifecycleHandler;
  /** '' if unknown. */
  readonly podIp: string;
}

export const hookMachine = 'hook';

/** The address for the answers of a pod's hooks. */
export function hookAddress(uid: string): Address {
  return { machine: hookMachine, key: uid };
}

export function hookSlot(kind: HookRequest['kind'], containerId: string): string {
  return `${kind}/${containerId}`;
}

/** Begins a hook. An abandoned hook of the same container that is still in flight is awaited instead. */
export function beginHook(request: HookRequest, context: SyncContext): BegunHook {
  const { pod, containerName, containerId, kind, handler, podIp } = request;
  const { turn } = context;
  const address = hookAddress(pod.metadata.uid ?? '');
  const slot = hookSlot(kind, containerId);
  const hook = { pod, containerName, handler, slot, sleepsUntil: null, http: null };
  if (handler.exec !== undefined) {
    if (!turn.inFlight(address, slot)) turn.ask('containers.execSync', address, slot, { containerId, command: handler.exec.command ?? [], timeoutSeconds: 0 }, null);
    return { kind: 'begun', hook };
  }
  if (handler.httpGet !== undefined) {
    const ports = containerOf(pod, containerName)?.ports ?? [];
    const built = httpProbeRequest(handler.httpGet, ports, podIp, userAgentVersion, 'kube-lifecycle');
    const hasHost = podIp !== '' || (handler.httpGet.host ?? '') !== '';
    if (!built.ok || !hasHost) return { kind: 'failed', message: failureText(hook, built.ok ? 'failed to find networking container: no address' : built.error, '') };
    const http = { url: built.request.url, headers: built.request.headers, timeoutMicros: null };
    // The request in flight may need to be repeated without TLS, too.
    if (!turn.inFlight(address, slot)) turn.ask('probing.http', address, slot, http, null);
    return { kind: 'begun', hook: { ...hook, http } };
  }
  if (handler.sleep !== undefined) return { kind: 'begun', hook: { ...hook, sleepsUntil: turn.now + (handler.sleep.seconds ?? 0) * microsPerSecond } };
  return { kind: 'failed', message: 'Cannot run handler: invalid handler: no exec, httpGet or sleep' };
}

export const hookOperations = ['containers.execSync', 'probing.http'] as const;
export type HookReply = ReplyTo<AgentOperations, (typeof hookOperations)[number]>;

/** Takes the answer to a hook. `again`: a second request was sent. */
export function hookAnswered(hook: LifecycleHook, reply: HookReply, context: SyncContext): HookEnd {
  if (!reply.outcome.ok) return { kind: 'failed', message: failureText(hook, reply.outcome.error.message, '') };
  if (reply.op === 'containers.execSync') {
    const { exitCode, stdout, stderr } = reply.outcome.value;
    if (exitCode === 0) return { kind: 'succeeded' };
    const command = (hook.handler.exec?.command ?? []).join(' ');
    return { kind: 'failed', message: failureText(hook, `command '${command}' exited with ${exitCode}: ${stderr}`, stdout + stderr) };
  }
  const answer = reply.outcome.value;
  const withoutTls = hook.http?.url.startsWith('http:') === true && hook.handler.httpGet?.scheme?.toLowerCase() === 'https';
  if (answer.kind === 'answered') {
    // Any answer counts as reached.
    if (withoutTls) context.event(hook.pod, null, 'Warning', httpFallbackReason, fallbackText(hook.http?.url ?? ''));
    return { kind: 'succeeded' };
  }
  if (!answer.plainHttp || hook.http === null || withoutTls) return { kind: 'failed', message: failureText(hook, answer.error, '') };
  const { Authorization: _, ...headers } = hook.http.headers;
  hook.http = { url: hook.http.url.replace(/^https:/, 'http:'), headers, timeoutMicros: null };
  context.turn.ask('probing.http', hookAddress(hook.pod.metadata.uid ?? ''), hook.slot, hook.http, null);
  return { kind: 'again' };
}

function fallbackText(url: string): string {
  const host = /^http:\/\/([^/?#]*)/.exec(url)?.[1] ?? '';
  return `request to HTTPS lifecycle hook ${host} got HTTP response, retry with HTTP succeeded`;
}

function failureText({ pod, containerName, handler }: LifecycleHook, error: string, output: string): string {
  const of = `for Container ${JSON.stringify(containerName)} in Pod ${JSON.stringify(podReferenceTextOf(pod))} failed - error: ${error}`;
  if (handler.exec !== undefined) return `Exec lifecycle hook ([${(handler.exec.command ?? []).join(' ')}]) ${of}, message: ${JSON.stringify(output)}`;
  if (handler.httpGet !== undefined) return `HTTP lifecycle hook (${handler.httpGet.path ?? ''}) ${of}`;
  return `Sleep lifecycle hook (${handler.sleep?.seconds ?? 0}) ${of}`;
}
