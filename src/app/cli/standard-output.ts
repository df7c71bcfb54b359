// Standard output as a pipe: it accepts output gradually, and its reader may close it.
// Invariant: a program doesn't end before its output is written, unless the reader is gone.

/** Calls `gone` once, after a write to a closed standard output: a closed pipe, a closed terminal. */
export function whenReaderIsGone(gone: () => void): void {
  let isGone = false;
  process.stdout.on('error', () => {
    if (isGone) return;
    isGone = true;
    gone();
  });
}

/** Ends the process when standard output has taken everything. */
export async function exitWhenWritten(code: number): Promise<never> {
  await new Promise<void>((resolve) => process.stdout.write('', () => resolve()));
  process.exit(code);
}
