// Pods as a person sees them while they change: on a terminal one table that is redrawn in its place, elsewhere a line for each change.
// Invariant: nothing is written while nothing changes but, on a terminal, the ages.
import { type PodRow, podCells, podHeader, tableText } from '../../domain/live-page/pod-rows.js';

export interface PodView {
  /** Shows the current pods. */
  show(rows: readonly PodRow[]): void;
  /** Shows another line for the user. */
  note(line: string): void;
  /** Restores the terminal; nothing is shown afterwards. */
  end(): void;
}

/** The part of a terminal or pipe that is written to. */
export interface ViewOutput {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
  write(text: string): unknown;
}

const notesShown = 6;
const defaultColumns = 100;

export function podView(output: ViewOutput): PodView {
  return output.isTTY === true ? new TableView(output) : new LineView(output);
}

class LineView implements PodView {
  private readonly last = new Map<string, { readonly row: PodRow; readonly text: string }>();

  constructor(private readonly output: ViewOutput) {}

  show(rows: readonly PodRow[]): void {
    const present = new Set(rows.map(({ uid }) => uid));
    for (const [uid, { row }] of this.last) {
      if (present.has(uid)) continue;
      this.last.delete(uid);
      this.output.write(`${row.namespace}/${row.name}  gone\n`);
    }
    for (const row of rows) {
      const restarts = row.restarts === 0 ? '' : `  restarts ${row.restarts}`;
      const text = `${row.namespace}/${row.name}  ${row.phase}  ready ${row.ready}${restarts}${row.message === '' ? '' : `  ${row.message}`}`;
      if (this.last.get(row.uid)?.text === text) continue;
      this.last.set(row.uid, { row, text });
      this.output.write(`${text}\n`);
    }
  }

  note(line: string): void {
    this.output.write(`${line}\n`);
  }

  end(): void {
    this.last.clear();
  }
}

class TableView implements PodView {
  private rows: readonly PodRow[] = [];
  private readonly notes: string[] = [];
  private drawn: readonly string[] = [];
  private ended = false;

  constructor(private readonly output: ViewOutput) {}

  show(rows: readonly PodRow[]): void {
    this.rows = rows;
    this.draw();
  }

  note(line: string): void {
    this.notes.push(line);
    if (this.notes.length > notesShown) this.notes.shift();
    this.draw();
  }

  end(): void {
    this.ended = true;
  }

  private draw(): void {
    if (this.ended) return;
    const width = this.output.columns ?? defaultColumns;
    const lines = [...tableText(podHeader, this.rows.map(podCells), width), '', ...this.notes.map((note) => (note.length > width ? `${note.slice(0, width - 1)}…` : note))];
    // A table taller than the terminal can't be redrawn: its end is omitted.
    const fitting = lines.slice(0, Math.max(2, (this.output.rows ?? 50) - 2));
    if (fitting.join('\n') === this.drawn.join('\n')) return;
    const up = this.drawn.length === 0 ? '' : `\x1b[${this.drawn.length}A`;
    this.output.write(`${up}\x1b[J${fitting.join('\n')}\n`);
    this.drawn = fitting;
  }
}
