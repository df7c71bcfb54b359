// Reads /proc for the processes of many containers, in one call for all of them.
//
// Invariants: the amount read is bounded; a process that ended meanwhile is ignored; no descriptor stays open, since one of a process's
// network files would keep its network namespace alive.
import type { NativeLinux } from '../../native-linux/index.js';
import { LoopShare } from '../../time/index.js';
import { type InterfaceCounters, type OpenFiles, openFileProcessesMax, parseNetDev } from './proc-readings.js';

export interface ProcessReaderOptions {
  readonly native: Pick<NativeLinux, 'openFileBatch'>;
  /** Prefix of /proc: '' on a host. */
  readonly hostRoot?: string;
}

/** Of one file: enough for the interfaces of a node with some hundred pod pairs. */
const itemBytesMax = 262_144;
/** Of one call, which has room for all of its texts. */
const filesAtOnce = 512;

export class ProcessReader {
  private readonly batch: ReturnType<NativeLinux['openFileBatch']>;

  constructor(private readonly options: ProcessReaderOptions) {
    this.batch = options.native.openFileBatch({ descriptorsMax: 0, itemBytesMax });
  }

  close(): void {
    this.batch.close();
  }

  /** Of the network namespace of each process; null: it has ended. */
  async interfaces(pids: readonly (number | 'self')[]): Promise<readonly (readonly InterfaceCounters[] | null)[]> {
    const found: (readonly InterfaceCounters[] | null)[] = [];
    const share = new LoopShare();
    for (let from = 0; from < pids.length; from += filesAtOnce) {
      const slots = pids.slice(from, from + filesAtOnce).map((pid) => this.batch.add(this.path(pid, 'net/dev')));
      const content = await this.batch.readInBackground(slots).finally(() => this.release(slots));
      share.begin();
      for (let i = 0; i < slots.length; i++) {
        const text = content.text(i);
        found.push(text === null || text === '' ? null : parseNetDev(text));
        await (share.pause() ?? undefined);
      }
    }
    return found;
  }

  /** Of the first processes of each list together. */
  async openFiles(lists: readonly (readonly number[])[]): Promise<readonly OpenFiles[]> {
    const found: OpenFiles[] = [];
    const share = new LoopShare();
    for (let from = 0; from < lists.length; from += filesAtOnce / 4) {
      const some = lists.slice(from, from + filesAtOnce / 4).map((pids) => pids.slice(0, openFileProcessesMax));
      const slots = some.flatMap((pids) => [
        ...pids.map((pid) => this.batch.addNumbers(this.path(pid, 'fd'), { kind: 'sockets' })),
        ...pids.slice(0, 1).map((pid) => this.batch.addNumbers(this.path(pid, 'limits'), { kind: 'keyed', keys: ['Max open files'] })),
      ]);
      const numbers = await this.batch.numbersInBackground(slots).finally(() => this.release(slots));
      share.begin();
      let next = 0;
      const at = (index: number, position: number): number => numbers.at(index, position) || 0;
      for (const pids of some) {
        let [descriptors, sockets] = [0, 0];
        for (const _ of pids) {
          descriptors += at(next, 0);
          sockets += at(next++, 1);
        }
        const limit = pids.length === 0 ? Number.NaN : numbers.at(next++, 0);
        found.push({ descriptors, sockets, openFilesMax: Number.isNaN(limit) ? null : limit });
        await (share.pause() ?? undefined);
      }
    }
    return found;
  }

  private path(pid: number | 'self', file: string): string {
    return `${this.options.hostRoot ?? ''}/proc/${pid}/${file}`;
  }

  private release(slots: readonly number[]): void {
    for (const slot of slots) this.batch.remove(slot);
  }
}
