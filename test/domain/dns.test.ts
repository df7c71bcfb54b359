// resolv.conf and a pod's DNS: properties, and traps that the golden vectors leave out.
import fc from 'fast-check';
import t from 'tap';
import { type DnsFacts, podDns, resolvConfEvents } from '../../src/domain/dns/pod-dns.js';
import { parseResolvConf } from '../../src/domain/dns/resolv-conf.js';
import type { Pod, PodSpec } from '../../src/ports/model/pod.js';

const holds = (property: fc.IProperty<unknown>): void => fc.assert(property, { numRuns: 500 });
const word = fc.constantFrom('nameserver', 'search', 'options', 'domain', '#', ';', '1.1.1.1', 'a.', '.', 'ndots:5', 'ndots', ':', ' ', '\t', '\n', '\r\n', '\u00a0', '\0');
const nearlyResolvConf = fc.array(word, { maxLength: 60 }).map((words) => words.join(' '));
const facts: DnsFacts = { clusterDns: ['10.0.0.10'], clusterDomain: 'cluster.local', resolvConf: '', resolvConfPath: '/etc/resolv.conf', nodeIps: [] };
const podOf = (spec: Partial<PodSpec>): Pod => ({ metadata: { name: 'p', namespace: 'n', uid: 'u' }, spec: { containers: [], dnsPolicy: 'ClusterFirst', ...spec } });

t.test('resolv.conf', async (t) => {
  t.doesNotThrow(() => {
    holds(fc.property(fc.oneof(nearlyResolvConf, fc.string({ unit: 'binary' })), (text) => typeof parseResolvConf(text).ok === 'boolean'));
    holds(
      fc.property(nearlyResolvConf, fc.constantFrom('None', 'Default', 'ClusterFirst'), (resolvConf, dnsPolicy) => {
        const dns = podDns(podOf({ dnsPolicy }), { ...facts, resolvConf });
        return !dns.ok || (dns.config.servers.length <= 3 && dns.config.searches.length <= 32 && dns.config.searches.join(' ').length <= 2048);
      }),
    );
  }, 'any text is read, and no pod gets more than the C library takes');
  const rows: readonly (readonly [sentence: string, text: string, want: unknown])[] = [
    ['the last search line counts, even an empty one', 'search a b\nsearch\n', { servers: [], searches: [], options: [] }],
    ['one dot is trimmed, the root alone dropped', 'search a. b.. .\n', { servers: [], searches: ['a', 'b.'], options: [] }],
    ['options add up by name', 'options ndots:1 rotate\noptions ndots:2\n', { servers: [], searches: [], options: ['ndots:2', 'rotate'] }],
    ['options without a name are one option', 'options :a :b\n', { servers: [], searches: [], options: [':b'] }],
    ['line ends of other systems', 'nameserver 1.1.1.1\r\nsearch a\r\n', { servers: ['1.1.1.1'], searches: ['a'], options: [] }],
  ];
  for (const [sentence, text, want] of rows) t.strictSame(parseResolvConf(text), { ok: true, value: want }, sentence);
});

t.test('pods', async (t) => {
  const dns = (spec: Partial<PodSpec>, over: Partial<DnsFacts> = {}): ReturnType<typeof podDns> => podDns(podOf(spec), { ...facts, ...over });
  t.match(dns({ dnsPolicy: 'Wrong' }), { config: { servers: ['10.0.0.10'] } }, 'an unknown policy is the default one');
  t.match(dns({ dnsPolicy: 'None' }, { resolvConf: 'nameserver' }), { ok: false }, 'a broken file fails even pods that do not use it');
  const long = `${'x'.repeat(60)}.`.repeat(4) + 'y'.repeat(12);
  t.match(
    dns({ dnsPolicy: 'Default', dnsConfig: { searches: [long, 'short'] } }),
    { config: { searches: ['short'] }, events: [{ reason: 'DNSConfigForming' }] },
    'a name that is too long is left out',
  );
  t.strictSame(resolvConfEvents({ ...facts, resolvConf: null }), [], 'no file, no complaint');
});
