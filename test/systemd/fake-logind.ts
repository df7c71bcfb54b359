// logind for tests: its maximum delay, a file that it reads on reload, its signal; and a replacement of systemd-inhibit that holds
// the lock in the same way, by a file whose presence shows it.
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';
import type { DbusMessage } from '../../src/adapters/systemd/index.js';
import type { FakeAnswer, FakeBus } from './fake-bus.js';

const manager = 'org.freedesktop.login1.Manager';
const path = '/org/freedesktop/login1';

export class FakeLogind {
  readonly directory = mkdtempSync(join(tmpdir(), 'fake-logind-'));
  readonly dropIn = join(this.directory, 'logind.conf.d', '99-kubelet.conf');
  /** Microseconds. */
  delayMax = 5_000_000n;
  shuttingDown = false;
  /** Whether it reads its files on reload. */
  readsFiles = true;
  readonly killed: string[] = [];

  constructor(
    t: Test,
    private readonly bus: FakeBus,
  ) {
    t.teardown(() => rmSync(this.directory, { recursive: true }));
    bus.services.set('org.freedesktop.login1', (call) => this.answer(call));
    bus.services.set('org.freedesktop.systemd1', (call) => this.ofSystemd(call));
    // As systemd-inhibit does: `cat` runs while the lock is held; who is refused says why and ends.
    const script = [
      '#!/bin/sh',
      `[ -e ${this.refusal} ] && { cat ${this.refusal} >&2; exit 1; }`,
      `echo "$@" >> ${this.calls}`,
      '[ "$5" = cat ] || exit 2',
      `echo $$ > ${this.lock}.$$`,
      'cat',
      `rm -f ${this.lock}.$$`,
    ];
    writeFileSync(join(this.directory, 'inhibit'), `${script.join('\n')}\n`);
    chmodSync(join(this.directory, 'inhibit'), 0o755);
  }

  get inhibitor(): readonly string[] {
    return [join(this.directory, 'inhibit')];
  }

  /** Pids of programs that hold the lock. */
  get holders(): number[] {
    const { lock } = this;
    return readdirSync(this.directory)
      .filter((name) => name.startsWith('lock.'))
      .flatMap((name) => (existsSync(join(this.directory, name)) ? [Number(readFileSync(`${lock}.${name.slice('lock.'.length)}`, 'utf8'))] : []))
      .sort((a, b) => a - b);
  }

  refuse(why: string | null): void {
    if (why === null) rmSync(this.refusal, { force: true });
    else writeFileSync(this.refusal, `${why}\n`);
  }

  get asked(): string {
    return existsSync(this.calls) ? readFileSync(this.calls, 'utf8') : '';
  }

  announce(active: boolean): void {
    this.shuttingDown = active;
    this.bus.signal(path, manager, 'PrepareForShutdown', 'b', [active]);
  }

  private get lock(): string {
    return join(this.directory, 'lock');
  }

  private get refusal(): string {
    return join(this.directory, 'refusal');
  }

  private get calls(): string {
    return join(this.directory, 'calls');
  }

  private answer({ interface: of, member, body }: DbusMessage): FakeAnswer {
    if (of !== 'org.freedesktop.DBus.Properties' || member !== 'Get' || body[0] !== manager) return { error: 'org.freedesktop.DBus.Error.UnknownMethod', message: `${member}` };
    if (body[1] === 'InhibitDelayMaxUSec') return { signature: 'v', body: [{ signature: 't', value: this.delayMax }] };
    if (body[1] === 'PreparingForShutdown') return { signature: 'v', body: [{ signature: 'b', value: this.shuttingDown }] };
    return { error: 'org.freedesktop.DBus.Error.UnknownProperty', message: String(body[1]) };
  }

  private ofSystemd({ member, signature, body }: DbusMessage): FakeAnswer {
    if (member !== 'KillUnit' || signature !== 'ssi') return { error: 'org.freedesktop.DBus.Error.UnknownMethod', message: `${member}` };
    this.killed.push(body.join(' '));
    const seconds = existsSync(this.dropIn) ? /^\[Login\]\nInhibitDelayMaxSec=(\d+)$/m.exec(readFileSync(this.dropIn, 'utf8'))?.[1] : undefined;
    if (this.readsFiles && seconds !== undefined) this.delayMax = BigInt(seconds) * 1_000_000n;
    return {};
  }
}
