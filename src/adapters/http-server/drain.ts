// Lets a writer wait for a slow reader, with one pair of listeners for the whole stream: a listener for each stall would be as many as chunks.

/** What a writer needs to know of a stream that it writes to. */
export interface DrainingOutput {
  readonly destroyed: boolean;
  /** Whether `drain` is to come. */
  readonly writableNeedDrain: boolean;
  on(event: 'drain' | 'close', listener: () => void): unknown;
  off(event: 'drain' | 'close', listener: () => void): unknown;
}

export class Drain {
  private resolve: (() => void) | null = null;
  private readonly wake = (): void => {
    this.resolve?.();
    this.resolve = null;
  };

  constructor(private readonly output: DrainingOutput) {
    output.on('drain', this.wake);
    output.on('close', this.wake);
  }

  /** Resolves when the reader has accepted the written data, or is gone. */
  async next(): Promise<void> {
    if (this.output.destroyed || !this.output.writableNeedDrain) return;
    await new Promise<void>((resolve) => {
      this.resolve = resolve;
    });
  }

  end(): void {
    this.output.off('drain', this.wake);
    this.output.off('close', this.wake);
  }
}
