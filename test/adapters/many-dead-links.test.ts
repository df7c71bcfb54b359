// Thousands of dead log links: they are checked in slices, other work runs in between, and links may be removed meanwhile.
import { mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { FilePodLogs } from '../../src/adapters/storage/index.js';

const count = 3_000;

function many(t: Test): { readonly logs: FilePodLogs; readonly linksDirectory: string } {
  const base = mkdtempSync(join(tmpdir(), 'many-dead-links-'));
  const [podLogsDirectory, linksDirectory] = [join(base, 'logs'), join(base, 'containers')];
  const logs = FilePodLogs.open({ podLogsDirectory, linksDirectory });
  t.teardown(() => {
    logs.close();
    rmSync(base, { recursive: true });
  });
  for (let i = 0; i < count; i++) symlinkSync(join(podLogsDirectory, `gone/${i}.log`), join(linksDirectory, `l${i}.log`));
  return { logs, linksDirectory };
}

t.test('others have their turn, and what they remove is passed over', async (t) => {
  const { logs, linksDirectory } = many(t);
  const call = { signal: new AbortController().signal, timeoutMicros: null };
  const names = readdirSync(linksDirectory);
  const last = names.at(-1) as string;
  let isOver = false;
  const removing = logs.removeDeadLinks(null, call).finally(() => {
    isOver = true;
  });
  await logs.removeContainerLogs({ logPaths: [], links: [join(linksDirectory, last)] }, call);
  writeFileSync(join(linksDirectory, last), 'a file by now');
  let turns = 0;
  while (!isOver) {
    await nextTurn();
    turns++;
  }
  t.equal(await removing, count - 1);
  t.ok(turns > 1, `${turns} turns of the loop went by`);
  t.strictSame(readdirSync(linksDirectory), [last]);
});

t.test('a look that is cancelled ends between two links', async (t) => {
  const { logs, linksDirectory } = many(t);
  const cancel = new AbortController();
  const removing = logs.removeDeadLinks(null, { signal: cancel.signal, timeoutMicros: null });
  cancel.abort();
  t.match(await removing.catch((error: unknown) => error), { kind: 'cancelled', operation: 'podLogs.removeDeadLinks' });
  t.ok(readdirSync(linksDirectory).length > 0, 'the others stay');
});
