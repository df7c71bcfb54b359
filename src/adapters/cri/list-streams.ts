// Streamed lists, from runtimes that support them: for a node whose list exceeds the maximum message size.
// The parts of a list hold their items in the same field as the list itself, so their joined bytes are its bytes.
// Invariants: a list is complete or an error; a runtime without streams is asked once, and then always for whole lists.
import type { Call } from '../../ports/operation.js';
import { PortError } from '../../ports/port-error.js';
import type { CallTarget, CriConnection, UnaryMethod } from './connection.js';

/** One list in both of its forms. */
export interface ListMethods<Request> {
  readonly whole: UnaryMethod<Request, Buffer>;
  readonly parts: UnaryMethod<Request, Buffer>;
}

export class ListStreams {
  private offered: boolean;

  /** @param enabled whether streams are used at all (the gate CRIListStreaming) */
  constructor(
    private readonly connection: CriConnection,
    enabled: boolean,
  ) {
    this.offered = enabled;
  }

  /** The bytes of the list's answer. All parts together have the time of one call. */
  async list<Request>({ whole, parts }: ListMethods<Request>, request: Request, call: Call, target: CallTarget): Promise<Buffer> {
    if (this.offered) {
      try {
        return Buffer.concat(await this.connection.collect(parts, request, call, target));
      } catch (error) {
        if (!(error instanceof PortError) || error.kind !== 'unimplemented') throw error;
        this.offered = false;
      }
    }
    return this.connection.unary(whole, request, call, target);
  }
}
