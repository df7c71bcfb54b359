// Lists of steps on the addon: one job of libuv's pool a list.
// Invariant: at most `jobsMax` run at once, the others wait in order, so that the pool has threads left for other work.
import type { NativeBinding, NativeFileStepOutcomes } from './binding.d.ts';
import { portErrorOf } from './errno.js';
import { byPath, FileStepOutcomes, type FileStepRunner, type FileSteps, fileStepKinds } from './file-steps.js';

/** The pool has four threads, unless UV_THREADPOOL_SIZE says otherwise. */
const jobsMax = 3;
const numbersAStep = 4;

export class NativeFileSteps implements FileStepRunner {
  private under = 0;
  private readonly waiting: (() => void)[] = [];

  constructor(private readonly binding: NativeBinding) {}

  async run(list: FileSteps): Promise<FileStepOutcomes> {
    if (this.under >= jobsMax) await new Promise<void>((resolve) => this.waiting.push(resolve));
    else this.under++;
    try {
      const { statuses, texts } = await this.begin(list);
      return new FileStepOutcomes(statuses, texts);
    } finally {
      const next = this.waiting.shift();
      // A waiter takes the place.
      if (next === undefined) this.under--;
      else next();
    }
  }

  private begin({ roots, steps }: FileSteps): Promise<NativeFileStepOutcomes> {
    const numbers = new Int32Array(steps.length * numbersAStep);
    const texts: string[] = [];
    steps.forEach((step, index) => {
      numbers.set([fileStepKinds[step.kind], step.directory, step.tolerated, step.number], index * numbersAStep);
      texts.push(checkedText(step.name), checkedText(step.text));
    });
    const begun = this.binding.fileStepsOnPool(
      Int32Array.from(roots, ({ descriptor }) => descriptor),
      numbers,
      texts.join('\0'),
    );
    if (typeof begun === 'number') throw portErrorOf(begun, 'FileSteps.run', steps.find(({ directory }) => directory === byPath)?.name ?? steps[0]?.name ?? '');
    return begun;
  }
}

/** A zero byte would cut a name off, unseen. */
function checkedText(text: string): string {
  if (text.includes('\0')) throw new TypeError(`a zero byte in ${JSON.stringify(text.slice(0, 100))}`);
  return text;
}
