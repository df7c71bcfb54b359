// Standard output as a pipe: it takes what is written bit by bit, and its reader may go away.
// Invariant: a program doesn't end before what it wrote has left it, unless nobody reads it.

/** `gone` is called once when a write has found that nobody reads standard output any more: a closed pipe, a closed terminal. */
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
