// Lifecycle hooks: what is asked, and what an end means; above all the hook over TLS that meets plain HTTP.
import t from 'tap';
import { beginHook, type HookReply, hookAnswered } from '../../src/domain/pod-sync/lifecycle-hook.js';
import type { SyncContext } from '../../src/domain/pod-sync/sync-context.js';
import type { LifecycleHandler } from '../../src/ports/model/container.js';
import type { Pod } from '../../src/ports/model/pod.js';
import type { HttpGetAnswer } from '../../src/ports/outbound/probing.js';

const pod: Pod = { metadata: { name: 'a', namespace: 'n', uid: 'u' }, spec: { containers: [{ name: 'c', ports: [{ name: 'web', containerPort: 8443 }] }] } };

/** A context that only notes what it is asked for. */
function noting(inFlight = false): { readonly context: SyncContext; readonly asked: unknown[]; readonly events: unknown[] } {
  const asked: unknown[] = [];
  const events: unknown[] = [];
  const turn = {
    now: 1_000_000,
    inFlight: () => inFlight,
    ask: (op: string, _address: object, slot: string, request: object, timeout: unknown) => asked.push([op, slot, request, timeout]),
  };
  const event = (_pod: Pod, container: string | null, ...rest: string[]): unknown => events.push([container, ...rest]);
  return { context: { turn, event } as unknown as SyncContext, asked, events };
}

function begun(handler: LifecycleHandler, podIp = '10.0.0.9', inFlight = false) {
  const noted = noting(inFlight);
  return { ...noted, hook: beginHook({ pod, containerName: 'c', containerId: 'id', kind: 'preStop', handler, podIp }, noted.context) };
}

const answer = (value: HttpGetAnswer): HookReply =>
  ({ type: 'reply', id: 1, op: 'probing.http', address: { machine: 'hook', key: 'u' }, slot: 'preStop/id', outcome: { ok: true, value } }) as HookReply;
const plain = answer({ kind: 'failed', error: 'Get "https://10.0.0.9:8443/bye": http: server gave HTTP response to HTTPS client', plainHttp: true });
const said = (statusCode: number): HookReply => answer({ kind: 'answered', statusCode, body: '', bodyReadError: null });

t.test('what is asked', async (t) => {
  t.strictSame(begun({ exec: { command: ['a', '$(B)'] } }).asked, [['containers.execSync', 'preStop/id', { containerId: 'id', command: ['a', '$(B)'], timeoutSeconds: 0 }, null]]);
  const headers = { 'User-Agent': ['kube-lifecycle/1.36'], Accept: ['*/*'] };
  t.strictSame(begun({ httpGet: { port: 'web', path: 'bye' } }).asked, [['probing.http', 'preStop/id', { url: 'http://10.0.0.9:8443/bye', headers, timeoutMicros: null }, null]]);
  t.match(begun({ sleep: { seconds: 5 } }), { asked: [], hook: { kind: 'begun', hook: { sleepsUntil: 6_000_000 } } });
  t.match(begun({ exec: { command: ['a'] } }, '', true), { asked: [], hook: { kind: 'begun' } }, 'one that still runs is waited for');
});

t.test('what there is nothing to ask for', async (t) => {
  const of = 'for Container "c" in Pod "a_n(u)" failed - error: ';
  const rows: readonly (readonly [LifecycleHandler, string, string])[] = [
    [{ httpGet: { port: 'none', path: '/x' } }, '10.0.0.9', `HTTP lifecycle hook (/x) ${of}strconv.Atoi: parsing "none": invalid syntax`],
    [{ httpGet: { port: 80 } }, '', `HTTP lifecycle hook () ${of}failed to find networking container: no address`],
    [{ tcpSocket: { port: 80 } }, '10.0.0.9', 'Cannot run handler: invalid handler: no exec, httpGet or sleep'],
  ];
  for (const [handler, podIp, message] of rows) t.strictSame(begun(handler, podIp).hook, { kind: 'failed', message });
});

t.test('over TLS to a server of plain HTTP: once more without TLS and without credentials', async (t) => {
  const httpGet = {
    port: 8443,
    path: '/bye',
    scheme: 'HTTPS',
    httpHeaders: [
      { name: 'authorization', value: 'secret' },
      { name: 'X-A', value: '1' },
    ],
  };
  const { context, asked, events, hook } = begun({ httpGet });
  if (hook.kind === 'failed') throw new Error(hook.message);
  t.strictSame(hookAnswered(hook.hook, plain, context), { kind: 'again' });
  t.match(asked[0], ['probing.http', 'preStop/id', { url: 'https://10.0.0.9:8443/bye', headers: { Authorization: ['secret'] } }]);
  const again = asked[1] as readonly [string, string, { readonly url: string; readonly headers: object }];
  t.strictSame([again[2].url, Object.keys(again[2].headers)], ['http://10.0.0.9:8443/bye', ['X-A', 'User-Agent', 'Accept']]);
  t.strictSame(hookAnswered(hook.hook, said(500), context), { kind: 'succeeded' }, 'any answer will do');
  const text = 'request to HTTPS lifecycle hook 10.0.0.9:8443 got HTTP response, retry with HTTP succeeded';
  t.strictSame(events, [[null, 'Warning', 'LifecycleHTTPFallback', text]]);
});

t.test('a request over TLS that an earlier run has sent is repeated without TLS, too', async (t) => {
  const { context, asked, hook } = begun({ httpGet: { port: 8443, scheme: 'HTTPS' } }, '10.0.0.9', true);
  if (hook.kind === 'failed') throw new Error(hook.message);
  t.strictSame(asked, [], 'it is waited for');
  t.strictSame(hookAnswered(hook.hook, plain, context), { kind: 'again' });
  t.match(asked, [['probing.http', 'preStop/id', { url: 'http://10.0.0.9:8443' }]]);
});

t.test('plain HTTP from the beginning tells of no fallback', async (t) => {
  const { context, events, hook } = begun({ httpGet: { port: 80, scheme: 'HTTP' } });
  if (hook.kind === 'failed') throw new Error(hook.message);
  t.strictSame(hookAnswered(hook.hook, said(404), context), { kind: 'succeeded' });
  t.match(hookAnswered(hook.hook, answer({ kind: 'failed', error: 'refused', plainHttp: false }), context), { kind: 'failed', message: /refused$/ });
  t.strictSame(events, []);
});
