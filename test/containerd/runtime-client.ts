// An independent client of a runtime: @grpc/grpc-js itself, so that tests don't see a runtime through the code under test.
import { Client, credentials, Metadata } from '@grpc/grpc-js';
import type { UnaryMethod } from '../../src/adapters/cri/connection.js';

/** containerd 1.x takes no socket's path for an authority. */
const channelOptions = { 'grpc.default_authority': 'localhost' };

export class RuntimeClient {
  private readonly client: Client;

  constructor(endpoint: string) {
    this.client = new Client(endpoint, credentials.createInsecure(), channelOptions);
  }

  /** Rejects with the library's ServiceError. */
  ask<Request, Response>({ path, requestSerialize, responseDeserialize }: UnaryMethod<Request, Response>, request: Request): Promise<Response> {
    return new Promise((resolve, reject) => {
      this.client.makeUnaryRequest(path, requestSerialize, responseDeserialize, request, new Metadata(), (error, reply) =>
        error === null ? resolve(reply as Response) : reject(error),
      );
    });
  }

  close(): void {
    this.client.close();
  }
}
