// The form of the mock server's methods: a function from request to an answer and its delay, wrapped as a gRPC handler.
import type { handleServerStreamingCall, handleUnaryCall, ServerErrorResponse, UntypedHandleCall, UntypedServiceImplementation } from '@grpc/grpc-js';
import type { Micros } from '../../ports/micros.js';
import type { Outcome, PortErrorKind, PortFailure } from '../../ports/port-error.js';
import { grpcCodeOf } from '../grpc/index.js';
import type { RealTime } from '../time/index.js';

/** Few, so that short lists come in several parts, too. */
const itemsOfPart = 4;

export interface Answer<T> {
  readonly after: Micros;
  readonly outcome: Outcome<T>;
}

/** A refusal without a port operation. */
export function refusal(kind: PortErrorKind, message: string): Answer<never> {
  return { after: 0, outcome: { ok: false, error: { kind, message, operation: '', subject: '', retryAfterMicros: null } } };
}

export function ready<T>(value: T, after: Micros = 0): Answer<T> {
  return { after, outcome: { ok: true, value } };
}

/** The same answer with another value. */
export function mapped<T, U>(answer: Answer<T>, map: (value: T) => U): Answer<U> {
  const { after, outcome } = answer;
  return { after, outcome: outcome.ok ? { ok: true, value: map(outcome.value) } : outcome };
}

export function unary<Request, Response>(time: RealTime, answer: (request: Request) => Answer<Response>): handleUnaryCall<Request, Response> {
  return (call, callback) => {
    const { after, outcome } = answer(call.request);
    const withdraw = time.after(after, () => {
      if (outcome.ok) callback(null, outcome.value);
      else callback(statusOf(outcome.error));
    });
    // The caller is gone; completed work stays.
    call.on('cancelled', withdraw);
  };
}

/** A list that comes in parts of a few items. */
export function inParts<Request, Item, Response>(
  time: RealTime,
  answer: (request: Request) => Answer<readonly Item[]>,
  part: (items: Item[]) => Response,
): handleServerStreamingCall<Request, Response> {
  return (call) => {
    const { after, outcome } = answer(call.request);
    const withdraw = time.after(after, () => {
      if (!outcome.ok) {
        call.emit('error', statusOf(outcome.error));
        return;
      }
      for (let at = 0; at < outcome.value.length; at += itemsOfPart) call.write(part(outcome.value.slice(at, at + itemsOfPart)));
      call.end();
    });
    call.on('cancelled', withdraw);
  };
}

/** A client adds the code to the text of some failures by itself. */
function statusOf({ kind, message }: PortFailure): ServerErrorResponse {
  const details = message.replace(/^rpc error: code = \w+ desc = /, '');
  return Object.assign(new Error(details), { code: grpcCodeOf(kind), details });
}

/** Wraps the methods to report each request first. Names are the interface's own: `RunPodSandbox`. */
export function observed(service: UntypedServiceImplementation, observe: (method: string, request: unknown) => void): UntypedServiceImplementation {
  const announced = ([name, handler]: [string, UntypedHandleCall]): [string, UntypedHandleCall] => [
    name,
    ((call: { readonly request: unknown }, callback: unknown) => {
      observe(`${name.slice(0, 1).toUpperCase()}${name.slice(1)}`, call.request);
      return (handler as (call: unknown, callback: unknown) => unknown)(call, callback);
    }) as UntypedHandleCall,
  ];
  return Object.fromEntries(Object.entries(service).map(announced));
}
