// A runtime between the kubelet and a mock runtime that passes on requests and answers as bytes, and may change the bytes of an answer.
import { rmSync } from 'node:fs';
import { Client, credentials, Metadata, Server, ServerCredentials, type ServerUnaryCall, type sendUnaryData } from '@grpc/grpc-js';
import { criProtocol } from '../../src/adapters/cri/index.js';

interface Method {
  readonly path: string;
  readonly requestStream: boolean;
  readonly responseStream: boolean;
}

/** @param method as `RunPodSandbox` @returns the bytes that the kubelet gets */
export type ChangeAnswer = (method: string, request: Buffer, answer: Buffer) => Buffer;

const same = (bytes: Buffer): Buffer => bytes;
const raw = { requestSerialize: same, requestDeserialize: same, responseSerialize: same, responseDeserialize: same };

export async function startCriProxy(socket: string, target: string, change: ChangeAnswer): Promise<{ readonly endpoint: string; close(): void }> {
  const client = new Client(target.replace('unix://', 'unix:'), credentials.createInsecure(), { 'grpc.default_authority': 'localhost' });
  const server = new Server();
  for (const service of [criProtocol.RuntimeServiceService, criProtocol.ImageServiceService]) {
    const methods = Object.entries(service as unknown as Readonly<Record<string, Method>>).filter(([, { responseStream }]) => !responseStream);
    const definition = Object.fromEntries(methods.map(([name, method]) => [name, { ...method, ...raw }]));
    const handlers = methods.map(([name, { path }]) => [
      name,
      (call: ServerUnaryCall<Buffer, Buffer>, answer: sendUnaryData<Buffer>): void => {
        const passed = client.makeUnaryRequest(path, same, same, call.request, new Metadata(), (error, bytes) =>
          error === null
            ? answer(null, change(path.slice(path.lastIndexOf('/') + 1), call.request, bytes ?? Buffer.alloc(0)))
            : answer({ code: error.code, details: error.details }),
        );
        call.on('cancelled', () => passed.cancel());
      },
    ]);
    server.addService(definition, Object.fromEntries(handlers));
  }
  await new Promise<void>((resolve, reject) => server.bindAsync(`unix:${socket}`, ServerCredentials.createInsecure(), (error) => (error === null ? resolve() : reject(error))));
  return {
    endpoint: `unix://${socket}`,
    close() {
      server.forceShutdown();
      client.close();
      rmSync(socket, { force: true });
    },
  };
}
