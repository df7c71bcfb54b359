// What a terminal does between its keyboard and a program, as far as a shell needs it: shows what is typed, makes lines of it, Ctrl-C, Ctrl-D and
// the backspace. Invariant: a program gets whole lines, or the end.
import { PassThrough, type Readable } from 'node:stream';

const lineMax = 4_096;

export interface TerminalInput {
  readonly lines: Readable;
  /** Ctrl-C. */
  onInterrupt(listener: () => void): void;
}

/** @param show what the terminal shows of it */
export function terminalInput(keys: Readable, show: (text: string) => void): TerminalInput {
  const lines = new PassThrough();
  let line = '';
  let interrupted = (): void => {};
  const typed = (key: string): void => {
    if (key === '\r' || key === '\n') {
      show('\r\n');
      lines.write(`${line}\n`);
      line = '';
    } else if (key === '\u0003') {
      show('^C\r\n');
      line = '';
      interrupted();
    } else if (key === '\u0004') {
      if (line === '') lines.end();
    } else if (key === '\u007f' || key === '\b') {
      if (line !== '') show('\b \b');
      line = line.slice(0, -1);
    } else if (line.length < lineMax && key >= ' ') {
      show(key);
      line += key;
    }
  };
  keys.setEncoding('utf8');
  keys.on('data', (text: string) => {
    for (const key of text) if (!lines.writableEnded) typed(key);
  });
  keys.once('close', () => lines.end());
  keys.once('end', () => lines.end());
  return {
    lines,
    onInterrupt: (listener) => {
      interrupted = listener;
    },
  };
}
