// A node's certificates: renewal times, requests, and an apiserver that denies, forgets or is unreachable.
import t from 'tap';
import { certificateKeeperMachine, issueTimeout } from '../../src/domain/certificates/certificate-keeper.js';
import {
  type CertificateKeeper,
  type CertificateKeeperEvent,
  type CertificateKeeperOperations,
  newCertificateKeeper,
} from '../../src/domain/certificates/certificate-keeper-state.js';
import { clientTemplate, servingTemplate } from '../../src/domain/certificates/certificate-rules.js';
import { Kernel, type Output } from '../../src/domain/kernel/kernel.js';
import type { Command } from '../../src/domain/kernel/machine.js';
import { base64Encode } from '../../src/domain/values/base64.js';
import { instantOf } from '../../src/domain/values/instant.js';
import { microsPerSecond as second } from '../../src/domain/values/time.js';
import { utf8Encode } from '../../src/domain/values/utf8.js';
import type { ApiObject } from '../../src/ports/model/api-object.js';
import type { CertificateFacts, CertificatePurpose, CertificateTemplate } from '../../src/ports/outbound/certificates.js';
import type { Outcome, PortErrorKind } from '../../src/ports/port-error.js';

const hour = 3600 * second;
const begin = 1_800_000_000 * second;
type Asked = Command<CertificateKeeperOperations>;

function no(kind: PortErrorKind, message: string = kind): Outcome<never> {
  return { ok: false, error: { kind, message, operation: '', subject: '', retryAfterMicros: null } };
}

/** An apiserver with its approver, and the files of a node. */
class Outside {
  now = begin;
  readonly asked: string[] = [];
  readonly createdAt: number[] = [];
  readonly log: string[] = [];
  readonly created: ApiObject[] = [];
  ended: string | null = null;
  inUse: CertificateFacts | null = null;
  /** The approver's status of a request once it is read. */
  status: object | null = { conditions: [{ type: 'Approved' }], certificate: base64Encode(utf8Encode('PEM')) };
  isGone = false;
  refusal: ((op: string) => Outcome<never> | null) | null = null;
  lifetime = 10 * hour;
  readonly kernel: Kernel<CertificateKeeper, CertificateKeeperEvent, CertificateKeeperOperations>;
  private readonly watches = new Map<number, Asked>();
  private template: CertificateTemplate | null = null;

  constructor(purpose: CertificatePurpose, template: CertificateTemplate | null, more: { readonly once?: boolean; readonly endsWithout?: boolean } = {}) {
    const settings = { purpose, issueTimeout, once: more.once ?? false, endsWithout: more.endsWithout ?? false };
    this.kernel = new Kernel<CertificateKeeper, CertificateKeeperEvent, CertificateKeeperOperations>(certificateKeeperMachine, newCertificateKeeper(settings, template), 1);
  }

  get state(): CertificateKeeper {
    return this.kernel.state;
  }

  feed(event: CertificateKeeperEvent): this {
    this.carryOut(this.kernel.deliver(event, this.now, instantOf(this.now)));
    return this;
  }

  pass(micros: number): this {
    const end = this.now + micros;
    for (let steps = 0, at = this.kernel.nextWakeAt(); at !== null && at <= end; at = this.kernel.nextWakeAt()) {
      if (++steps > 10_000) throw new Error('it does not come to rest');
      this.now = Math.max(this.now, at);
      const output = this.kernel.wake(this.now, instantOf(this.now));
      if (output !== null) this.carryOut(output);
    }
    this.now = end;
    return this;
  }

  /** The approver looks now, and watchers see it. */
  approve(): this {
    for (const [, watch] of this.watches) {
      const request = watch.request as { readonly watch: string };
      this.feed({ type: 'api-watch', watch: request.watch, at: this.now, events: [{ type: 'MODIFIED', object: this.csr() }] });
    }
    return this;
  }

  cutWatches(): this {
    for (const [id, watch] of [...this.watches]) {
      this.watches.delete(id);
      this.reply(watch, { ok: true, value: null });
    }
    return this;
  }

  private csr(): ApiObject {
    return { metadata: { name: 'csr-1', uid: `u${this.created.length}` }, ...(this.status === null ? {} : { status: this.status }) } as ApiObject;
  }

  private carryOut(output: Output<CertificateKeeperOperations>): void {
    for (const { level, message, fields } of output.log) this.log.push(`${level} ${message} ${fields.err ?? ''}`.trim());
    for (const id of output.cancelled) {
      const watch = this.watches.get(id);
      this.watches.delete(id);
      if (watch !== undefined) this.reply(watch, { ok: true, value: null });
    }
    for (const command of output.commands) this.perform(command);
  }

  private perform(command: Asked): void {
    this.asked.push(command.op);
    const refused = this.refusal?.(command.op) ?? null;
    if (command.op === 'certificates.giveUp') this.ended = (command.request as { readonly reason: string }).reason;
    else if (refused !== null) this.reply(command, refused);
    else if (command.op === 'apiReader.watch') this.watches.set(command.id, command);
    else this.reply(command, { ok: true, value: this.answer(command) });
  }

  private answer(command: Asked): unknown {
    const request = command.request as unknown as { readonly template: CertificateTemplate; readonly object: ApiObject };
    switch (command.op) {
      case 'certificates.current':
        return this.inUse;
      case 'certificates.request':
        this.template = request.template;
        return { request: 'r', csr: 'CSR', name: 'node-csr-x' };
      case 'apiWriter.create':
        this.created.push(request.object);
        this.createdAt.push(this.now);
        return this.csr();
      case 'apiReader.get':
        return this.csr();
      case 'certificates.compare':
        return { problem: null };
      case 'apiReader.list':
        return { items: this.isGone ? [] : [this.csr()], unusable: [], resourceVersion: '7', continueToken: null };
      default:
        this.inUse = { ...(this.template as CertificateTemplate), notBefore: instantOf(this.now), notAfter: instantOf(this.now + this.lifetime) };
        return this.inUse;
    }
  }

  private reply({ id, op, address, slot }: Asked, outcome: Outcome<unknown>): void {
    this.carryOut(this.kernel.deliver({ type: 'reply', id, op, address, slot, outcome } as never, this.now, instantOf(this.now)));
  }
}

const template = clientTemplate('n1');
const facts = (from: number, to: number): CertificateFacts => ({ ...template, notBefore: instantOf(begin + from), notAfter: instantOf(begin + to) });

t.test('the first certificate', async (t) => {
  const outside = new Outside('client', template).feed({ type: 'begin' });
  t.same(outside.asked, ['certificates.current', 'certificates.request', 'apiWriter.create', 'apiReader.list', 'certificates.store']);
  t.same(outside.created, [
    {
      apiVersion: 'certificates.k8s.io/v1',
      kind: 'CertificateSigningRequest',
      metadata: { generateName: 'csr-' },
      spec: { request: 'Q1NS', signerName: 'kubernetes.io/kube-apiserver-client-kubelet', usages: ['digital signature', 'client auth'] },
    },
  ]);
  t.equal(outside.state.phase, 'resting');
  outside.pass(6.9 * hour);
  t.equal(outside.created.length, 1, 'not before 70 % of its life');
  outside.pass(2.2 * hour);
  t.equal(outside.created.length, 2, 'and renewed before 90 % of it');
});

t.test('it waits for the approver', async (t) => {
  const outside = new Outside('client', template);
  outside.status = null;
  outside.feed({ type: 'begin' });
  t.equal(outside.state.phase, 'watching');
  outside.feed({ type: 'api-watch', watch: 'certificate-client-1', at: outside.now, events: [{ type: 'BOOKMARK', resourceVersion: '8' }] });
  outside.approve().cutWatches();
  t.equal(outside.state.phase, 'looking', 'the watch ended without news: it looks again, after a pause');
  outside.pass(second);
  t.equal(outside.state.phase, 'watching');
  outside.status = { conditions: [{ type: 'Approved' }] };
  outside.approve();
  t.equal(outside.state.phase, 'watching', 'approved, and not issued yet');
  outside.status = { conditions: [{ type: 'Approved' }], certificate: base64Encode(utf8Encode('PEM')) };
  outside.approve();
  t.equal(outside.state.phase, 'resting');
  t.ok(outside.inUse);
});

t.test('what goes wrong with a request: it is made anew after 2, 4, 8 and 16 s, then every 32 s', async (t) => {
  const rows: readonly (readonly [string, (outside: Outside) => void, RegExp])[] = [
    ['denied', (o) => Object.assign(o, { status: { conditions: [{ type: 'Denied', reason: 'No', message: 'because' }] } }), /denied, reason: No, message: because/],
    ['failed', (o) => Object.assign(o, { status: { conditions: [{ type: 'Failed' }] } }), /certificate signing request failed/],
    ['deleted', (o) => Object.assign(o, { isGone: true }), /was deleted/],
    ['refused', (o) => Object.assign(o, { refusal: (op: string) => (op === 'apiWriter.create' ? no('permission-denied', 'forbidden') : null) }), /forbidden/],
    [
      'issued for another key',
      (o) => Object.assign(o, { refusal: (op: string) => (op === 'certificates.store' ? no('failed-precondition', 'key does not match') : null) }),
      /key does not match/,
    ],
    [
      'not to be made',
      (o) => Object.assign(o, { refusal: (op: string) => (op === 'certificates.request' ? no('unavailable', 'read-only file system') : null) }),
      /read-only file system/,
    ],
  ];
  for (const [sentence, spoil, message] of rows) {
    const outside = new Outside('client', template);
    spoil(outside);
    outside.feed({ type: 'begin' }).pass(200 * second);
    t.match(
      outside.log.find((line) => line.startsWith('error')),
      message,
      sentence,
    );
    const tries = outside.asked.filter((op) => op === 'certificates.request').length;
    t.ok(tries === 9 || tries === 10, `${sentence}: ${tries} tries in 200 s`);
    Object.assign(outside, { refusal: null, isGone: false, status: { conditions: [{ type: 'Approved' }], certificate: 'UEVN' } });
    outside.pass(40 * second);
    t.ok(outside.inUse, `${sentence}: and then it succeeds`);
    t.equal(outside.state.failures, 0);
  }
});

t.test('a server whose certificates have expired when they come', async (t) => {
  const outside = new Outside('client', template);
  outside.lifetime = 0;
  outside.feed({ type: 'begin' }).pass(320 * second);
  t.equal(outside.created.length, 11, 'is not asked faster than every 32 s');
});

t.test('nobody approves: an attempt ends after 15 minutes', async (t) => {
  const outside = new Outside('client', template);
  outside.status = null;
  outside.feed({ type: 'begin' }).pass(issueTimeout - second);
  t.equal(outside.created.length, 1);
  outside.pass(5 * second);
  t.equal(outside.created.length, 2);
  t.ok(outside.log.includes('error Failed while requesting a signed certificate from the control plane certificate request was not signed: timed out waiting for the condition'));
});

t.test('an old server has v1beta1 only', async (t) => {
  const outside = new Outside('client', template);
  let refused = 0;
  outside.refusal = (op) => (op === 'apiWriter.create' && refused++ === 0 ? no('not-found') : null);
  outside.feed({ type: 'begin' });
  t.equal((outside.created[0] as ApiObject).apiVersion, 'certificates.k8s.io/v1beta1');
  t.ok(outside.inUse);
});

t.test('one that is there', async (t) => {
  const rows: readonly (readonly [string, CertificateFacts, boolean])[] = [
    ['at the begin of its life', facts(-hour, 9 * hour), false],
    ['past its deadline', facts(-95 * hour, 5 * hour), true],
    ['expired', facts(-10 * hour, -hour), true],
    ['not valid yet', facts(hour, 10 * hour), true],
    ['of another node', { ...facts(-hour, 9 * hour), commonName: 'system:node:n2' }, true],
    ['of too few organizations', { ...facts(-hour, 9 * hour), organizations: [] }, true],
    ['of more organizations', { ...facts(-hour, 9 * hour), organizations: ['more', 'system:nodes'] }, false],
  ];
  for (const [sentence, inUse, renewed] of rows) {
    const outside = new Outside('client', template);
    outside.inUse = inUse;
    outside.feed({ type: 'begin' });
    t.equal(outside.created.length, renewed ? 1 : 0, sentence);
  }
  const forced = new Outside('client', template);
  forced.inUse = facts(-hour, 9 * hour);
  forced.feed({ type: 'renew' }).feed({ type: 'begin' });
  t.equal(forced.created.length, 1, 'when it is told to');
  forced.pass(hour);
  t.equal(forced.created.length, 1, 'once');
});

t.test('a client without a certificate ends the process, when the server answers', async (t) => {
  const lacking = new Outside('client', template, { endsWithout: true });
  lacking.refusal = (op) => (op === 'apiWriter.create' ? no('unauthenticated') : null);
  lacking.feed({ type: 'begin' }).pass(299 * second);
  t.equal(lacking.ended, null);
  lacking.pass(2 * second);
  t.equal(lacking.ended, 'No valid client certificate is found and the server is responsive, exiting.');

  const away = new Outside('client', template, { endsWithout: true });
  away.refusal = (op) => (op === 'apiWriter.create' ? no('unavailable') : null);
  away.feed({ type: 'begin' }).pass(hour);
  t.equal(away.ended, null, 'not while the server is away');
  away.refusal = lacking.refusal;
  away.pass(40 * second);
  t.ok(away.ended);

  const expired = new Outside('client', template, { endsWithout: true });
  expired.inUse = facts(-10 * hour, hour);
  expired.refusal = lacking.refusal;
  expired.feed({ type: 'begin' }).pass(hour - second);
  t.equal(expired.ended, null);
  expired.pass(2 * second);
  t.equal(expired.ended, 'The currently active client certificate has expired and the server is responsive, exiting.');
});

t.test('an attempt whose watch never ends is over at its time, also after the check for the end of the certificate in use', async (t) => {
  const outside = new Outside('client', template, { endsWithout: true });
  outside.inUse = facts(-9 * hour, 5 * 60 * second);
  outside.status = null;
  outside.feed({ type: 'begin' }).pass(10 * second);
  t.equal(outside.state.phase, 'watching');
  outside.pass(16 * 60 * second);
  t.equal(outside.created.length, 2, 'another request is made');
  t.match(outside.log.join(), /timed out waiting for the condition/);
});

t.test('a serving certificate follows the addresses of the node', async (t) => {
  const one = servingTemplate('n1', [{ type: 'InternalIP', address: '10.0.0.1' }], false);
  const two = servingTemplate('n1', [{ type: 'InternalIP', address: '10.0.0.2' }], false);
  const outside = new Outside('server', null);
  outside.feed({ type: 'begin' }).pass(hour);
  t.equal(outside.created.length, 0, 'nothing is asked for before an address is known');
  outside.status = null;
  outside.feed({ type: 'template', template: one });
  t.equal(outside.created.length, 1);
  outside.feed({ type: 'template', template: two });
  t.equal(outside.created.length, 2, 'the wait for the old one ends');
  outside.status = { conditions: [{ type: 'Approved' }], certificate: 'UEVN' };
  outside.approve();
  t.same(outside.inUse?.ipAddresses, ['10.0.0.2']);
  outside.feed({ type: 'template', template: two });
  t.equal(outside.created.length, 2);
  outside.feed({ type: 'template', template: one });
  t.equal(outside.created.length, 3, 'another address, another certificate');
  t.match(outside.created[2], { spec: { signerName: 'kubernetes.io/kubelet-serving', usages: ['digital signature', 'server auth'] } });
});

t.test('the blocking bootstrap asks under one name, and takes up what it has asked for before', async (t) => {
  const outside = new Outside('client', template, { once: true });
  outside.refusal = (op) => (op === 'apiWriter.create' ? no('already-exists') : null);
  outside.feed({ type: 'begin' });
  t.same(outside.asked.slice(2), ['apiWriter.create', 'apiReader.get', 'certificates.compare', 'apiReader.list', 'certificates.store']);
  t.ok(outside.state.isDone);
  outside.pass(100 * hour);
  t.equal(outside.asked.length, 7, 'and nothing after that');
});
