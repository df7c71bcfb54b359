// The contract of KernelLog. The records come through a fifo in the place of /dev/kmsg, since a test can't make the kernel log what it likes.
import { spawnSync } from 'node:child_process';
import { closeSync, constants, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import type { KernelLog, KernelLogBatch } from '../../src/ports/outbound/kernel-log.js';
import { Collector } from './collector.js';

export async function kernelLogContract(t: Test, open: (path: string) => KernelLog): Promise<void> {
  const withLog = async (t: Test, body: (log: KernelLog, write: (text: string) => void, batches: Collector<KernelLogBatch>, end: () => void) => Promise<void>): Promise<void> => {
    const path = join(t.testdir({}), 'kmsg');
    t.equal(spawnSync('mkfifo', [path]).status, 0);
    // Opened for both, so that neither side waits for the other.
    const fd = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
    let isOpen = true;
    const end = (): void => {
      if (isOpen) closeSync(fd);
      isOpen = false;
    };
    const log = open(path);
    t.teardown(async () => {
      log.close();
      end();
    });
    await body(log, (text) => void writeSync(fd, text), new Collector<KernelLogBatch>(), end);
  };

  await t.test('records are parsed, escapes kept, dictionaries left out', (t) =>
    withLog(t, async (log, write, batches) => {
      log.follow(true, batches.push);
      write('6,339,5140900,-,caller=T1;NET: Registered \\x22PF\\x22 \\xc3\\xa9\n SUBSYSTEM=net\n');
      await batches.until('a record', (all) => all.some((batch) => batch.records.length > 0));
      t.strictSame(
        batches.all.flatMap((batch) => batch.records),
        [{ level: 6, facility: 0, sequence: 339, sinceBootMicros: 5140900, text: 'NET: Registered \\x22PF\\x22 \\xc3\\xa9' }],
      );
      batches.clear();
      write('30,340,5140901,c;user text; with a semicolon\n');
      await batches.until('a record', (all) => all.length > 0);
      t.match(batches.all[0], { records: [{ level: 6, facility: 3, sequence: 340, text: 'user text; with a semicolon' }], lost: false, ended: null });
    }),
  );

  await t.test('only new records', (t) =>
    withLog(t, async (log, write, batches) => {
      log.follow(false, batches.push);
      write('6,2,2,-;new\n');
      await batches.until('a record', (all) => all.length > 0);
      t.strictSame(
        batches.all.flatMap((batch) => batch.records.map((record) => record.text)),
        ['new'],
      );
    }),
  );

  await t.test('the end of the log is said once', (t) =>
    withLog(t, async (log, _write, batches, end) => {
      log.follow(true, batches.push);
      end();
      await batches.until('ended', (all) => all.some((batch) => batch.ended !== null));
      t.equal(batches.all.length, 1);
    }),
  );

  await t.test('follow once only; close is idempotent; an absent log', async (t) => {
    await withLog(t, async (log, write, batches) => {
      log.follow(true, batches.push);
      t.throws(() => log.follow(true, batches.push), { name: 'PortError', kind: 'failed-precondition' });
      write('6,1,1,-;pending\n');
      log.close();
      log.close();
      t.throws(() => log.follow(true, batches.push), { name: 'PortError', kind: 'failed-precondition' });
      await new Promise((resolve) => setImmediate(resolve));
      t.equal(batches.all.length, 0, 'no batch after close');
    });
    t.throws(() => open('/nonexistent/kmsg').follow(true, () => {}), { name: 'PortError', kind: 'not-found', subject: '/nonexistent/kmsg' });
  });
}
