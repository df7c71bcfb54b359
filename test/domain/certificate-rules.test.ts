// Renewal times and subjects of certificates; the decision of a start about its kubeconfigs.

import t from 'tap';
import { bootstrapDecision } from '../../src/domain/certificates/bootstrap-decision.js';
import { clientTemplate, covers, rotationDeadline, servingTemplate } from '../../src/domain/certificates/certificate-rules.js';
import { csrVerdict } from '../../src/domain/certificates/signing-request.js';
import { epochMicros, instantOf } from '../../src/domain/values/instant.js';
import type { ApiObject } from '../../src/ports/model/api-object.js';
import type { KubeconfigState } from '../../src/ports/outbound/certificates.js';

const template = clientTemplate('n1');

t.test('rules', async (t) => {
  const rows: readonly (readonly [string, readonly [string, string][], boolean, object | null])[] = [
    ['no addresses', [], false, null],
    [
      'only names',
      [
        ['Hostname', 'n1'],
        ['InternalDNS', 'n1.local'],
      ],
      false,
      null,
    ],
    [
      'only names, where that is allowed',
      [
        ['Hostname', 'n1'],
        ['InternalDNS', 'a.local'],
      ],
      true,
      { dnsNames: ['a.local', 'n1'], ipAddresses: [] },
    ],
    [
      'all kinds',
      [
        ['ExternalIP', '1.2.3.4'],
        ['InternalIP', '10.0.0.1'],
        ['InternalIP', 'FD00::1'],
        ['Hostname', 'n1'],
        ['ExternalDNS', 'x'],
      ],
      false,
      { dnsNames: ['n1', 'x'], ipAddresses: ['1.2.3.4', '10.0.0.1', 'fd00::1'] },
    ],
    [
      'a hostname that is an address',
      [
        ['Hostname', '10.0.0.1'],
        ['InternalIP', '10.0.0.1'],
      ],
      false,
      { dnsNames: [], ipAddresses: ['10.0.0.1'] },
    ],
  ];
  for (const [sentence, addresses, allowsDnsOnly, expected] of rows) {
    const wanted = servingTemplate(
      'n1',
      addresses.map(([type, address]) => ({ type, address })),
      allowsDnsOnly,
    );
    t.same(wanted, expected === null ? null : { commonName: 'system:node:n1', organizations: ['system:nodes'], ...expected }, sentence);
  }
  t.same(
    [0, 0.5, 0.999999].map((chance) => Math.round(epochMicros(rotationDeadline({ notBefore: instantOf(1000), notAfter: instantOf(2000) }, chance)))),
    [1700, 1800, 1900],
  );
  t.ok(covers({ ...template, dnsNames: ['a'], ipAddresses: ['1.1.1.1'] }, template));
  t.notOk(covers(template, { ...template, ipAddresses: ['1.1.1.1'] }));
  const csr = { metadata: { name: 'c', uid: 'other' } };
  t.match(csrVerdict(csr, 'u'), { kind: 'refused', reason: /changed UIDs/ });
  t.match(csrVerdict({ metadata: { name: 'c', uid: 'u' }, status: { conditions: [{ type: 'Approved' }], certificate: '!' } } as ApiObject, 'u'), {
    kind: 'refused',
    reason: /no base64/,
  });
});

t.test('what a start does with a kubeconfig and a bootstrap kubeconfig', async (t) => {
  const now = 1000;
  const valid: KubeconfigState = { kind: 'loaded', pair: [{ notBefore: instantOf(0), notAfter: instantOf(2000) }] };
  const loaded = (pair: (KubeconfigState & { kind: 'loaded' })['pair']): KubeconfigState => ({ kind: 'loaded', pair });
  const unusable: KubeconfigState = { kind: 'unusable', reason: 'stat /k: no such file or directory' };
  const fine = { problem: null };
  const bad = { problem: 'stat /b: no such file or directory' };
  const rows: readonly (readonly [string, KubeconfigState, boolean, { readonly problem: string | null } | null, string])[] = [
    ['valid', valid, true, null, 'use-kubeconfig'],
    ['valid, and a bootstrap that is gone', valid, true, bad, 'use-kubeconfig'],
    ['absent, rotating', unusable, true, null, 'unable to load kubeconfig: stat /k: no such file or directory'],
    ['absent', unusable, false, null, 'invalid kubeconfig: stat /k: no such file or directory'],
    ['without a certificate', loaded(null), false, null, 'use-kubeconfig'],
    ['expired, without bootstrap', loaded([{ notBefore: instantOf(0), notAfter: instantOf(1000) }]), true, null, 'use-kubeconfig'],
    ['absent, bootstrap gone', unusable, true, bad, 'unable to load bootstrap kubeconfig: stat /b: no such file or directory'],
    ['absent, bootstrap', unusable, true, fine, 'bootstrap beside'],
    ['absent, bootstrap, not rotating', unusable, false, fine, 'bootstrap before'],
    ['without a certificate, bootstrap', loaded(null), true, fine, 'bootstrap beside'],
    ['no pair, bootstrap', loaded('broken'), true, fine, 'bootstrap beside'],
    ['nothing in its files, bootstrap', loaded([]), true, fine, 'bootstrap beside'],
    ['expired, bootstrap', loaded([{ notBefore: instantOf(0), notAfter: instantOf(1000) }]), true, fine, 'bootstrap beside'],
    [
      'an expired one in the chain, bootstrap',
      loaded([
        { notBefore: instantOf(0), notAfter: instantOf(2000) },
        { notBefore: instantOf(0), notAfter: instantOf(500) },
      ]),
      true,
      fine,
      'bootstrap beside',
    ],
    ['not yet valid, bootstrap', loaded([{ notBefore: instantOf(1001), notAfter: instantOf(2000) }]), true, fine, 'bootstrap beside'],
    ['valid for a moment more, bootstrap', loaded([{ notBefore: instantOf(0), notAfter: instantOf(1001) }]), true, fine, 'use-kubeconfig'],
  ];
  for (const [sentence, state, rotates, bootstrap, expected] of rows) {
    const decision = bootstrapDecision(state, rotates, bootstrap, instantOf(now));
    const text = decision.kind === 'refuse' ? decision.error : decision.kind === 'bootstrap' ? `bootstrap ${decision.blocking ? 'before' : 'beside'}` : decision.kind;
    t.equal(text, expected, sentence);
  }
});
