// Keeps one certificate valid: requests a new one in time, waits until it is approved and issued, and puts it in use.
//
// | phase      | waits for                              | then                                                                  |
// |------------|----------------------------------------|-----------------------------------------------------------------------|
// | `idle`     | `begin`                                | loads                                                                 |
// | `loading`  | the pair in use                        | resting                                                               |
// | `resting`  | the deadline, another template, a pause | making, if a request is needed                                       |
// | `making`   | a key and a request                    | creating                                                              |
// | `creating` | the request in the API                 | looking; an existing one is read and compared                         |
// | `reading`  | the existing one                       | comparing                                                             |
// | `comparing`| whether it has this key                | looking                                                               |
// | `looking`  | a list of that one request             | storing if it is issued, else watching                                |
// | `watching` | a change of it, or the watch's end     | storing, or looking again                                             |
// | `storing`  | the pair on the disk                   | resting, with a new deadline                                          |
// | `ending`   | the answer of an ended attempt         | resting                                                               |
//
// Invariants: one request at a time; each attempt ends within its time; a changed template ends the attempt for the old one; a failure is
// retried after 2, 4, 8 and 16 s, then every 32 s, indefinitely; certificates that are unusable on arrival (a clock is wrong) don't speed this up.

import type { Micros } from '../../ports/micros.js';
import type { ApiObject } from '../../ports/model/api-object.js';
import type { ApiWatchEvents } from '../../ports/outbound/apiserver.js';
import type { CertificateFacts, CertificateTemplate } from '../../ports/outbound/certificates.js';
import type { PortFailure } from '../../ports/port-error.js';
import { doubledPause } from '../backoff/doubled-pause.js';
import { assert } from '../kernel/assert.js';
import type { Machine, Reply, Turn, Wake } from '../kernel/machine.js';
import { momentAhead, nowOutside } from '../values/instant.js';
import { formatRfc3339, microsPerSecond } from '../values/time.js';
import type { CertificateKeeper, CertificateKeeperEvent, CertificateKeeperOperations } from './certificate-keeper-state.js';
import { covers, rotationDeadline, usages } from './certificate-rules.js';
import { csrObject, csrResource, csrVerdict } from './signing-request.js';

type Input = CertificateKeeperEvent | Reply<CertificateKeeperOperations> | Wake;
type KeeperTurn = Turn<CertificateKeeperOperations>;

/** The Go kubelet's timeout; the blocking start waits an hour. */
export const issueTimeout: Micros = 15 * 60 * microsPerSecond;
/** How long a client may be without a certificate. */
const withoutMax: Micros = 5 * 60 * microsPerSecond;
const endCheckPeriod: Micros = 10 * microsPerSecond;
const firstPause: Micros = 2 * microsPerSecond;
const pauseMax: Micros = 32 * microsPerSecond;
const pauseJitter = 0.1;
const lookPause: Micros = microsPerSecond;
/** A host that slept, or whose clock was set, is noticed by then. */
const longestRest: Micros = 60 * microsPerSecond;
const callTimeout: Micros = 30 * microsPerSecond;

export const certificateKeeperMachine: Machine<CertificateKeeper, CertificateKeeperEvent, CertificateKeeperOperations> = {
  step(state: CertificateKeeper, input: Input, turn: KeeperTurn): void {
    new Step(state, turn).take(input);
  },
};

class Step {
  private readonly address;

  constructor(
    private readonly state: CertificateKeeper,
    private readonly turn: KeeperTurn,
  ) {
    this.address = { machine: 'certificate', key: state.purpose };
  }

  take(input: Input): void {
    const { state } = this;
    switch (input.type) {
      case 'begin':
        state.startedAt = this.turn.now;
        state.phase = 'loading';
        this.turn.ask('certificates.current', this.address, 'certificate', { purpose: state.purpose });
        return;
      case 'template':
        this.templated(input.template);
        break;
      case 'renew':
        state.forced = true;
        break;
      case 'api-watch':
        this.saw(input);
        break;
      case 'reply':
        this.replied(input);
        break;
      case 'wake':
        this.woken();
        break;
    }
    this.plan();
  }

  private templated(template: CertificateTemplate | null): void {
    const { state } = this;
    if (JSON.stringify(template) === JSON.stringify(state.template)) return;
    state.template = template;
    state.pausedUntil = this.turn.now;
    if (state.phase === 'idle' || state.phase === 'loading' || state.phase === 'resting' || state.phase === 'ending') return;
    this.turn.log('info', 'Certificate template has changed', { purpose: state.purpose });
    this.endAttempt();
  }

  /** Ignores the answer in flight. */
  private endAttempt(): void {
    const isWaiting = this.turn.inFlight(this.address, 'certificate');
    if (isWaiting) this.turn.cancel(this.address, 'certificate');
    this.state.phase = isWaiting ? 'ending' : 'resting';
  }

  /** At rest: plans the next action. */
  private plan(): void {
    const { state, turn } = this;
    this.checkEnd();
    if (state.phase !== 'resting' || state.isDone) return;
    const due = this.dueAt();
    if (due !== null && due <= turn.now) this.attempt();
    else this.wakeAt(due === null ? null : Math.min(due, turn.now + longestRest));
  }

  /** null: not before something happens. */
  private dueAt(): Micros | null {
    const { template, facts, deadline, forced, pausedUntil } = this.state;
    if (template === null) return null;
    const isNow = forced || facts === null || deadline === null || !covers(facts, template);
    return Math.max(isNow ? this.turn.now : this.here(deadline), pausedUntil);
  }

  /** Converts a moment counted from the certificate's arrival to the clock of wake-ups, which did not advance while the host slept. */
  private here(moment: Micros): Micros {
    return moment - (nowOutside(this.state.obtained, this.turn) - this.turn.now);
  }

  private expiry(facts: CertificateFacts): Micros {
    return this.here(momentAhead(facts.notAfter, this.state.obtained));
  }

  private attempt(): void {
    const { state, turn } = this;
    state.phase = 'making';
    state.attemptEnds = turn.now + state.issueTimeout;
    state.version = 'v1';
    turn.log('info', 'Rotating certificates', { purpose: state.purpose });
    const template = state.template as CertificateTemplate;
    turn.ask('certificates.request', this.address, 'certificate', { purpose: state.purpose, template, usages: usages[state.purpose], keepsKey: state.once }, callTimeout);
    this.wakeAt(state.attemptEnds);
  }

  private replied(reply: Reply<CertificateKeeperOperations>): void {
    const { state } = this;
    if (reply.op === 'certificates.giveUp') return;
    if (state.phase === 'ending') {
      // A pair that is in use by now is in use.
      if (reply.op === 'certificates.store' && reply.outcome.ok) this.stored(reply.outcome.value);
      else state.phase = 'resting';
      return;
    }
    if (!reply.outcome.ok) this.refused(reply.op, reply.outcome.error);
    else this.succeeded(reply);
  }

  private succeeded(reply: Reply<CertificateKeeperOperations>): void {
    const { state } = this;
    if (!reply.outcome.ok) return;
    switch (reply.op) {
      case 'certificates.current':
        this.inPhase('loading');
        this.loaded(reply.outcome.value);
        return;
      case 'certificates.request': {
        this.inPhase('making');
        Object.assign(state, reply.outcome.value);
        this.create();
        return;
      }
      case 'apiWriter.create':
        this.inPhase('creating');
        state.serverHealthy = true;
        this.created(reply.outcome.value);
        return;
      case 'apiReader.get':
        this.inPhase('reading');
        this.compare(reply.outcome.value);
        return;
      case 'certificates.compare':
        this.inPhase('comparing');
        this.compared(reply.outcome.value.problem);
        return;
      case 'apiReader.list': {
        this.inPhase('looking');
        const list = reply.outcome.value;
        state.serverHealthy = true;
        state.resourceVersion = list.resourceVersion;
        const [unusable] = list.unusable;
        if (unusable !== undefined) this.failed(`csr cannot be decoded: ${unusable.problem}`);
        else this.decide(list.items[0] ?? null, true);
        return;
      }
      case 'apiReader.watch':
        if (state.phase === 'storing') this.store();
        else this.look(lookPause);
        return;
      case 'certificates.store':
        this.inPhase('storing');
        this.stored(reply.outcome.value);
        return;
      default:
        return;
    }
  }

  /** The phase that an answer belongs to. */
  private inPhase(phase: CertificateKeeper['phase']): void {
    assert(this.state.phase === phase, 'a certificate keeper got an answer that it does not wait for', this.state.phase);
  }

  private loaded(facts: CertificateFacts | null): void {
    const { state } = this;
    state.phase = 'resting';
    // A certificate that is not valid yet doesn't count; a newly issued one is accepted, since then a clock is wrong.
    state.facts = facts !== null && facts.notBefore > this.turn.wall ? null : facts;
    if (state.facts !== null) this.setDeadline(state.facts);
  }

  private setDeadline(facts: CertificateFacts): void {
    const { state, turn } = this;
    const deadline = rotationDeadline(facts, turn.random('certificate-rotation', state.purpose));
    state.obtained = { now: turn.now, wall: turn.wall };
    state.deadline = momentAhead(deadline, state.obtained);
    turn.log('info', 'Certificate rotation deadline determined', { purpose: state.purpose, expiration: formatRfc3339(facts.notAfter), deadline: formatRfc3339(deadline) });
  }

  private create(): void {
    const { state } = this;
    state.phase = 'creating';
    const object = csrObject(state.version, state.purpose, state.csr, state.once ? state.name : null);
    const request = { resource: csrResource(state.version), namespace: null, client: 'main', name: null, subresource: null, object } as const;
    this.turn.ask('apiWriter.create', this.address, 'certificate', request, callTimeout);
  }

  private created(csr: ApiObject): void {
    const { state } = this;
    state.name = csr.metadata.name ?? '';
    state.uid = csr.metadata.uid ?? '';
    this.look(0);
  }

  private compare(csr: ApiObject): void {
    const { state } = this;
    const { spec, status } = csr as unknown as { readonly spec?: { readonly request?: string }; readonly status?: { readonly certificate?: string } };
    state.uid = csr.metadata.uid ?? '';
    state.phase = 'comparing';
    const certificate = status?.certificate ?? null;
    this.turn.ask('certificates.compare', this.address, 'certificate', { request: state.request, csr: spec?.request ?? '', certificate }, callTimeout);
  }

  private compared(problem: string | null): void {
    if (problem === null) this.look(0);
    else this.failed(`retrieved csr is not compatible: ${problem}`);
  }

  /** Reads the request again, after a pause. */
  private look(pause: Micros): void {
    const { state, turn } = this;
    state.phase = 'looking';
    if (pause > 0) {
      this.wakeAt(Math.min(turn.now + pause, state.attemptEnds));
      return;
    }
    const selection = { resource: csrResource(state.version), namespace: null, fieldSelector: `metadata.name=${state.name}`, labelSelector: null };
    turn.ask('apiReader.list', this.address, 'certificate', { ...selection, resourceVersion: null, limit: null, continueToken: null }, callTimeout);
    this.wakeAt(state.attemptEnds);
  }

  private watch(): void {
    const { state, turn } = this;
    state.phase = 'watching';
    state.watches += 1;
    const selection = { resource: csrResource(state.version), namespace: null, fieldSelector: `metadata.name=${state.name}`, labelSelector: null };
    const timeoutSeconds = Math.max(1, Math.ceil((state.attemptEnds - turn.now) / microsPerSecond));
    turn.ask('apiReader.watch', this.address, 'certificate', { ...selection, watch: this.watchName(), resourceVersion: state.resourceVersion, timeoutSeconds });
    this.wakeAt(state.attemptEnds);
  }

  private watchName(): string {
    return `certificate-${this.state.purpose}-${this.state.watches}`;
  }

  private saw({ watch, events }: ApiWatchEvents): void {
    if (this.state.phase !== 'watching' || watch !== this.watchName()) return;
    for (const event of events) {
      if (event.type === 'BOOKMARK' || this.state.phase !== 'watching') continue;
      if (event.type === 'UNUSABLE') this.failed(`csr cannot be decoded: ${event.object.problem}`);
      else this.decide(event.type === 'DELETED' ? null : event.object, false);
    }
  }

  private decide(csr: ApiObject | null, isListed: boolean): void {
    const { state } = this;
    const verdict = csrVerdict(csr, state.uid);
    if (verdict.kind === 'pending') {
      if (isListed) this.watch();
      return;
    }
    if (verdict.kind === 'refused') {
      this.failed(verdict.reason);
      return;
    }
    state.issued = verdict.certificate;
    state.phase = 'storing';
    // With a watch in flight, after its end.
    if (isListed) this.store();
    else this.turn.cancel(this.address, 'certificate');
  }

  private store(): void {
    const { purpose, request, issued } = this.state;
    this.turn.ask('certificates.store', this.address, 'certificate', { purpose, request, certificate: issued }, callTimeout);
  }

  private stored(facts: CertificateFacts): void {
    const { state } = this;
    Object.assign(state, { phase: 'resting', facts, forced: false, failures: 0, pausedUntil: this.turn.now + pauseMax, request: '', csr: '', issued: '' });
    this.turn.log('info', 'Certificate is in use', { purpose: state.purpose, commonName: facts.commonName });
    this.setDeadline(facts);
    state.isDone = state.once;
  }

  private refused(op: string, error: PortFailure): void {
    const { state } = this;
    if (state.phase === 'storing' && op === 'apiReader.watch') {
      this.store();
      return;
    }
    if (op === 'apiWriter.create' || op === 'apiReader.list') state.serverHealthy = ['unauthenticated', 'permission-denied', 'not-found', 'already-exists'].includes(error.kind);
    if (op === 'apiWriter.create' && error.kind === 'not-found' && state.version === 'v1') {
      state.version = 'v1beta1';
      this.create();
    } else if (op === 'apiWriter.create' && error.kind === 'already-exists' && state.once) {
      state.phase = 'reading';
      this.turn.ask(
        'apiReader.get',
        this.address,
        'certificate',
        { resource: csrResource(state.version), namespace: null, name: state.name, client: 'main', resourceVersion: null },
        callTimeout,
      );
    } else if (state.phase === 'looking' || state.phase === 'watching') this.look(lookPause);
    else if (op === 'certificates.current') this.loaded(null);
    else this.failed(error.message);
  }

  private failed(reason: string): void {
    const { state, turn } = this;
    turn.log('error', 'Failed while requesting a signed certificate from the control plane', { purpose: state.purpose, err: reason });
    state.failures += 1;
    state.failedAttempts += 1;
    const pause = doubledPause(firstPause, pauseMax, state.failures - 1);
    state.pausedUntil = turn.now + Math.round(pause * (1 + pauseJitter * turn.random('certificate-pause', state.purpose)));
    this.endAttempt();
  }

  private woken(): void {
    const { state, turn } = this;
    if (state.phase === 'resting' || state.phase === 'idle' || state.phase === 'loading') return;
    // This wake-up may have been for the end of the certificate in use: the others are planned again.
    if (state.phase === 'ending' || state.phase === 'storing') this.wakeAt(null);
    else if (turn.now >= state.attemptEnds) this.failed('certificate request was not signed: timed out waiting for the condition');
    else if (state.phase === 'looking' && !turn.inFlight(this.address, 'certificate')) this.look(0);
    else this.wakeAt(state.attemptEnds);
  }

  /** A client without valid credentials is useless: the process manager must restart it, which repeats the bootstrap. */
  private checkEnd(): void {
    const { state, turn } = this;
    if (!state.endsWithout || state.gaveUp || state.phase === 'idle' || state.phase === 'loading') return;
    const isExpired = state.facts !== null && turn.now >= this.expiry(state.facts);
    const isLacking = state.facts === null && turn.now - state.startedAt >= withoutMax;
    if (!(isExpired || isLacking)) return;
    const what = isExpired ? 'The currently active client certificate has expired' : 'No valid client certificate is found';
    if (state.serverHealthy) {
      turn.emit('certificates.giveUp', { reason: `${what} and the server is responsive, exiting.` });
      state.gaveUp = true;
    }
  }

  private wakeAt(at: Micros | null): void {
    const { state, turn } = this;
    const end = state.endsWithout && !state.gaveUp ? (state.facts === null ? state.startedAt + withoutMax : this.expiry(state.facts)) : null;
    const check = end === null ? null : end > turn.now ? end : turn.now + endCheckPeriod;
    const times = [at, check].filter((time) => time !== null);
    turn.wakeAt(this.address, times.length === 0 ? null : Math.min(...times));
  }
}
