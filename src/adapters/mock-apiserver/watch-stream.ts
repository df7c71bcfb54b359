// One watch over HTTP: an event a line, until either side ends it.
// Invariant: a reader that doesn't read is cut before its queue exceeds the limit; the watch ends with either side.
import type { ServerResponse } from 'node:http';
import { derived } from '../../domain/values/derived.js';
import type { SimApiserver, WatchEvent, WatchRecord } from '../../sim/index.js';
import { eventInForm, type FormOptions } from './object-forms.js';
import { cut, isGone } from './response-end.js';

/** The limit of bytes queued in a connection. */
const maxWaitingBytes = 16 * 1024 * 1024;

/** Several watches mostly send the same object: it is serialized once. */
const objectText = derived((object: object): string => JSON.stringify(object));

export class WatchStream {
  private isFirst = true;
  private isScheduled = false;

  constructor(
    private readonly server: SimApiserver,
    private readonly owner: string,
    private readonly watch: WatchRecord,
    private readonly response: ServerResponse,
    private readonly options: Omit<FormOptions, 'now'> & { now(): number },
  ) {}

  start(): void {
    const { response } = this;
    this.server.watches.listen(this.owner, () => this.schedule());
    response.writeHead(200, { 'Content-Type': 'application/json', 'Cache-Control': 'no-cache, private' });
    response.flushHeaders();
    response.on('close', () => this.close());
    this.flush();
  }

  private schedule(): void {
    if (this.isScheduled) return;
    this.isScheduled = true;
    setImmediate(() => {
      this.isScheduled = false;
      this.flush();
    });
  }

  private flush(): void {
    if (isGone(this.response)) return;
    const events = this.server.watches.take(this.watch);
    if (events.length > 0) this.response.write(events.map((event) => this.line(event)).join(''));
    if (this.watch.ended) this.response.end();
    else if (this.response.writableLength > maxWaitingBytes) cut(this.response);
  }

  private line({ type, object }: WatchEvent): string {
    const { form } = this.options;
    const shown = form === 'json' ? object : eventInForm(object, this.isFirst, { ...this.options, now: this.options.now() });
    this.isFirst = false;
    return `{"type":"${type}","object":${objectText(shown)}}\n`;
  }

  private close(): void {
    this.server.watches.ignore(this.owner);
  }
}
