// Terminal input between keyboard and program, as far as a shell needs it: echo, line editing, Ctrl-C, Ctrl-D and
// backspace. Invariant: a program gets whole lines, or the end.
import { PassThrough, type Readable } from 'node:stream';

const lineMax = 4_096;

export interface TerminalInput {
  readonly lines: Readable;
  /** Ctrl-C. */
  onInterrupt(listener: () => void): void;
}

/** @param show writes the echo */
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
