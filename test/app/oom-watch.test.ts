// Kills for lack of memory: from the kernel's log to the node's event, over restarts, reboots, lost records and files that say nothing.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { type ReportedOomKills, watchForOom } from '../../src/domain/oom/oom-watch.js';
import type { KernelLog, KernelLogListener, KernelLogRecord } from '../../src/ports/outbound/kernel-log.js';
import { PortError } from '../../src/ports/port-error.js';
import { until } from '../support/until.js';
import { LogLines, Stage } from './stage.js';

const begins = 'java invoked oom-killer: gfp_mask=0xcc0, order=0, oom_score_adj=0';
const killed = (pid: number): string => `Out of memory: Killed process ${pid} (java) total-vm:1kB`;
const ofCgroup = 'oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=a,mems_allowed=0,oom_memcg=/kubepods/pod1,task_memcg=/kubepods/pod1/c,task=java,pid=7,uid=0';

/** Records with consecutive numbers. */
const recordsFrom = (sequence: number, texts: readonly string[], facility = 0): KernelLogRecord[] =>
  texts.map((text, i) => ({ level: 3, facility, sequence: sequence + i, sinceBootMicros: 1_000 * (sequence + i), text }));

/** A log that says what the test gives it. */
class GivenLog implements KernelLog {
  isClosed = false;
  private listener: KernelLogListener | null = null;
  constructor(private readonly there: readonly KernelLogRecord[] = []) {}

  follow(fromOldest: boolean, listener: KernelLogListener): void {
    this.listener = listener;
    if (fromOldest) listener({ records: this.there, lost: false, ended: null });
  }
  say(records: readonly KernelLogRecord[], lost = false, ended: string | null = null): void {
    this.listener?.({ records, lost, ended });
  }
  close(): void {
    this.isClosed = true;
  }
}

function watched(log: KernelLog, before: ReportedOomKills | null = null) {
  const seen = { pids: [] as number[], written: [] as ReportedOomKills[], lines: new LogLines() };
  const file = { read: () => before, write: (reported: ReportedOomKills) => seen.written.push(reported) };
  const end = watchForOom({ log, file, bootId: 'b', logger: seen.lines, killed: ({ pid }) => seen.pids.push(pid) });
  return { ...seen, end };
}

const two = [...recordsFrom(10, [begins, killed(1)]), ...recordsFrom(20, [begins, killed(2)])];
const rows: readonly [string, readonly KernelLogRecord[], ReportedOomKills | null, readonly number[], readonly ReportedOomKills[]][] = [
  ['all since the boot are told by the first agent', two, null, [1, 2], [{ bootId: 'b', sequence: 21 }]],
  ['what was told before is not told again', two, { bootId: 'b', sequence: 11 }, [2], [{ bootId: 'b', sequence: 21 }]],
  ['nothing new writes nothing', two, { bootId: 'b', sequence: 21 }, [], []],
  ['another boot counts its records anew', two, { bootId: 'a', sequence: 500 }, [1, 2], [{ bootId: 'b', sequence: 21 }]],
  ['a process can write to the log, and is not the kernel', recordsFrom(10, [begins, killed(1)], 1), null, [], []],
  [
    'lines of processes between those of a report do not count',
    [...recordsFrom(1, [begins]), ...recordsFrom(2, [killed(9)], 1), ...recordsFrom(3, [killed(1)])],
    null,
    [1],
    [{ bootId: 'b', sequence: 3 }],
  ],
  ['a report that began before what was told is told when it ends after it', two, { bootId: 'b', sequence: 20 }, [2], [{ bootId: 'b', sequence: 21 }]],
];

t.test('what of the log is told', async (t) => {
  for (const [sentence, there, before, pids, written] of rows) {
    const seen = watched(new GivenLog(there), before);
    t.strictSame([seen.pids, seen.written], [pids, written], sentence);
  }
});

t.test('a report over several batches; one whose middle is lost', async (t) => {
  const log = new GivenLog();
  const seen = watched(log);
  log.say(recordsFrom(1, [begins]));
  log.say(recordsFrom(2, [killed(1)]));
  log.say(recordsFrom(3, [begins]));
  log.say(recordsFrom(9, [killed(2)]), true);
  t.strictSame(seen.pids, [1]);
  log.say([], false, 'no such device');
  t.match(seen.lines.find('Unexpectedly stopped receiving OOM notifications'), 'no such device');
  seen.end();
  t.ok(log.isClosed);
});

t.test('a log that nobody may read', async (t) => {
  const log = new GivenLog();
  log.follow = () => {
    throw new PortError({ kind: 'permission-denied', operation: 'KernelLog.follow', subject: '/dev/kmsg', message: 'EPERM' });
  };
  const seen = watched(log);
  t.match(seen.lines.find('no event SystemOOM will be sent'), 'EPERM');
  seen.end();
});

const reported = (stage: Stage): string => join(stage.root, 'kernel-log', 'oom_events_told');
const eventsIn = (stage: Stage): string[] => stage.log.lines.filter((line) => line.includes('SystemOOM'));

t.test('a daemon tells of the node once, whatever becomes of it', async (t) => {
  const stage = await Stage.open();
  t.teardown(() => stage.close());
  let log = new GivenLog(recordsFrom(10, [begins, killed(42), begins, ofCgroup]));
  stage.kernelLog = () => log;
  const daemon = await stage.start();
  await until('the event', () => eventsIn(stage).length > 0);
  t.match(eventsIn(stage)[0], 'System OOM encountered, victim process: java, pid: 42');
  await until('how far it was told is kept', () => existsSync(reported(stage)) && JSON.parse(readFileSync(reported(stage), 'utf8')).sequence === 13);
  await daemon.stop();
  t.ok(log.isClosed);

  log = new GivenLog(recordsFrom(10, [begins, killed(42), begins, ofCgroup, begins, killed(43)]));
  const second = await stage.start();
  await until('what came meanwhile', () => eventsIn(stage).length > 1);
  t.equal(eventsIn(stage).length, 2, 'a cgroup at its own limit is no event of the node, and nothing is told twice');
  t.match(eventsIn(stage)[1], 'pid: 43');
  await second.stop();

  writeFileSync(reported(stage), '{"bootId": 3');
  log = new GivenLog(recordsFrom(14, [begins, killed(43)]));
  const third = await stage.start();
  await until('told again', () => eventsIn(stage).length > 2);
  t.match(stage.log.find('The last reported OOM kill cannot be stored'), 'oom_events_told');
  await third.stop();
});

t.test('a file in place of the directory keeps no daemon from starting', async (t) => {
  const stage = await Stage.open();
  t.teardown(() => stage.close());
  mkdirSync(stage.root, { recursive: true });
  writeFileSync(join(stage.root, 'kernel-log'), '');
  stage.kernelLog = () => new GivenLog(recordsFrom(10, [begins, killed(42)]));
  await stage.start();
  await until('the event', () => eventsIn(stage).length > 0);
  t.match(stage.log.find('The last reported OOM kill cannot be stored'), 'kernel-log');
});
