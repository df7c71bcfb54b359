// Sessions of the runtime's streaming server over the CRI.
import type { Call, PortOf } from '../../ports/operation.js';
import type { RuntimeStreamingOperations, StreamingSession } from '../../ports/outbound/runtime-streaming.js';
import { brokenAnswer, type CriConnection } from './connection.js';
import { RuntimeServiceService } from './gen/cri-runtime-v1.js';

type Request<Name extends keyof RuntimeStreamingOperations> = RuntimeStreamingOperations[Name]['request'];

export class CriStreaming implements PortOf<RuntimeStreamingOperations> {
  constructor(private readonly connection: CriConnection) {}

  async exec({ containerId, command, tty, stdin, stdout, stderr }: Request<'exec'>, call: Call): Promise<StreamingSession> {
    const target = this.target('exec', containerId);
    const message = { containerId, cmd: [...command], tty, stdin, stdout, stderr };
    return session(await this.connection.unary(RuntimeServiceService.exec, message, call, target), target);
  }

  async attach({ containerId, tty, stdin, stdout, stderr }: Request<'attach'>, call: Call): Promise<StreamingSession> {
    const target = this.target('attach', containerId);
    return session(await this.connection.unary(RuntimeServiceService.attach, { containerId, tty, stdin, stdout, stderr }, call, target), target);
  }

  async portForward({ sandboxId, ports }: Request<'portForward'>, call: Call): Promise<StreamingSession> {
    const target = this.target('portForward', sandboxId);
    return session(await this.connection.unary(RuntimeServiceService.portForward, { podSandboxId: sandboxId, port: [...ports] }, call, target), target);
  }

  private target(name: string, subject: string) {
    return { operation: `streaming.${name}`, subject, deadlineMicros: this.connection.requestTimeoutMicros };
  }
}

function session({ url }: { readonly url: string }, { operation, subject }: { readonly operation: string; readonly subject: string }): StreamingSession {
  if (url === '') throw brokenAnswer('URL is not set', operation, subject);
  return { url };
}
