// The contract of log rotation: the model, and the real files.
import type { Test } from 'tap';
import type { Call, PortOf } from '../../src/ports/operation.js';
import type { ContainerLogOperations } from '../../src/ports/outbound/container-logs.js';
import { PortError, type PortErrorKind } from '../../src/ports/port-error.js';

const quietCall: Call = { signal: { aborted: false, reason: undefined, addEventListener() {}, removeEventListener() {} }, timeoutMicros: null };
const abortedCall: Call = { ...quietCall, signal: { ...quietCall.signal, aborted: true } };

export interface ContainerLogsUnderTest {
  readonly logs: PortOf<ContainerLogOperations>;
  readonly podLogsDirectory: string;
  /** A file of that many bytes is there. */
  put(path: string, sizeBytes: number): void;
  /** The size of a file; null when it is absent. */
  sizeOf(path: string): number | null;
}

async function kindOf(work: () => Promise<unknown>): Promise<PortErrorKind | 'done'> {
  try {
    await work();
    return 'done';
  } catch (error) {
    if (error instanceof PortError) return error.kind;
    throw error;
  }
}

export async function containerLogsContract(t: Test, host: ContainerLogsUnderTest): Promise<void> {
  const { logs, podLogsDirectory } = host;
  const directory = `${podLogsDirectory}/ns_web_u1/app`;
  const path = `${directory}/0.log`;
  const measured = (...paths: string[]) => logs.measure({ paths }, quietCall);
  const rotated = async (of = path) => (await logs.listRotated({ path: of }, quietCall)).names;

  t.strictSame(await measured(), { sizeBytes: [] });
  t.strictSame(await measured(path, `${podLogsDirectory}/no_such_pod/app/0.log`), { sizeBytes: [null, null] }, 'nothing is there yet');
  t.strictSame(await rotated(), []);
  host.put(path, 1_000);
  host.put(`${directory}/10.log`, 7);
  t.strictSame(await measured(`${directory}/10.log`, path, `${directory}/1.log`), { sizeBytes: [7, 1_000, null] }, 'in the order asked');

  const name = '0.log.20260101-000000';
  t.equal(await logs.rename({ path, name, direction: 'aside' }, quietCall), null);
  t.strictSame([host.sizeOf(path), host.sizeOf(`${directory}/${name}`)], [null, 1_000]);
  t.equal(await kindOf(() => logs.rename({ path, name: '0.log.20260101-000001', direction: 'aside' }, quietCall)), 'not-found', 'there is no log to move');
  t.strictSame(await rotated(), [name], 'the log of another attempt is not of it');
  t.equal(await logs.rename({ path, name, direction: 'back' }, quietCall), null);
  t.strictSame([host.sizeOf(path), host.sizeOf(`${directory}/${name}`)], [1_000, null]);
  await logs.rename({ path, name, direction: 'aside' }, quietCall);
  host.put(path, 5);
  t.equal(await kindOf(() => logs.rename({ path, name, direction: 'back' }, quietCall)), 'already-exists', 'the log that the runtime opened meanwhile stays');
  t.equal(await kindOf(() => logs.rename({ path, name, direction: 'aside' }, quietCall)), 'already-exists', 'so does a rotated one');
  t.strictSame([host.sizeOf(path), host.sizeOf(`${directory}/${name}`)], [5, 1_000]);

  t.equal(await logs.compress({ path, name }, quietCall), null);
  t.strictSame(await rotated(), [`${name}.gz`], 'its compressed form alone');
  t.ok((host.sizeOf(`${directory}/${name}.gz`) ?? 0) < 1_000);
  t.equal(await kindOf(() => logs.compress({ path, name }, quietCall)), 'not-found', 'once is once');
  for (const left of ['0.log.1.tmp', '0.log.20260101-000002', '0.log.20260101-000002.tmp']) host.put(`${directory}/${left}`, 1);
  t.equal(await logs.removeUnfinished(null, quietCall), 2, 'what a kill left half done goes');
  t.equal(await logs.removeUnfinished(null, quietCall), 0);
  t.strictSame(await rotated(), [`${name}.gz`, '0.log.20260101-000002']);
  t.equal(await logs.discard({ path, names: [`${name}.gz`, '0.log.never'] }, quietCall), null, 'absent is removed');
  t.strictSame(await rotated(), ['0.log.20260101-000002']);
  t.strictSame([host.sizeOf(path), host.sizeOf(`${directory}/10.log`)], [5, 7], 'logs themselves stay');

  await escapes(t, host, path);
  t.equal(await kindOf(() => logs.compress({ path, name: '0.log.20260101-000002' }, abortedCall)), 'cancelled');
  t.strictSame(await rotated(), ['0.log.20260101-000002'], 'a cancelled call does nothing');
}

async function escapes(t: Test, { logs, podLogsDirectory }: ContainerLogsUnderTest, path: string): Promise<void> {
  const paths: readonly (readonly [string, PortErrorKind])[] = [
    ['/etc/passwd', 'permission-denied'],
    [`${podLogsDirectory}/top.log`, 'permission-denied'],
    [`${podLogsDirectory}/pod/top.log`, 'permission-denied'],
    [`${podLogsDirectory}/pod/app/deep/0.log`, 'permission-denied'],
    [`${podLogsDirectory}/a/../../../etc/passwd`, 'invalid-argument'],
    ['relative/app/0.log', 'invalid-argument'],
    [`${podLogsDirectory}/a/b\0/0.log`, 'invalid-argument'],
  ];
  for (const [bad, kind] of paths) {
    const shown = JSON.stringify(bad);
    t.equal(await kindOf(() => logs.measure({ paths: [path, bad] }, quietCall)), kind, `measure ${shown}`);
    t.equal(await kindOf(() => logs.listRotated({ path: bad }, quietCall)), kind, `list ${shown}`);
    t.equal(await kindOf(() => logs.discard({ path: bad, names: ['0.log.1'] }, quietCall)), kind, `discard ${shown}`);
    t.equal(await kindOf(() => logs.compress({ path: bad, name: '0.log.1' }, quietCall)), kind, `compress ${shown}`);
    t.equal(await kindOf(() => logs.rename({ path: bad, name: '0.log.1', direction: 'aside' }, quietCall)), kind, `rename ${shown}`);
  }
  const names: readonly (readonly [string, PortErrorKind])[] = [
    ['0.log', 'permission-denied'],
    ['10.log', 'permission-denied'],
    ['1.log.20260101-000000', 'permission-denied'],
    ['0.log./../../x', 'invalid-argument'],
    ['', 'invalid-argument'],
    ['..', 'invalid-argument'],
    ['0.log.\0', 'invalid-argument'],
  ];
  for (const [name, kind] of names) {
    const shown = JSON.stringify(name);
    t.equal(await kindOf(() => logs.discard({ path, names: ['0.log.never', name] }, quietCall)), kind, `discard of ${shown}`);
    t.equal(await kindOf(() => logs.compress({ path, name }, quietCall)), kind, `compress of ${shown}`);
    for (const direction of ['aside', 'back'] as const) t.equal(await kindOf(() => logs.rename({ path, name, direction }, quietCall)), kind, `rename ${direction} ${shown}`);
  }
}
