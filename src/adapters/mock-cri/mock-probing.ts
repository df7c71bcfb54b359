// The answers of simulated workloads on their ports, in the mock runtime's time. A test may also give this to an agent that works on the mock.
// Invariant: a cancelled caller gets an error at once, and no timer of it is left.
import type { Micros } from '../../ports/micros.js';
import type { Call, PortOf } from '../../ports/operation.js';
import type { GrpcHealthReply, GrpcHealthRequest, HttpGetAnswer, HttpGetRequest, ProbingOperations, TcpAnswer, TcpRequest } from '../../ports/outbound/probing.js';
import { PortError } from '../../ports/port-error.js';
import type { SimContainerRuntime } from '../../sim/index.js';
import type { RealTime } from '../time/index.js';
import type { Answer } from './rpc.js';

export interface ProbedRuntime {
  readonly runtime: SimContainerRuntime;
  readonly time: RealTime;
  /** Lets everything happen that is due. */
  settled(): Micros;
}

export class MockProbing implements PortOf<ProbingOperations> {
  constructor(private readonly mock: ProbedRuntime) {}

  http(request: HttpGetRequest, call: Call): Promise<HttpGetAnswer> {
    return this.answered('probing.http', request.url, () => this.mock.runtime.probe('probing.http', request, this.mock.settled()), request.timeoutMicros, call);
  }

  tcp(request: TcpRequest, call: Call): Promise<TcpAnswer> {
    return this.answered('probing.tcp', request.host, () => this.mock.runtime.probe('probing.tcp', request, this.mock.settled()), request.timeoutMicros, call);
  }

  grpc(request: GrpcHealthRequest, call: Call): Promise<GrpcHealthReply> {
    return this.answered('probing.grpc', request.host, () => this.mock.runtime.probe('probing.grpc', request, this.mock.settled()), request.timeoutMicros, call);
  }

  private answered<T>(operation: string, subject: string, ask: () => Answer<T>, timeoutMicros: Micros | null, { signal }: Call): Promise<T> {
    const cancelled = (): PortError => new PortError({ kind: 'cancelled', message: 'context canceled', operation, subject });
    if (signal.aborted) return Promise.reject(cancelled());
    const { after, outcome } = ask();
    return new Promise((resolve, reject) => {
      const abort = (): void => {
        withdraw();
        reject(cancelled());
      };
      signal.addEventListener('abort', abort);
      const withdraw = this.mock.time.after(Math.min(after, timeoutMicros ?? after), () => {
        signal.removeEventListener('abort', abort);
        if (outcome.ok) resolve(outcome.value);
        else reject(new PortError(outcome.error));
      });
    });
  }
}
